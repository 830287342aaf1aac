// SPDX-License-Identifier: Apache-2.0
/// What a Program and a Device are inside.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "berth/cel/cel.hpp"
#include "checker.hpp"
#include "library/regex_cache.hpp"
#include "syntax/syntax_tree.hpp"

namespace berth::cel {

inline constexpr std::size_t k_program_bytes_max = 8 * 1024 * 1024;
inline constexpr std::size_t k_program_regex_bytes_max = 4 * 1024 * 1024;
/// Of a device's attributes and capacities as values.
inline constexpr std::size_t k_device_bytes_max = 16 * 1024 * 1024;

struct CompiledExpression {
  std::string text;
  std::uint64_t serial = 0;
  Arena arena{k_program_bytes_max};
  Tree tree;
  Checked checked;
  /// Literal patterns, each once.
  struct LiteralRegex {
    std::string_view pattern;
    std::unique_ptr<re2::RE2> regex;
  };
  std::vector<LiteralRegex> regexes;
  std::size_t regex_bytes = 0;
  std::uint64_t steps = 0;  ///< that compiling took

  /// About how much memory it takes, its patterns included.
  std::size_t bytes() const;
};

struct DeviceData {
  // There are as many of these as devices: what a usual one needs, and more for those with more.
  Arena arena{k_device_bytes_max, 1024};
  std::string_view error;  ///< of an attribute or capacity that cannot be read: the outcome of every expression
  Value driver;
  Value allow_multiple_allocations;
  Value attributes;
  Value capacity;
};

struct EvaluatorState {
  Arena arena{k_evaluation_bytes_max};
  std::vector<Value> slots;
  RegexCache regexes;
};

/// Evaluates what is constant, compiles literal patterns, checks literal formats.
SyntaxError fold_constants(CompiledExpression& expression);

/// The map that every unknown domain is.
const MapData& empty_map();

}  // namespace berth::cel
