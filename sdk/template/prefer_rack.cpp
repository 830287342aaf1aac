// SPDX-License-Identifier: Apache-2.0
/// example.com/PreferRack: keeps pods off nodes without a rack label and prefers nodes of the racks in its args.
///
/// Assumes: a rack is the value of one node label; racks that no node carries do no harm.
/// Steps:   filter looks at the label alone. score gives 100 to a node of a preferred rack, 0 to others.
/// Ties:    left to the host, like every tie of the sum of all scores.
#include <berth/plugin.hpp>

#include <algorithm>
#include <vector>

namespace {

class PreferRack {
 public:
  static constexpr berth::Identity identity{
      .name = "example.com/PreferRack",
      .version = "0.1.0",
      .summary = "Keeps pods off nodes without a rack label and prefers certain racks.",
      // The answer for a node changes when that node's labels change, and never otherwise: berth may reuse it.
      .deps = BERTH_DEP_NODE_STATIC};

  // berth checks the args against this before the constructor runs, and fills in the defaults.
  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "label": {"type": "string", "default": "example.com/rack", "description": "node label that names the rack"},
      "preferred": {"type": "array", "items": {"type": "string"}, "description": "racks that score 100"}
    }
  })";

  static constexpr berth::ReasonText reasons[] = {{"node(s) had no rack label", "NoRack"}};
  // Evicting pods does not give a node a label.
  static constexpr berth::Rejection rejection = berth::unresolvable(1);

  // A pod that was rejected may fit when a node appears or its labels change; berth then asks filter about that node.
  static constexpr berth::Interest interests[] = {
      berth::derived(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit PreferRack(berth::Setup& setup) {
    const berth::Json args = setup.args();
    rack_ = setup.label(args["label"].string_or("label", "example.com/rack"));
    const auto intern = setup.service<berth::Intern>();
    for (const berth::Json& rack : args["preferred"].array("preferred")) {
      preferred_.push_back(intern(rack.string("preferred")));
    }
  }

  // 64 nodes at a time. A comparison of a column gives one bit per node; && and || work on these bits.
  berth::Mask filter(const berth::Cycle&, berth::Rows nodes) const { return nodes[rack_] != 0u; }

  // One node at a time is fine for a score: only feasible nodes are scored.
  std::int64_t score_each(const berth::Cycle&, berth::Row node) const {
    const bool wanted = std::find(preferred_.begin(), preferred_.end(), node[rack_]) != preferred_.end();
    return wanted ? BERTH_SCORE_MAX : 0;
  }

 private:
  berth::IdColumn rack_;
  std::vector<berth::Id> preferred_;
};

}  // namespace

BERTH_PLUGIN(PreferRack)
