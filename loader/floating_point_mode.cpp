// SPDX-License-Identifier: Apache-2.0
#include "loader/floating_point_mode.hpp"

#include <spdlog/fmt/fmt.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace berth::loader {

#if defined(__x86_64__)

namespace {
constexpr unsigned k_sticky_flags = 0x3f;
}

FloatingPointMode FloatingPointMode::current() noexcept {
  std::uint16_t extended = 0;
  __asm__ volatile("fnstcw %0" : "=m"(extended));
  return {_mm_getcsr() & ~k_sticky_flags, extended};
}

void FloatingPointMode::restore() const noexcept {
  _mm_setcsr((_mm_getcsr() & k_sticky_flags) | static_cast<unsigned>(control));
  const auto word = static_cast<std::uint16_t>(extended);
  __asm__ volatile("fldcw %0" : : "m"(word));
}

std::string FloatingPointMode::text() const { return fmt::format("mxcsr {:#x}, x87 {:#x}", control, extended); }

#elif defined(__aarch64__)

FloatingPointMode FloatingPointMode::current() noexcept {
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return {control, 0};
}

void FloatingPointMode::restore() const noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(control)); }

std::string FloatingPointMode::text() const { return fmt::format("fpcr {:#x}", control); }

#else

FloatingPointMode FloatingPointMode::current() noexcept { return {static_cast<std::uint64_t>(std::fegetround()), 0}; }

void FloatingPointMode::restore() const noexcept { std::fesetround(static_cast<int>(control)); }

std::string FloatingPointMode::text() const { return fmt::format("rounding {}", control); }

#endif

}  // namespace berth::loader
