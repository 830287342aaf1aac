// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <vector>

#include "library/functions.hpp"
#include "syntax/syntax_tree.hpp"
#include "types.hpp"

namespace berth::cel {

/// What checking leaves behind for evaluation; lives as long as the tree.
struct Checked {
  Types types;
  std::deque<std::vector<const Overload*>> candidates;
  std::uint32_t slots = 1;  ///< variables, `device` (slot 0) included
};

/// Gives every node its type, every call its overloads, every variable its slot. The error names the first thing wrong.
SyntaxError check(Tree& tree, Checked& checked, Arena& arena);

}  // namespace berth::cel
