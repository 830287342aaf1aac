// SPDX-License-Identifier: Apache-2.0
#include "simulation/kernel.hpp"

#include <asm/prctl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation/real_calls.hpp"

namespace berth::simulation {
namespace {

thread_local Thread* t_self = nullptr;

/// Not through syscall(), which is simulated too.
long raw_call(long number, long a, long b, long c) {
  long result = 0;
  register long r10 asm("r10") = 0;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

void sleep_on(int& word) {
  while (__atomic_exchange_n(&word, 0, __ATOMIC_ACQUIRE) == 0)
    raw_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0);
}

void wake_up(int& word) {
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  raw_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace

// Stores the stack of the caller in *from and goes on where `to` was stored.
extern "C" void berth_simulation_switch(void** from, void* to);
asm(R"(
.text
.globl berth_simulation_switch
.type berth_simulation_switch, @function
berth_simulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
.size berth_simulation_switch, . - berth_simulation_switch
)");

Kernel& Kernel::the() {
  static Kernel* const kernel = new Kernel;  // never destroyed: threads are left behind
  return *kernel;
}

Thread* Kernel::self() const noexcept { return t_self != nullptr && !t_self->is_leaving ? t_self : nullptr; }

void Kernel::begin(std::uint64_t seed, std::uint64_t switch_every) {
  dice_ = Dice(seed);
  switch_every_ = switch_every;
  machines_.push_back(std::make_unique<Machine>(0, "world", dice_.next()));
  threads_.push_back(std::make_unique<Thread>());
  threads_.front()->machine = machines_.front().get();
  t_self = threads_.front().get();
  t_self->thread_pointer = reinterpret_cast<unsigned long>(__builtin_thread_pointer());
}

Machine& Kernel::add_machine(const std::string& name) {
  machines_.push_back(std::make_unique<Machine>(static_cast<int>(machines_.size()), name, dice_.next()));
  return *machines_.back();
}

/// What a real thread does: it lends its stack and its thread-local variables, and sleeps until they are given back.
void* Kernel::lend(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  sigset_t all;
  sigfillset(&all);
  REAL(pthread_sigmask)(SIG_BLOCK, &all, nullptr);  // a handler would run on the stack that is lent
  thread.thread_pointer = reinterpret_cast<unsigned long>(__builtin_thread_pointer());
  t_self = &thread;
  constexpr std::size_t k_kept = 8192;  // for what is called below
  auto top = (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - k_kept) & ~std::uintptr_t{15};
  auto* stack = reinterpret_cast<void**>(top);
  *--stack = nullptr;  // where run_thread() would return to
  *--stack = reinterpret_cast<void*>(&Kernel::run_thread);
  for (int saved = 0; saved < 6; ++saved) *--stack = nullptr;
  thread.stack = stack;
  wake_up(thread.is_lent);
  sleep_on(thread.is_given_back);
  return nullptr;
}

void Kernel::run_thread() {
  Kernel& kernel = the();
  kernel.reap();
  Thread& own = *t_self;
  own.result = own.function(own.argument);
  kernel.note("thread ends", own.number);
  own.state = Thread::State::ended;
  kernel.wake(&own, std::numeric_limits<std::size_t>::max());
  // What the thread's destructors do from here on is over before the next thread does anything: it joins this one.
  Thread* const next = kernel.next_thread();
  own.is_leaving = true;
  kernel.ended_ = &own;
  kernel.give_turn(own, *next);
  std::abort();
}

void Kernel::reap() {
  if (ended_ == nullptr) return;
  wake_up(ended_->is_given_back);
  REAL(pthread_join)(ended_->real, nullptr);
  ended_ = nullptr;
}

Thread* Kernel::begin_thread(Machine& machine, void* (*function)(void*), void* argument) {
  threads_.push_back(std::make_unique<Thread>());
  Thread& thread = *threads_.back();
  thread.number = static_cast<int>(threads_.size()) - 1;
  thread.machine = &machine;
  thread.function = function;
  thread.argument = argument;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{2} << 20);
  pthread_t real{};
  if (REAL(pthread_create)(&real, &attributes, lend, &thread) != 0) {
    std::fprintf(stderr, "the system has no room for another thread\n");
    std::abort();
  }
  pthread_attr_destroy(&attributes);
  sleep_on(thread.is_lent);
  thread.real = real;
  runnable_.push_back(&thread);
  note("thread begins", thread.number, machine.number);
  return &thread;
}

void Kernel::kill(Machine& machine, int status) {
  if (!machine.is_alive) return;
  machine.is_alive = false;
  machine.status = status;
  note("machine ends", machine.number, status);
  std::erase_if(runnable_, [&](const Thread* thread) { return thread->machine == &machine; });
  // What is woken must not be one of those.
  for (const auto& thread : threads_)
    if (thread->machine == &machine && thread->waits_for != nullptr)
      if (const auto found = waiting_.find(thread->waits_for); found != waiting_.end())
        std::erase(found->second, thread.get());
  wake(&machine, std::numeric_limits<std::size_t>::max());
}

bool Kernel::is_at_rest(const Machine& machine) const {
  return machine.locks_held == 0 && std::none_of(runnable_.begin(), runnable_.end(),
                                                 [&](const Thread* thread) { return thread->machine == &machine; });
}

void Kernel::resume(Machine& machine) {
  machine.is_suspended = false;
  if (!machine.is_alive) return;  // it was killed meanwhile
  for (const auto& thread : threads_) {
    if (thread->machine != &machine || thread->state == Thread::State::ended || thread.get() == t_self) continue;
    const bool is_there = std::find(runnable_.begin(), runnable_.end(), thread.get()) != runnable_.end();
    if (thread->state == Thread::State::runnable && !is_there) runnable_.push_back(thread.get());
  }
}

void Kernel::signal(Machine& machine, int number) {
  note("signal", machine.number, number);
  machine.signals.push_back(number);
  wake(&machine.signals, 1);
}

void Kernel::park() {
  Thread& own = *t_self;
  own.state = Thread::State::waits;
  for (;;) switch_away();
}

void Kernel::give_turn(Thread& from, Thread& to) {
  ++switches_;
  note("turn", to.number);
  raw_call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(to.thread_pointer), 0);
  berth_simulation_switch(&from.stack, to.stack);
}

void Kernel::make_runnable(Thread& thread, bool was_woken) {
  if (thread.due_ns != k_never) due_.erase({thread.due_ns, thread.number});
  thread.due_ns = k_never;
  thread.was_woken = was_woken;
  thread.waits_for = nullptr;
  thread.state = Thread::State::runnable;
  if (is_able(thread)) runnable_.push_back(&thread);
}

void Kernel::fire_due() {
  for (;;) {
    const bool has_task = !tasks_.empty() && tasks_.begin()->first.first <= now_ns_;
    const bool has_wait = !due_.empty() && due_.begin()->first <= now_ns_;
    if (has_task) {
      const std::function<void()> task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      task();
    } else if (has_wait) {
      Thread& thread = *threads_[static_cast<std::size_t>(due_.begin()->second)];
      if (thread.waits_for != nullptr) std::erase(waiting_[thread.waits_for], &thread);
      make_runnable(thread, false);
    } else {
      return;
    }
  }
}

Thread* Kernel::next_thread() {
  for (;;) {
    fire_due();
    if (!runnable_.empty()) {
      const std::size_t at = runnable_.size() == 1 ? 0 : dice_.below(runnable_.size());
      Thread* const next = runnable_[at];
      runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(at));
      return next;
    }
    std::int64_t next_ns = k_never;
    if (!tasks_.empty()) next_ns = tasks_.begin()->first.first;
    if (!due_.empty()) next_ns = std::min(next_ns, due_.begin()->first);
    if (next_ns == k_never) {
      if (on_standstill) on_standstill();
      std::fprintf(stderr, "everything waits, and nothing will come\n");
      std::abort();
    }
    now_ns_ = std::max(now_ns_, next_ns);
  }
}

void Kernel::switch_away() {
  Thread& own = *t_self;
  Thread* const next = next_thread();
  if (next == &own) return;
  give_turn(own, *next);
  reap();
}

void Kernel::maybe_switch() {
  if (steady_ > 0 || switch_every_ == 0 || dice_.below(switch_every_) != 0) return;
  fire_due();
  if (runnable_.empty()) return;
  runnable_.push_back(t_self);
  switch_away();
}

bool Kernel::wait_for(const void* thing, std::int64_t due_ns) {
  Thread& own = *t_self;
  own.state = Thread::State::waits;
  own.waits_for = thing;
  own.due_ns = due_ns;
  if (thing != nullptr) waiting_[thing].push_back(&own);
  if (due_ns != k_never) due_.emplace(due_ns, own.number);
  switch_away();
  return own.was_woken;
}

void Kernel::wake(const void* thing, std::size_t count) {
  const auto found = waiting_.find(thing);
  if (found == waiting_.end()) return;
  std::vector<Thread*>& waiting = found->second;
  for (; count > 0 && !waiting.empty(); --count) {
    const std::size_t at = waiting.size() == 1 || count >= waiting.size() ? 0 : dice_.below(waiting.size());
    Thread* const thread = waiting[at];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
    make_runnable(*thread, true);
  }
  if (waiting.empty()) waiting_.erase(found);
}

void Kernel::at(std::int64_t time_ns, std::function<void()> task) {
  tasks_.emplace(std::pair(std::max(time_ns, now_ns_), ++sequence_), std::move(task));
}

void* Kernel::join(Thread* thread) {
  while (thread->state != Thread::State::ended) wait_for(thread, k_never);
  return thread->result;
}

void Kernel::note(std::string_view what, std::int64_t a, std::int64_t b, std::string_view bytes) {
  const auto mix = [this](std::uint64_t word) {
    digest_ = (digest_ ^ word) * 0x9fb21c651e98df25ULL;
    digest_ ^= digest_ >> 29;
  };
  mix(static_cast<std::uint64_t>(now_ns_));
  mix(what.size() ^ (static_cast<std::uint64_t>(static_cast<unsigned char>(what[0])) << 8));
  mix(static_cast<std::uint64_t>(a));
  mix(static_cast<std::uint64_t>(b));
  for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min(rest.size(), sizeof(std::uint64_t)))) {
    std::uint64_t word = rest.size();
    std::memcpy(&word, rest.data(), std::min(rest.size(), sizeof word));
    mix(word);
  }
  if (history_ < 0) return;
  std::array<char, 160> line{};
  const int length =
      std::snprintf(line.data(), line.size(), "%lld %.*s %lld %lld %zu %016llx\n", static_cast<long long>(now_ns_),
                    static_cast<int>(what.size()), what.data(), static_cast<long long>(a), static_cast<long long>(b),
                    bytes.size(), static_cast<unsigned long long>(digest_));
  [[maybe_unused]] const auto written = REAL(write)(history_, line.data(), static_cast<std::size_t>(length));
}

}  // namespace berth::simulation
