// SPDX-License-Identifier: Apache-2.0
/// Compiled patterns: what they cost, and those that are computed while evaluating, of which a few are kept.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "values/values.hpp"

namespace berth::cel {

struct CompiledRegex {
  std::unique_ptr<re2::RE2> regex;
  std::size_t bytes = 0;  ///< what it takes at most, however often it is matched
};

/// Null if RE2 or Go refuse the pattern; `error` says why in Go's words. Charged to `work` by the length of the pattern, its
/// Unicode classes and the size of the program, some nanoseconds a step. A program of more than ten thousand instructions is
/// refused, though Go would take it.
CompiledRegex compile_regex(std::string_view pattern, Work& work, std::string& error);
inline constexpr std::string_view k_no_steps_left = "no steps are left";

/// What an evaluation is charged for does not depend on those before it: a pattern that is known costs as much as one that is
/// new, once per evaluation, and again when so many others came between that an empty cache would have dropped it.
class RegexCache {
 public:
  /// Before each evaluation.
  void start_evaluation() noexcept;
  /// As compile_regex; the answer is valid until the next call. Compiling is charged to `work`.
  const re2::RE2* get(std::string_view pattern, Work& work, std::string& error);

 private:
  struct Entry {
    std::string pattern;
    std::unique_ptr<re2::RE2> regex;
    std::uint64_t steps = 0;    // to compile it
    std::uint64_t charged = 0;  // the order within this evaluation; 0: not yet
  };
  std::array<Entry, 4> entries_;
  std::uint64_t last_charged_ = 0;
};

}  // namespace berth::cel
