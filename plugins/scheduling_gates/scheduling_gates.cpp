// SPDX-License-Identifier: Apache-2.0
// SchedulingGates: a pod with scheduling gates does not enter the active queue.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/schedulinggates.
#include <berth/plugin.hpp>

namespace {

class SchedulingGates {
 public:
  static constexpr berth::Identity identity{.name = "SchedulingGates",
                                            .version = "1.0.0",
                                            .summary = "Holds pods back until all their scheduling gates are removed.",
                                            .deps = BERTH_DEP_POD_SPEC};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED)};

  explicit SchedulingGates(berth::Setup& setup) { setup.pod_fields(BERTH_POD_GATES); }

  berth::Verdict pre_enqueue(const berth::QueuedPod& queued) const {
    const auto gates = queued.pod().gates();
    if (gates.empty()) return berth::Verdict::ok();
    std::string text = "waiting for scheduling gates: [";
    for (const berth_str& gate : gates) {
      if (&gate != gates.data()) text += ' ';
      text += berth::view(gate);
    }
    return berth::Verdict::unresolvable(text + "]");
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const auto pod = event.new_pod();
    return pod && pod->uid() == waiting.uid();
  }
};

}  // namespace

BERTH_PLUGIN(SchedulingGates)
