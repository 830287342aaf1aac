// SPDX-License-Identifier: Apache-2.0
// NodeAffinity: nodeSelector and node affinity of the pod, and the node affinity that the operator adds.
//
// Decides: a node fits when the added required terms and the pod's nodeSelector and required terms match. The score is
//          the sum of the weights of matching preferred terms, scaled so that the best node has 100.
// Assumes: a pod names few label keys, so one column per key and cycle is cheaper than the label lists of all nodes.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/nodeaffinity.
#include <berth/plugin.hpp>

#include <vector>

#include "added_affinity.hpp"
#include "label_rows.hpp"

namespace {

using node_affinity::AddedAffinity;
using node_affinity::ColumnCursor;
using node_affinity::LabelRows;

enum : berth::Reason { k_added_mismatch = 1, k_pod_mismatch = 2, k_conflict = 3 };

class NodeAffinity {
 public:
  /// Label columns by slot for every expression, in the order in which filter and score walk them. Empty when the point
  /// that fills them did not run; then values come from the label lists.
  struct State {
    std::vector<const berth::Id*> required;
    std::vector<const berth::Id*> preferred;
  };

  static constexpr berth::Identity identity{
      .name = "NodeAffinity",
      .version = "1.0.0",
      .summary = "Keeps pods on the nodes that their node selector and node affinity name, and prefers some of them.",
      .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC,
      .prepare_flags = BERTH_PREPARE_SCORE_WITHOUT_NODES};
  static constexpr const char* args_schema = node_affinity::k_args_schema;
  static constexpr berth::ReasonText reasons[] = {
      {"node(s) didn't match scheduler-enforced node affinity", "AddedAffinityMismatch"},
      {"node(s) didn't match Pod's node affinity/selector", "NodeAffinityMismatch"},
      {"pod affinity terms conflict", "AffinityTermsConflict"}};
  static constexpr berth::Normalize normalization = berth::Normalize::max;
  static constexpr const char* services[] = {berth::Intern::id, berth::Sets::id, berth::Labels::id,
                                             berth::NodeColumns::id};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit NodeAffinity(berth::Setup& setup)
      : added_(setup.args(), setup.service<berth::Intern>()),
        matcher_(setup.service<berth::Intern>()),
        sets_(setup.service<berth::Sets>()),
        label_columns_(setup.service<berth::Labels>()),
        node_columns_(setup.service<berth::NodeColumns>()),
        labels_(setup.label_set()),
        name_(setup.name()) {
    setup.pod_fields(BERTH_POD_NODE_SELECTION);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    if (selection.has_required == 0 && selection.has_selector == 0 && !added_.has_required())
      return berth::Verdict::skip();
    if (!narrow(cycle, selection, out)) return berth::Verdict::unresolvable(k_conflict);
    std::vector<const berth::Id*>& columns = out.make().required;
    collect(cycle, added_.required(), columns);
    for (const berth::Label& pair : selector_of(selection)) columns.push_back(label_columns_.column(cycle, pair.key));
    collect(cycle, required_of(selection), columns);
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    const State* state = cycle.state<State>();
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      if (!nodes.open(w).any()) continue;
      LabelRows rows(nodes.word(w), nodes.open(w), sets_, labels_, name_);
      ColumnCursor columns(state == nullptr ? std::span<const berth::Id* const>() : state->required);
      if (added_.has_required()) {
        nodes.reject(w, !matches_any(added_.required(), rows, columns, matcher_),
                     berth::unresolvable(k_added_mismatch));
      }
      nodes.reject(w, !matches_pod(selection, rows, columns), berth::unresolvable(k_pod_mismatch));
    }
  }

  berth::Verdict pre_score(const berth::Cycle& cycle, berth::PreScore<State>& out) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    if (selection.has_preferred == 0 && !added_.has_preferred()) return berth::Verdict::skip();
    check_preferred(selection);
    std::vector<const berth::Id*>& columns = out.get_or_make().preferred;
    columns.clear();
    collect(cycle, added_.preferred(), columns);
    collect(cycle, preferred_of(selection), columns);
    return berth::Verdict::ok();
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& nodes) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    const State* state = cycle.state<State>();
    check_preferred(selection);
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      const berth::Mask wanted(nodes.candidates(w));
      if (!wanted.any()) continue;
      LabelRows rows(nodes.word(w), wanted, sets_, labels_, name_);
      ColumnCursor columns(state == nullptr ? std::span<const berth::Id* const>() : state->preferred);
      nodes.set(w, wanted, 0);
      for (const auto terms : {added_.preferred(), preferred_of(selection)}) {
        for (const berth::NodeTerm& term : terms) {
          const berth::Mask matching = matches(term, rows, columns, matcher_);
          berth::each_bit(matching.bits(), [&](std::uint32_t bit) { nodes(w * 64 + bit) += term.weight; });
        }
      }
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const auto before = event.old_node();
    const auto after = event.new_node();
    if (!after) return true;
    if (added_.has_required() && !matcher_.matches_any(added_.required(), labels_of(*after), (*after)[name_]))
      return false;
    const berth_node_selection_v1& selection = waiting.node_selection();
    if (!fits(selection, *after)) return has_error(selection, *after);
    return !before || !fits(selection, *before);
  }

 private:
  static std::span<const berth::Label> selector_of(const berth_node_selection_v1& selection) noexcept {
    return berth::span_of(selection.selector, selection.selector_count);
  }
  static std::span<const berth::NodeTerm> required_of(const berth_node_selection_v1& selection) noexcept {
    return berth::span_of(selection.required, selection.required_count);
  }
  static std::span<const berth::NodeTerm> preferred_of(const berth_node_selection_v1& selection) noexcept {
    return berth::span_of(selection.preferred, selection.preferred_count);
  }
  std::span<const berth::Label> labels_of(const berth::Row& row) const noexcept { return sets_.labels(row[labels_]); }
  bool fits(const berth_node_selection_v1& selection, const berth::Row& row) const noexcept {
    return matcher_.required(selection, labels_of(row), row[name_]);
  }
  /// Upstream evaluates terms in order and reports parse errors only when the map matches and no term does.
  bool has_error(const berth_node_selection_v1& selection, const berth::Row& row) const noexcept {
    const auto terms = required_of(selection);
    return berth::NodeMatcher::has_all(selector_of(selection), labels_of(row)) &&
           std::any_of(terms.begin(), terms.end(), [](const berth::NodeTerm& term) { return term.invalid != 0; });
  }

  void collect(const berth::Cycle& cycle, std::span<const berth::NodeTerm> terms,
               std::vector<const berth::Id*>& columns) const {
    for (const berth::NodeTerm& term : terms) {
      for (const berth::Requirement& expression : berth::span_of(term.expressions, term.expression_count)) {
        columns.push_back(label_columns_.column(cycle, expression.key));
      }
    }
  }

  berth::Mask matches_pod(const berth_node_selection_v1& selection, LabelRows& rows, ColumnCursor& columns) const {
    berth::Mask matching = rows.wanted();
    for (const berth::Label& pair : selector_of(selection)) {
      const berth::Id* column = columns.next();
      if (matching.any()) matching &= rows.values(pair.key, column) == pair.value;
    }
    if (selection.has_required != 0 && matching.any()) {
      matching &= matches_any(required_of(selection), rows, columns, matcher_);
    }
    return matching;
  }

  /// A pod whose every required term names nodes by metadata.name fits on no others: only these are worth filtering.
  /// Returns false when the names of each term exclude one another.
  bool narrow(const berth::Cycle& cycle, const berth_node_selection_v1& selection, berth::PreFilter<State>& out) const {
    std::vector<berth::Id> names;
    for (const berth::NodeTerm& term : required_of(selection)) {
      std::optional<std::vector<berth::Id>> of_term;
      for (const berth::Requirement& field : berth::span_of(term.fields, term.field_count)) {
        if (field.key != matcher_.metadata_name() || field.op != BERTH_OP_IN) continue;
        if (!of_term) {
          of_term.emplace(field.values, field.values + field.value_count);
        } else {
          std::erase_if(*of_term, [&](berth::Id name) { return !berth::has_value(field, name); });
        }
      }
      if (!of_term) return true;
      names.insert(names.end(), of_term->begin(), of_term->end());
    }
    if (selection.required_count == 0) return true;
    if (names.empty()) return false;
    keep_only(cycle, names, out);
    return true;
  }
  void keep_only(const berth::Cycle& cycle, std::span<const berth::Id> names, berth::PreFilter<State>& out) const {
    std::vector<std::uint64_t> keep(out.candidates().size());
    constexpr std::size_t k_few = 16;  // beyond, one pass over the column costs less
    if (names.size() <= k_few && node_columns_.find(cycle, names.front())) {
      for (const berth::Id name : names) {
        const berth::Slot slot = *node_columns_.find(cycle, name);
        if (slot < cycle.slot_count()) keep[slot / 64] |= std::uint64_t{1} << (slot % 64);
      }
      return out.narrow(keep);
    }
    const berth::Id* by_slot = node_columns_.column(cycle, name_);
    for (std::size_t w = 0; w < keep.size() && w * 64 < cycle.slot_count(); ++w) {
      const berth::Lane<berth::Id> lane(by_slot + w * 64);
      for (const berth::Id name : names) keep[w] |= (lane == name).bits();
    }
    out.narrow(keep);
  }

  /// A preferred term that does not parse fails the whole list.
  static void check_preferred(const berth_node_selection_v1& selection) {
    std::string errors;
    bool several = false;
    for (const berth::NodeTerm& term : preferred_of(selection)) {
      if (term.invalid == 0) continue;
      std::string_view text = berth::view(term.error);
      // Several errors of one term come as "[a, b]", and each begins with its index in brackets.
      if (text.substr(0, 2) == "[[" && text.back() == ']') {
        text = text.substr(1, text.size() - 2);
        several = true;
      }
      if (!errors.empty()) {
        errors += ", ";
        several = true;
      }
      errors += text;
    }
    if (!errors.empty()) throw berth::Failure(several ? "[" + errors + "]" : errors);
  }

  AddedAffinity added_;
  berth::NodeMatcher matcher_;
  berth::Sets sets_;
  berth::Labels label_columns_;
  berth::NodeColumns node_columns_;
  berth::IdColumn labels_;
  berth::IdColumn name_;
};

}  // namespace

BERTH_PLUGIN(NodeAffinity)
