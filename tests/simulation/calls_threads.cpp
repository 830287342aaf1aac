// SPDX-License-Identifier: Apache-2.0
// Threads, locks, time, chance and the end of a program, as the C library has them: for threads of the simulation they
// end in the kernel, for all others in the C library.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "simulation/kernel.hpp"
#include "simulation/real_calls.hpp"

namespace {

using berth::simulation::k_never;
using berth::simulation::Kernel;
using berth::simulation::Machine;
using berth::simulation::Thread;

constexpr std::size_t k_all = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t k_s = 1'000'000'000;

Kernel& kernel() { return Kernel::the(); }
Thread* self() { return kernel().self(); }

std::int64_t ns_of(const timespec& time) { return static_cast<std::int64_t>(time.tv_sec) * k_s + time.tv_nsec; }
timespec time_of(std::int64_t ns) { return {static_cast<time_t>(ns / k_s), static_cast<long>(ns % k_s)}; }
bool is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

/// When that is on the world's clock.
std::int64_t due_of(const Thread& thread, clockid_t clock, const timespec& time) {
  if (time.tv_sec > (std::int64_t{1} << 32)) return k_never;
  return is_wall(clock) ? kernel().now_ns() + ns_of(time) - kernel().wall_ns(*thread.machine) : ns_of(time);
}

void lock(Thread& thread, pthread_mutex_t* mutex) {
  while (REAL(pthread_mutex_trylock)(mutex) == EBUSY) kernel().wait_for(mutex, k_never);
  ++thread.machine->locks_held;
}

/// `real` and `real_try`: the C library's, of one kind.
int take(pthread_rwlock_t* lock, int (*real)(pthread_rwlock_t*), int (*real_try)(pthread_rwlock_t*)) {
  Thread* const thread = self();
  if (thread == nullptr) return real(lock);
  kernel().maybe_switch();
  while (real_try(lock) == EBUSY) kernel().wait_for(lock, k_never);
  ++thread->machine->locks_held;
  return 0;
}

void unlock(Thread& thread, pthread_mutex_t* mutex) {
  REAL(pthread_mutex_unlock)(mutex);
  --thread.machine->locks_held;
  kernel().wake(mutex, k_all);
}

int wait_for_condition(Thread& thread, pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t due_ns) {
  unlock(thread, mutex);
  const bool woken = kernel().wait_for(condition, due_ns);
  lock(thread, mutex);
  return woken ? 0 : ETIMEDOUT;
}

/// What stands for a thread in the program: a number, which is the same in each run.
pthread_t handle_of(const Thread& thread) { return 0x5000 + static_cast<pthread_t>(thread.number); }

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_mutex_lock)(mutex);
  kernel().maybe_switch();
  lock(*thread, mutex);
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  Thread* const thread = self();
  const int result = REAL(pthread_mutex_trylock)(mutex);
  if (thread != nullptr && result == 0) ++thread->machine->locks_held;
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_mutex_unlock)(mutex);
  unlock(*thread, mutex);
  return 0;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return take(lock, REAL(pthread_rwlock_rdlock), REAL(pthread_rwlock_tryrdlock));
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return take(lock, REAL(pthread_rwlock_wrlock), REAL(pthread_rwlock_trywrlock));
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  Thread* const thread = self();
  const int result = REAL(pthread_rwlock_unlock)(lock);
  if (thread == nullptr) return result;
  --thread->machine->locks_held;
  kernel().wake(lock, k_all);
  return result;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_cond_wait)(condition, mutex);
  return wait_for_condition(*thread, condition, mutex, k_never);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* end) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_cond_clockwait)(condition, mutex, clock, end);
  return wait_for_condition(*thread, condition, mutex, due_of(*thread, clock, *end));
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* end) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_cond_timedwait)(condition, mutex, end);
  return wait_for_condition(*thread, condition, mutex, due_of(*thread, CLOCK_REALTIME, *end));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (self() == nullptr) return REAL(pthread_cond_signal)(condition);
  kernel().wake(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (self() == nullptr) return REAL(pthread_cond_broadcast)(condition);
  kernel().wake(condition, k_all);
  return 0;
}

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_create)(made, attributes, function, argument);
  *made = handle_of(*kernel().begin_thread(*thread->machine, function, argument));
  return 0;
}

pthread_t pthread_self() noexcept {
  Thread* const thread = self();
  return thread == nullptr ? REAL(pthread_self)() : handle_of(*thread);
}

int pthread_join(pthread_t of, void** result) {
  if (self() == nullptr) return REAL(pthread_join)(of, result);
  void* const returned = kernel().join(kernel().thread(static_cast<int>(of - 0x5000)));
  if (result != nullptr) *result = returned;
  return 0;
}

int pthread_detach(pthread_t of) noexcept {
  if (self() == nullptr) return REAL(pthread_detach)(of);
  return 0;
}

/// It holds locks that are not known here while it runs what it is given.
int pthread_once(pthread_once_t* once, void (*function)()) {
  if (self() == nullptr) return REAL(pthread_once)(once, function);
  kernel().stay_steady(1);
  const int result = REAL(pthread_once)(once, function);
  kernel().stay_steady(-1);
  return result;
}

void* dlopen(const char* file, int how) noexcept {
  if (self() == nullptr) return REAL(dlopen)(file, how);
  kernel().stay_steady(1);
  void* const result = REAL(dlopen)(file, how);
  kernel().stay_steady(-1);
  return result;
}

int dlclose(void* of) noexcept {
  if (self() == nullptr) return REAL(dlclose)(of);
  kernel().stay_steady(1);
  const int result = REAL(dlclose)(of);
  kernel().stay_steady(-1);
  return result;
}

int sigaltstack(const stack_t* stack, stack_t* before) noexcept {
  return self() == nullptr ? REAL(sigaltstack)(stack, before) : 0;
}

int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return self() == nullptr ? REAL(pthread_sigmask)(how, set, before) : 0;
}

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  return self() == nullptr ? REAL(sigaction)(number, action, before) : 0;
}

int sigwait(const sigset_t* set, int* number) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(sigwait)(set, number);
  std::deque<int>& signals = thread->machine->signals;
  while (signals.empty()) kernel().wait_for(&signals, k_never);
  *number = signals.front();
  signals.pop_front();
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(clock_gettime)(clock, time);
  kernel().count_look_at_clock();
  *time = time_of(is_wall(clock) ? kernel().wall_ns(*thread->machine) : kernel().now_ns());
  return 0;
}

int gettimeofday(timeval* time, void* zone) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(gettimeofday)(time, zone);
  const timespec now = time_of(kernel().wall_ns(*thread->machine));
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* into) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(time)(into);
  const auto now = static_cast<time_t>(kernel().wall_ns(*thread->machine) / k_s);
  if (into != nullptr) *into = now;
  return now;
}

int nanosleep(const timespec* length, timespec* left) {
  if (self() == nullptr) return REAL(nanosleep)(length, left);
  kernel().wait_until(kernel().now_ns() + ns_of(*length));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* length, timespec* left) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(clock_nanosleep)(clock, flags, length, left);
  kernel().wait_until(flags == TIMER_ABSTIME ? due_of(*thread, clock, *length) : kernel().now_ns() + ns_of(*length));
  return 0;
}

/// std::atomic::wait() and the guards of static locals.
long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& one : a) one = va_arg(list, long);
  va_end(list);
  Thread* const thread = self();
  if (thread == nullptr || number != SYS_futex) return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  auto* const word = reinterpret_cast<int*>(a[0]);
  const int operation = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
  if (operation == FUTEX_WAKE) {
    kernel().wake(word, static_cast<std::size_t>(a[2]));
    return 0;
  }
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) abort();  // nothing here uses another
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<int>(a[2])) {
    errno = EAGAIN;
    return -1;
  }
  std::int64_t due_ns = k_never;
  if (const auto* const limit = reinterpret_cast<const timespec*>(a[3]); limit != nullptr)
    due_ns = operation == FUTEX_WAIT ? kernel().now_ns() + ns_of(*limit) : ns_of(*limit);
  if (kernel().wait_for(word, due_ns)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

ssize_t getrandom(void* into, size_t size, unsigned int flags) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(getrandom)(into, size, flags);
  for (size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = thread->machine->random.next();
    std::memcpy(static_cast<char*>(into) + at, &word, std::min<size_t>(8, size - at));
  }
  return static_cast<ssize_t>(size);
}

int getentropy(void* into, size_t size) {
  if (self() == nullptr) return REAL(getentropy)(into, size);
  getrandom(into, size, 0);
  return 0;
}

int get_nprocs() noexcept { return self() == nullptr ? REAL(get_nprocs)() : 1; }

pid_t getpid() noexcept {
  Thread* const thread = self();
  return thread == nullptr ? REAL(getpid)() : 100 + thread->machine->number;
}

int gethostname(char* into, size_t size) noexcept {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(gethostname)(into, size);
  std::strncpy(into, thread->machine->name.c_str(), size);
  return 0;
}

void _exit(int status) {
  Thread* const thread = self();
  if (thread == nullptr || thread->machine->number == 0) {
    REAL(_exit)(status);
    __builtin_unreachable();
  }
  berth::simulation::end_program(*thread->machine, status);
  kernel().park();
}

void _Exit(int status) noexcept { _exit(status); }

}  // extern "C"
