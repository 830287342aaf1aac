// SPDX-License-Identifier: Apache-2.0
/// The expression as a tree. The parser makes it, the checker annotates it (type, overloads, slots of variables), evaluation
/// walks it. Its depth is bounded by the parser, so walking it by recursion is safe.
#pragma once
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "values/values.hpp"

namespace re2 {
class RE2;
}

namespace berth::cel {

struct Type;
struct Overload;

enum class NodeKind : std::uint8_t {
  literal,     ///< value
  identifier,  ///< text; after checking: a slot
  select,      ///< operands[0].text
  index,       ///< operands[0][operands[1]]
  logic_and,   ///< all operands; a chain is one node
  logic_or,
  conditional,  ///< operands: condition, then, else
  call,         ///< text(operands); operators are calls of `_+_` and the like
  list,         ///< operands; optional_operands says which are `?e`
  map,          ///< operands: key, value, key, value …
  message,      ///< text{fields}: operands are the values
  macro,        ///< macro; operands: range or target, then what the macro was given
};

enum class Macro : std::uint8_t {
  none,
  all,
  exists,
  exists_one,
  map,
  filter,
  transform_list,
  transform_map,
  transform_map_entry,
  bind,
  opt_map,
  opt_flat_map,
  sort_by,
};

/// Calls that are not evaluated as the others are.
enum class Special : std::uint8_t {
  none,
  cached,      ///< on constants: `value` is the answer, the cost is charged each time
  membership,  ///< `in` with a constant list
  or_else,     ///< `o.or(o)`: the argument is evaluated if the target is empty
  or_value,
  equal,  ///< `==`, `!=`
  not_equal,
};

/// Selections that begin with `device` and have constant keys: what most of every selector is.
enum class DevicePath : std::uint8_t {
  none,
  device,
  driver,
  attributes,
  capacity,
  attribute_domain,
  capacity_domain,
  attribute,
  amount
};

struct Node {
  NodeKind kind = NodeKind::literal;
  Macro macro = Macro::none;
  bool is_method = false;  ///< call: operands[0] is the target
  bool optional = false;   ///< select and index: `.?f`, `[?i]`
  bool presence = false;   ///< select: within has()
  bool constant = false;   ///< evaluated once, when compiled; `value` is the answer
  bool absolute = false;   ///< identifier: written with a leading dot
  std::uint16_t height = 0;
  std::uint32_t offset = 0;
  std::string_view text;
  Value value;
  std::vector<Node*> operands;
  std::vector<bool> optional_operands;      ///< list: per element; map and message: per entry
  std::vector<std::string_view> variables;  ///< macro: names; message: names of its fields
  // What the checker adds:
  const Type* type = nullptr;
  const Overload* const* overloads = nullptr;  ///< call: what the values' kinds are tried against, ends with null
  std::uint8_t cost_rule = 0;                  ///< call: a CostRule
  bool stops_at_error = false;  ///< call: what follows a failed argument is not evaluated, and then it is not charged
  Special special = Special::none;
  DevicePath path = DevicePath::none;
  Value domain_key;  ///< path: the domain's and the last step's names, tagged
  Value last_key;
  bool conditional_root = false;    ///< chain of selections that begins with `c ? a : b`
  std::uint32_t slot = 0;           ///< identifier: 0 is `device`; macro: the first of its variables; cached: cost
  const re2::RE2* regex = nullptr;  ///< matches, find, findAll with a literal pattern
};

struct Tree {
  std::deque<Node> nodes;
  Node* root = nullptr;
};

struct SyntaxError {
  std::uint32_t offset = 0;
  std::string_view message;  ///< a literal or a piece of the arena; empty: none
};

}  // namespace berth::cel
