// SPDX-License-Identifier: Apache-2.0
// Policies that ask whether nodes carry certain label keys; values do not matter.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/{predicates/predicates.go,priorities/node_label.go}, v1.18
// pkg/scheduler/framework/plugins/nodelabel.
#include <berth/plugin.hpp>

#include "../v1_16_args.hpp"

#include <algorithm>

namespace berth::legacy {
namespace {

// One member of a schema a line, which clang-format takes apart.
// clang-format off
constexpr char k_presence_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_NAMES("labels", "Keys that are looked for.")
    R"("presence": {"type": "boolean", "default": false, )"
    R"("description": "Whether nodes must have all or none of them."}, )");
constexpr char k_preference_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_MAX_SCORE
    R"("label": {"type": "string", "default": "", "description": "The key that is looked for."}, )"
    R"("presence": {"type": "boolean", "default": false, )"
    R"("description": "Whether nodes with it are better, or those without."}, )");
constexpr char k_node_label_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_MAX_SCORE
    BERTH_LEGACY_NAMES("presentLabels", "Nodes must have all of these.")
    BERTH_LEGACY_NAMES("absentLabels", "Nodes must have none of these.")
    BERTH_LEGACY_NAMES("presentLabelsPreference", "Nodes are better for each of these that they have.")
    BERTH_LEGACY_NAMES("absentLabelsPreference", "Nodes are better for each of these that they lack."));
// clang-format on

std::vector<IdColumn> columns_of(Setup& setup, const std::vector<std::string>& labels) {
  std::vector<IdColumn> columns;
  for (const std::string& label : labels) columns.push_back(setup.label(label));
  return columns;
}
/// Nodes that have all of the keys, or none.
Mask agree(const Rows& rows, const std::vector<IdColumn>& labels, bool presence) {
  Mask good = Mask::all();
  for (const IdColumn label : labels) good &= presence ? rows[label] != 0u : rows[label] == 0u;
  return good;
}

class CheckNodeLabelPresence {
 public:
  static constexpr Identity identity =
      identity_of("CheckNodeLabelPresence", "Keeps pods on nodes that have all, or none, of the named labels.",
                  BERTH_DEP_NODE_STATIC);
  static constexpr const char* args_schema = k_presence_args;
  static constexpr ReasonText reasons[] = {{"node(s) didn't have the requested labels", "LabelPresence"}};
  static constexpr Rejection rejection = unresolvable(1);
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit CheckNodeLabelPresence(Setup& setup)
      : presence_(setup.args()["presence"].boolean_or("presence", false)),
        labels_(columns_of(setup, read_some_names(setup.args(), "labels"))) {}

  Mask filter(const Cycle&, Rows rows) const { return agree(rows, labels_, presence_); }

 private:
  bool presence_;
  std::vector<IdColumn> labels_;
};

class NodeLabelPriority {
 public:
  static constexpr Identity identity =
      identity_of("NodeLabelPriority", "Prefers nodes that have, or lack, the named label.", BERTH_DEP_NODE_STATIC);
  static constexpr const char* args_schema = k_preference_args;
  static constexpr std::array<Interest, 0> interests{};

  explicit NodeLabelPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())),
        presence_(setup.args()["presence"].boolean_or("presence", false)),
        label_(setup.label(read_label(setup.args()))) {}

  void score(const Cycle&, ScoreBlock& block) const {
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Mask has = block.word(w)[label_] != 0u;
      block.set(w, has, presence_ ? max_score_ : 0);
      block.set(w, !has, presence_ ? 0 : max_score_);
    }
  }

 private:
  std::int64_t max_score_;
  bool presence_;
  IdColumn label_;
};

/// Predicate and priority in one, over lists. Without lists for a point it passes every node, or scores 0.
class NodeLabel {
 public:
  static constexpr Identity identity = identity_of(
      "NodeLabel", "Keeps pods on, and prefers, nodes that have or lack the named labels.", BERTH_DEP_NODE_STATIC);
  static constexpr const char* args_schema = k_node_label_args;
  static constexpr ReasonText reasons[] = {{"node(s) didn't have the requested labels", "LabelPresence"}};
  static constexpr Rejection rejection = unresolvable(1);
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit NodeLabel(Setup& setup) : NodeLabel(setup, setup.args()) {}

  Mask filter(const Cycle&, Rows rows) const { return agree(rows, present_, true) && agree(rows, absent_, false); }

  void score(const Cycle&, ScoreBlock& block) const {
    const auto preferences = static_cast<std::int64_t>(wanted_.size() + unwanted_.size());
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      block.set(w, Mask::all(), 0);
      const auto credit = [&](Mask good) {
        each_bit(good.bits() & block.candidates(w), [&](std::uint32_t bit) { block(w * 64 + bit) += max_score_; });
      };
      for (const IdColumn label : wanted_) credit(rows[label] != 0u);
      for (const IdColumn label : unwanted_) credit(rows[label] == 0u);
      if (preferences == 0) continue;
      each_bit(block.candidates(w), [&](std::uint32_t bit) { block(w * 64 + bit) /= preferences; });
    }
  }

 private:
  NodeLabel(Setup& setup, const Json& args)
      : max_score_(read_max_score(args)),
        present_(columns_of(setup, read_names(args, "presentLabels"))),
        absent_(columns_of(setup, read_names(args, "absentLabels"))),
        wanted_(columns_of(setup, read_names(args, "presentLabelsPreference"))),
        unwanted_(columns_of(setup, read_names(args, "absentLabelsPreference"))) {
    refuse_overlap(read_names(args, "presentLabels"), read_names(args, "absentLabels"));
    refuse_overlap(read_names(args, "presentLabelsPreference"), read_names(args, "absentLabelsPreference"));
  }

  /// As Go prints a list of strings.
  static std::string listed(const std::vector<std::string>& labels) {
    std::string out = "[";
    for (const std::string& label : labels) out += (out.size() > 1 ? " " : "") + label;
    return out + "]";
  }
  static void refuse_overlap(const std::vector<std::string>& present, const std::vector<std::string>& absent) {
    for (const std::string& label : present) {
      if (std::find(absent.begin(), absent.end(), label) == absent.end()) continue;
      throw BadArgs("detecting at least one label (e.g., \"" + label + "\") that exist in both the present(" +
                    listed(present) + ") and absent(" + listed(absent) + ") label list");
    }
  }

  std::int64_t max_score_;
  std::vector<IdColumn> present_;
  std::vector<IdColumn> absent_;
  std::vector<IdColumn> wanted_;
  std::vector<IdColumn> unwanted_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_labels, berth::legacy::CheckNodeLabelPresence, berth::legacy::NodeLabelPriority,
                  berth::legacy::NodeLabel)
