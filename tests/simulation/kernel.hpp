// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// What stands in for the operating system: threads of which one runs at a time, time that only moves when all of them
/// wait, and machines that the threads belong to. The functions of the C library that wait, tell the time or draw random
/// numbers are defined once more in calls_*.cpp and end here.
///
/// Place:   below the whole program: the host is compiled as it is, and knows nothing of it.
/// Threads: a thread that was begun here has the turn until it waits; everything below is called by the one that has it.
/// Seed:    decides which thread runs next, which waiter is woken, and how long the network takes. Nothing else does.
namespace berth::simulation {

inline constexpr std::int64_t k_never = std::numeric_limits<std::int64_t>::max();

/// A stream of random numbers that is the same with each compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// 0 … count - 1. Requires: count > 0.
  std::uint64_t below(std::uint64_t count) noexcept { return next() % count; }
  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  bool roll(double probability) noexcept { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

 private:
  std::uint64_t state_;
};

/// A computer: its threads, its clocks, its share of chance. It ends when its program does, or when it is killed; its
/// threads stay where they are then, for ever.
struct Machine {
  Machine(int at, std::string named, std::uint64_t seed) : number(at), name(std::move(named)), random(seed) {}
  const int number;
  const std::string name;
  Dice random;
  bool is_alive = true;
  bool is_suspended = false;
  int status = 0;                                  // of its program, once it has ended
  std::int64_t wall_ahead_ns = 0;                  // its wall clock against that of the world
  std::int64_t drift_ppm = 0, drifts_from_ns = 0;  // by how much that grows, since when
  std::size_t locks_held = 0;                      // by its threads
  std::deque<int> signals;                         // not yet taken
  std::string log;                                 // what it wrote to standard error, if that is kept
  bool keeps_log = false;
};

struct Thread {
  enum class State : std::uint8_t { runnable, waits, ended };
  int number = 0;
  Machine* machine = nullptr;
  State state = State::runnable;
  const void* waits_for = nullptr;
  std::int64_t due_ns = k_never;  // of a wait
  bool was_woken = false;         // false after a wait: its time was over
  bool is_detached = false;
  bool is_leaving = false;  // its function has returned
  // A real thread lends its stack and its thread-local variables; all run on one thread of the system.
  void* stack = nullptr;
  unsigned long thread_pointer = 0, real = 0;  // pthread_t
  int is_lent = 0, is_given_back = 0;          // futexes
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
};

class Kernel {
 public:
  static Kernel& the();

  /// The calling thread becomes the world's. `switch_every`: how many locks are taken, on average, until another thread
  /// has the turn although the one that takes it could go on; 0: never.
  void begin(std::uint64_t seed, std::uint64_t switch_every);
  Thread* self() const noexcept;
  Machine& world() noexcept { return *machines_.front(); }
  Machine& add_machine(const std::string& name);
  /// Begins a thread of that machine.
  Thread* begin_thread(Machine& machine, void* (*function)(void*), void* argument);
  /// Nothing of it runs any more. Returns when it was the caller's own: never.
  void kill(Machine& machine, int status);
  /// True when it may be killed or suspended: nothing of it is in the middle of something that other machines share.
  bool is_at_rest(const Machine& machine) const;
  void resume(Machine& machine);
  void signal(Machine& machine, int number);
  [[noreturn]] void park();

  std::int64_t now_ns() const noexcept { return now_ns_; }
  std::int64_t wall_ns(const Machine& machine) const noexcept {
    const std::int64_t drift_us = (now_ns_ - machine.drifts_from_ns) / 1000 * machine.drift_ppm / 1'000'000;
    return k_start_wall_ns + now_ns_ + machine.wall_ahead_ns + drift_us * 1000;
  }
  /// Looking at a clock takes time as well, so that a loop that looks until some time has passed comes to its end.
  void count_look_at_clock() noexcept { now_ns_ += k_look_ns; }
  Dice& dice() noexcept { return dice_; }

  /// Waits until wake() for the same thing or `due_ns`. True when woken.
  bool wait_for(const void* thing, std::int64_t due_ns);
  void wake(const void* thing, std::size_t count);
  /// Lets another thread go on, by chance.
  void maybe_switch();
  /// While it is more than 0 a thread only gives its turn away to wait.
  void stay_steady(int change) noexcept { steady_ += change; }
  void wait_until(std::int64_t due_ns) { wait_for(nullptr, due_ns); }
  void at(std::int64_t time_ns, std::function<void()> task);
  void* join(Thread* thread);
  Thread* thread(int number) noexcept { return threads_[static_cast<std::size_t>(number)].get(); }

  /// Goes into the digest of the history, and into its text if that is kept.
  void note(std::string_view what, std::int64_t a = 0, std::int64_t b = 0, std::string_view bytes = {});
  std::uint64_t digest() const noexcept { return digest_; }
  void write_history_to(int descriptor) noexcept { history_ = descriptor; }
  std::uint64_t switches() const noexcept { return switches_; }
  /// What is said when everything waits for ever. Does not return.
  std::function<void()> on_standstill;

 private:
  static constexpr std::int64_t k_start_wall_ns = 1'767'225'600'000'000'000;  // 2026-01-01
  static constexpr std::int64_t k_look_ns = 20;

  void give_turn(Thread& from, Thread& to);
  /// Requires: the caller's state is set.
  void switch_away();
  Thread* next_thread();
  void fire_due();
  bool is_able(const Thread& thread) const noexcept {
    return thread.machine->is_alive && !thread.machine->is_suspended;
  }
  void make_runnable(Thread& thread, bool was_woken);
  void reap();
  static void* lend(void* thread);
  static void run_thread();

  Dice dice_{0};
  std::uint64_t switch_every_ = 0;
  std::int64_t now_ns_ = 1'000'000'000'000;  // monotonic: some time after the start of the machines
  std::uint64_t sequence_ = 0, digest_ = 0xcbf29ce484222325ULL, switches_ = 0;
  int history_ = -1, steady_ = 0;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> runnable_;
  std::unordered_map<const void*, std::vector<Thread*>> waiting_;  // never iterated over
  std::set<std::pair<std::int64_t, int>> due_;                     // times of waits, by thread
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> tasks_;
  Thread* ended_ = nullptr;  // has given its turn away, and has to be waited for
};

/// A program of that machine has ended by itself: its files are closed, its threads stay where they are.
void end_program(Machine& machine, int status);

}  // namespace berth::simulation
