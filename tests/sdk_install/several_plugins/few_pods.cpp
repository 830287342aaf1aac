// SPDX-License-Identifier: Apache-2.0
/// test.example/FewPods: a node with `maxPods` pods or more is rejected.
#include <berth/plugin.hpp>

namespace {

class FewPods {
 public:
  static constexpr berth::Identity identity{.name = "test.example/FewPods",
                                            .version = "1.0.0",
                                            .summary = "Keeps nodes from having many pods.",
                                            .deps = BERTH_DEP_NODE_USAGE};
  static constexpr char args_schema[] = R"({
    "type": "object",
    "properties": {"maxPods": {"type": "integer", "minimum": 1, "description": "A node with so many gets no more."}}
  })";
  static constexpr berth::ReasonText reasons[] = {{"node(s) had many pods", "Crowded"}};
  static constexpr berth::Rejection rejection = berth::unschedulable(1);
  static constexpr berth::Interest interests[] = {berth::derived(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                                  berth::derived(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit FewPods(berth::Setup& setup)
      : pods_(setup.pods()), max_pods_(setup.args()["maxPods"].integer_or("maxPods", 50)) {}

  berth::Mask filter(const berth::Cycle&, berth::Rows nodes) const { return nodes[pods_] < max_pods_; }

 private:
  berth::IntColumn pods_;
  std::int64_t max_pods_;
};

}  // namespace

BERTH_PLUGIN(FewPods)
