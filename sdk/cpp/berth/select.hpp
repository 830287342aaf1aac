// SPDX-License-Identifier: Apache-2.0
/// Matching: label selectors, node selectors, tolerations and host ports over interned ids.
///
/// All functions are pure and allocate nothing. Label lists are sorted by key id, as the host delivers them.
/// Source: kubernetes v1.36 apimachinery/pkg/labels, component-helpers/scheduling/corev1.
///
/// Errors:  none: what does not parse matches nothing, as upstream has it where it does not fail the pod.
/// Threads: any. Lifetime: everything is borrowed for the call.
#pragma once
#include <berth/services.hpp>

#include <algorithm>
#include <charconv>

namespace berth {
inline namespace sdk {

/// The value of a label, 0 when it is absent (a present but empty value is BERTH_ID_EMPTY). Requires: sorted by key
/// id. Up to 8 labels are read in turn, more are halved.
inline Id find_label(std::span<const Label> labels, Id key) noexcept {
  // Reading a few in turn is quicker than halving.
  if (labels.size() <= 8) {
    for (const Label& label : labels)
      if (label.key == key) return label.value;
    return 0;
  }
  const auto at = std::lower_bound(labels.begin(), labels.end(), key, [](const Label& l, Id k) { return l.key < k; });
  return at != labels.end() && at->key == key ? at->value : 0;
}

/// Whether the value is one of those that the requirement lists.
inline bool has_value(const Requirement& requirement, Id value) noexcept {
  const auto values = span_of(requirement.values, requirement.value_count);
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// A base-10 int64 as Go's ParseInt(text, 10, 64) reads it: optional sign, leading zeros allowed, nothing else.
/// Absent for what does not fit into 64 bits.
inline std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
  // from_chars knows no plus sign, and would take "+-1" for -1 after it.
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One requirement against one label value (0 = absent). `text` maps an id to its string and is asked for Gt and Lt
/// only. NotIn holds for an absent label; Gt and Lt hold for whole numbers only. Source: labels.Requirement.Matches.
template <class Text>
bool meets(const Requirement& requirement, Id value, const Text& text) noexcept {
  switch (requirement.op) {
    case BERTH_OP_IN:
      return value != 0 && has_value(requirement, value);
    // An absent label is in no list.
    case BERTH_OP_NOT_IN:
      return value == 0 || !has_value(requirement, value);
    case BERTH_OP_EXISTS:
      return value != 0;
    case BERTH_OP_DOES_NOT_EXIST:
      return value == 0;
    case BERTH_OP_GT:
    case BERTH_OP_LT: {
      if (value == 0) return false;
      const std::optional<std::int64_t> number = parse_integer(text(value));
      if (!number) return false;
      return requirement.op == BERTH_OP_GT ? *number > requirement.number : *number < requirement.number;
    }
    // Pods may come with operators of a later Kubernetes: they match nothing.
    default:
      return false;
  }
}

/// A label selector against a label list, all requirements of it. Nothing and invalid selectors match nothing; one
/// without requirements matches everything. Label selectors have no Gt and Lt.
inline bool matches(const Selector& selector, std::span<const Label> labels) noexcept {
  if (selector.kind != BERTH_SELECTOR_MATCH) return false;
  const auto no_text = [](Id) { return std::string_view(); };
  for (const Requirement& requirement : span_of(selector.requirements, selector.requirement_count)) {
    if (!meets(requirement, find_label(labels, requirement.key), no_text)) return false;
  }
  return true;
}

/// Node selectors need two things from the host: the id of the one field that terms may name, and the text of values.
/// Two copies of it are the same. Source: component-helpers/scheduling/corev1/nodeaffinity.
class NodeMatcher {
 public:
  /// In a policy's constructor.
  /// Interns one text, so not on [binder] threads.
  explicit NodeMatcher(Intern intern) noexcept : intern_(intern), metadata_name_(intern("metadata.name")) {}

  /// Id of "metadata.name", as fields of terms have it in `key`.
  Id metadata_name() const noexcept { return metadata_name_; }
  /// The free function with the host's texts.
  bool meets(const Requirement& requirement, Id value) const noexcept {
    return sdk::meets(requirement, value, [this](Id id) { return intern_.text(id); });
  }
  /// The matchFields of a term. They are ignored for a node without a name. Fields other than metadata.name read as
  /// empty.
  bool fields_match(const NodeTerm& term, Id node_name) const noexcept {
    // As upstream's nodeSelectorTerm.match.
    if (node_name == 0 || node_name == BERTH_ID_EMPTY) return true;
    for (const Requirement& field : span_of(term.fields, term.field_count)) {
      // Upstream matches fields as a set with one entry, in which other keys are not.
      if (!meets(field, field.key == metadata_name_ ? node_name : BERTH_ID_EMPTY)) return false;
    }
    return true;
  }
  /// A term without expressions and fields, or with a parse error, matches nothing.
  /// Asked by matches(); of use alone where only terms that may match are worth counting.
  static bool can_match(const NodeTerm& term) noexcept {
    return term.invalid == 0 && (term.expression_count != 0 || term.field_count != 0);
  }
  /// All expressions and fields of a term. node_name is the id of the node's name.
  bool matches(const NodeTerm& term, std::span<const Label> labels, Id node_name) const noexcept {
    if (!can_match(term)) return false;
    for (const Requirement& expression : span_of(term.expressions, term.expression_count)) {
      if (!meets(expression, find_label(labels, expression.key))) return false;
    }
    return fields_match(term, node_name);
  }
  /// Terms are alternatives: one is enough, and an empty list matches nothing.
  bool matches_any(std::span<const NodeTerm> terms, std::span<const Label> labels, Id node_name) const noexcept {
    return std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& t) { return matches(t, labels, node_name); });
  }
  /// spec.nodeSelector: every pair present.
  /// The pairs of a node selector are ANDed. An empty list holds for every node.
  static bool has_all(std::span<const Label> pairs, std::span<const Label> labels) noexcept {
    return std::all_of(pairs.begin(), pairs.end(),
                       [&](const Label& pair) { return find_label(labels, pair.key) == pair.value; });
  }
  /// A pod's required node affinity: nodeSelector and the required terms, parse errors not matching. True for a pod
  /// that has neither.
  bool required(const berth_node_selection_v1& selection, std::span<const Label> labels, Id node_name) const noexcept {
    if (!has_all(span_of(selection.selector, selection.selector_count), labels)) return false;
    return selection.has_required == 0 ||
           matches_any(span_of(selection.required, selection.required_count), labels, node_name);
  }

 private:
  Intern intern_;  ///< for Gt and Lt, which compare texts as numbers
  Id metadata_name_;
};

/// An int64 as people write it: no plus sign, no leading zero, no minus before 0. Stricter than parse_integer(), as
/// upstream is about taints that are compared.
inline std::optional<std::int64_t> parse_decimal(std::string_view text) noexcept {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.front() == '+' || (digits.front() == '0' && text != "0")) return std::nullopt;
  return parse_integer(text);
}

/// One toleration against one taint. A toleration without an effect, or without a key, is for all of them. `text`
/// maps an id to its string and is asked for Lt and Gt only, which compare the taint's number with the toleration's.
/// The host shows these operators while the feature gate TaintTolerationComparisonOperators is on; otherwise it shows
/// operators that tolerate nothing.
template <class Text>
bool tolerates(const Toleration& toleration, const Taint& taint, const Text& text) noexcept {
  if (toleration.effect != BERTH_EFFECT_ANY && toleration.effect != taint.effect) return false;
  if (toleration.key != BERTH_ID_EMPTY && toleration.key != 0 && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case BERTH_TOLERATION_EXISTS:
      return true;
    // Empty values are ids as well: BERTH_ID_EMPTY on both sides.
    case BERTH_TOLERATION_EQUAL:
      return toleration.value == taint.value;
    case BERTH_TOLERATION_LT:
    case BERTH_TOLERATION_GT: {
      const std::optional<std::int64_t> bound = parse_decimal(text(toleration.value));
      const std::optional<std::int64_t> number = parse_decimal(text(taint.value));
      // What is no number tolerates nothing, and is tolerated by nothing.
      if (!bound || !number) return false;
      return toleration.op == BERTH_TOLERATION_LT ? *number < *bound : *number > *bound;
    }
    default:
      return false;
  }
}
/// Whether one of them does.
template <class Text>
bool tolerated(const Taint& taint, std::span<const Toleration> tolerations, const Text& text) noexcept {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& t) { return tolerates(t, taint, text); });
}
/// For policies that do not know Lt and Gt: they tolerate nothing.
inline bool tolerated(const Taint& taint, std::span<const Toleration> tolerations) noexcept {
  return tolerated(taint, tolerations, [](Id) { return std::string_view(); });
}
/// NoSchedule and NoExecute keep pods away; PreferNoSchedule, which is for scores, and unknown effects do not.
constexpr bool keeps_pods_away(const Taint& taint) noexcept {
  return taint.effect == BERTH_EFFECT_NO_SCHEDULE || taint.effect == BERTH_EFFECT_NO_EXECUTE;
}
/// Whether a node with these taints is out for a pod with these tolerations.
template <class Text>
bool has_untolerated_taint(std::span<const Taint> taints, std::span<const Toleration> tolerations,
                           const Text& text) noexcept {
  return std::any_of(taints.begin(), taints.end(),
                     [&](const Taint& t) { return keeps_pods_away(t) && !tolerated(t, tolerations, text); });
}
/// For policies that do not know Lt and Gt.
/// Lt and Gt tolerate nothing here.
inline bool has_untolerated_taint(std::span<const Taint> taints, std::span<const Toleration> tolerations) noexcept {
  return has_untolerated_taint(taints, tolerations, [](Id) { return std::string_view(); });
}

/// Same protocol and port, and the same address or either side on all addresses ("0.0.0.0"). Source:
/// framework.HostPortInfo.
constexpr bool ports_conflict(const HostPort& a, const HostPort& b) noexcept {
  return a.port == b.port && a.protocol == b.protocol && (a.any_ip != 0 || b.any_ip != 0 || a.ip == b.ip);
}
/// Every pair is compared: lists are short.
/// Whether a pod that wants these ports is out on a node where those are in use.
inline bool any_port_conflict(std::span<const HostPort> wanted, std::span<const HostPort> used) noexcept {
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& w) {
    return std::any_of(used.begin(), used.end(), [&](const HostPort& u) { return ports_conflict(w, u); });
  });
}

}  // namespace sdk
}  // namespace berth
