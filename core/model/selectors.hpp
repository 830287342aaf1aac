// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "model/shared.hpp"

/// Labels and the ways to select by them, parsed once. Strings are symbols of the process's SymbolTable.
namespace berth::model {

struct Label {
  Symbol key = 0;
  Symbol value = 0;  // k_empty_symbol when empty
  friend bool operator==(const Label&, const Label&) = default;
};
/// Sorted by key symbol, no key twice.
using Labels = std::vector<Label>;

enum class Operator : std::uint8_t { in = 1, not_in = 2, exists = 3, does_not_exist = 4, gt = 5, lt = 6 };

struct Requirement {
  Symbol key = 0;
  Operator op = Operator::in;
  std::vector<Symbol> values;
  std::int64_t number = 0;  // gt, lt
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// A metav1.LabelSelector. `nothing` is an absent one; a match without requirements selects everything.
struct Selector {
  enum class Kind : std::uint8_t { nothing = 0, match = 1, invalid = 2 };
  Kind kind = Kind::nothing;
  std::vector<Requirement> requirements;
  std::string error;  // invalid: upstream's words
  friend bool operator==(const Selector&, const Selector&) = default;
};

/// One term of a node selector. A term without expressions and fields matches nothing and is kept out by the decoder
/// only where upstream drops it (never from the fact that a list was given).
struct NodeTerm {
  std::vector<Requirement> expressions;
  std::vector<Requirement> fields;
  std::int32_t weight = 0;  // preferred terms
  std::string error;        // not empty: does not parse, matches nothing
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

struct NodeSelection {
  bool has_selector = false;  // spec.nodeSelector present
  SharedList<Label> selector;
  bool has_required = false;
  SharedList<NodeTerm> required;
  bool has_preferred = false;
  SharedList<NodeTerm> preferred;
  friend bool operator==(const NodeSelection&, const NodeSelection&) = default;
};

struct AffinityTerm {
  Selector selector;
  Selector namespace_selector;
  std::vector<Symbol> namespaces;  // the pod's own when list and selector are absent
  Symbol topology_key = k_empty_symbol;
  std::int32_t weight = 0;
  friend bool operator==(const AffinityTerm&, const AffinityTerm&) = default;
};

struct PodAffinity {
  bool present = false;  // podAffinity or podAntiAffinity given, even if empty
  SharedList<AffinityTerm> required;
  SharedList<AffinityTerm> preferred;
  SharedList<AffinityTerm> anti_required;
  SharedList<AffinityTerm> anti_preferred;
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

enum class SpreadAction : std::uint8_t { other = 0, do_not_schedule = 1, schedule_anyway = 2 };
struct SpreadConstraint {
  Selector selector;
  std::vector<Symbol> match_label_keys;
  Symbol topology_key = k_empty_symbol;
  std::int32_t max_skew = 0;
  std::int32_t min_domains = 1;
  SpreadAction action = SpreadAction::other;
  bool honor_node_affinity = true;
  bool honor_node_taints = false;
  friend bool operator==(const SpreadConstraint&, const SpreadConstraint&) = default;
};

enum class TaintEffect : std::uint32_t { other = 0, no_schedule = 1, prefer_no_schedule = 2, no_execute = 3, any = 4 };
/// Has the layout of its ABI record, so that lists cross the boundary as they are.
struct Taint {
  Symbol key = k_empty_symbol;
  Symbol value = k_empty_symbol;
  TaintEffect effect = TaintEffect::other;
  std::uint32_t reserved = 0;
  friend bool operator==(const Taint&, const Taint&) = default;
};
enum class TolerationOperator : std::uint8_t { equal = 0, exists = 1, lt = 2, gt = 3, other = 4 };
struct Toleration {
  Symbol key = k_empty_symbol;  // empty: any key
  Symbol value = k_empty_symbol;
  TolerationOperator op = TolerationOperator::equal;
  TaintEffect effect = TaintEffect::any;
  std::int64_t seconds = -1;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

}  // namespace berth::model
