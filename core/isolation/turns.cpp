// SPDX-License-Identifier: Apache-2.0
#include "isolation/turns.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <limits>

namespace berth::isolation {
namespace {

constexpr std::int64_t k_spin_ns = 50'000;
constexpr std::int64_t k_spin_least_ns = 4'000;
constexpr std::int64_t k_second_ns = 1'000'000'000;
constexpr int k_looks_per_time = 32;

void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Not FUTEX_PRIVATE: the two are different processes.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

/// Where other work keeps the processors busy the other side does not run while this one spins, and who sleeps is let run
/// sooner: after a wait that was too long this thread spins for less, and after a short one for longer again.
thread_local std::int64_t t_spin_ns = k_spin_ns;

}  // namespace

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * k_second_ns + now.tv_nsec;
}

std::int64_t spin_ns() noexcept {
  static const std::int64_t ns = processors() > 1 ? k_spin_ns : 0;
  return ns;
}

std::uint32_t await_turn(Turn turn, std::uint32_t was, std::int64_t until_ns) noexcept {
  std::uint32_t number = turn.number.load(std::memory_order_acquire);
  if (number != was) return number;
  if (const std::int64_t spin = std::min(spin_ns(), t_spin_ns); spin != 0) {
    const std::int64_t spin_until_ns = now_ns() + spin;
    do {
      for (int i = 0; i < k_looks_per_time; ++i) {
        number = turn.number.load(std::memory_order_acquire);
        if (number != was) {
          t_spin_ns = std::min(2 * t_spin_ns, k_spin_ns);
          return number;
        }
        pause_briefly();
      }
    } while (now_ns() < spin_until_ns);
  }
  t_spin_ns = std::max(t_spin_ns / 2, k_spin_least_ns);
  turn.sleeps.store(1, std::memory_order_seq_cst);
  number = turn.number.load(std::memory_order_seq_cst);
  if (number == was) {
    if (until_ns == std::numeric_limits<std::int64_t>::max()) {
      futex(turn.number, FUTEX_WAIT, was, nullptr);
    } else if (const std::int64_t left_ns = until_ns - now_ns(); left_ns > 0) {
      const timespec limit{left_ns / k_second_ns, left_ns % k_second_ns};
      futex(turn.number, FUTEX_WAIT, was, &limit);
    }
    number = turn.number.load(std::memory_order_seq_cst);
  }
  turn.sleeps.store(0, std::memory_order_relaxed);
  return number;
}

void give_turn(Turn turn, std::uint32_t number) noexcept {
  turn.number.store(number, std::memory_order_seq_cst);
  if (turn.sleeps.load(std::memory_order_seq_cst) != 0) wake_all(turn.number);
}

void wake_all(std::atomic<std::uint32_t>& number) noexcept { futex(number, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace berth::isolation
