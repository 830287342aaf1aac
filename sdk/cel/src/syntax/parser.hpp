// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "syntax/syntax_tree.hpp"

namespace berth::cel {

inline constexpr std::size_t k_expression_bytes_max = 100'000;
inline constexpr int k_depth_max = 250;

/// Parses `text`, which must outlive the tree; macros are recognised. Literals lie in `arena`.
SyntaxError parse(std::string_view text, Arena& arena, Tree& tree);

/// Makes `call` the macro it names, if it names one: `has(a.b)`, `l.all(x, …)`. The error is empty if all is well.
SyntaxError expand_macro(Node& call, Arena& arena);

}  // namespace berth::cel
