// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption: when no node has room, says which less important pods should go, and from where.
//
// Decides: who may preempt, how important a victim is and which node is the best (DefaultVictimOrder). The search itself,
//          what-if rows, disruption budgets and the evictions are the host's.
// Ties:    the node that stands earlier in the list; upstream takes any.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/defaultpreemption. Departs: every node is searched unless
//          the args give a sample size.
#include <berth/plugin.hpp>
#include <berth/preemption/victim_order.hpp>

#include <algorithm>
#include <atomic>
#include <bit>

namespace berth::default_preemption {
namespace {

class DefaultPreemption {
 public:
  static constexpr Identity identity{.name = "DefaultPreemption",
                                     .version = "1.0.0",
                                     .summary = "Makes room for a pod by evicting less important ones."};
  // No defaults: a sample is taken only where one is asked for.
  static constexpr const char args_schema[] = R"json({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "minCandidateNodesPercentage": {
        "type": "integer", "minimum": 0, "maximum": 100,
        "errorMessage": "not in valid range [0, 100]",
        "description": "Share of the nodes at which the search may end; 10 when only the other one is given. Neither: all nodes are searched."
      },
      "minCandidateNodesAbsolute": {
        "type": "integer", "minimum": 0,
        "errorMessage": "not in valid range [0, inf)",
        "description": "Number of nodes at which the search may end, at least; 100 when only the other one is given."
      }
    },
    "anyOf": [
      {"properties": {"minCandidateNodesPercentage": {"minimum": 1}}},
      {"properties": {"minCandidateNodesAbsolute": {"minimum": 1}}}
    ],
    "errorMessage": "minCandidateNodesPercentage cannot be zero at the same time as minCandidateNodesAbsolute"
  })json";
  static constexpr const char* services[] = {Preemption::id};
  static constexpr const char* rbac[] = {"delete core/pods", "patch core/pods/status"};
  static constexpr const char* watches[] = {"policy/v1/poddisruptionbudgets"};
  /// Lets gated pods hear of deletions; whether one helps is for the plugins that turned the pod away.
  static constexpr Interest interests[] = {hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE)};

  explicit DefaultPreemption(Setup& setup) : preemption_(setup.service<Preemption>()) {
    setup.pod_fields(BERTH_POD_IDENTITY);
    const Json args = setup.args();
    const Json& percentage = args["minCandidateNodesPercentage"];
    const Json& absolute = args["minCandidateNodesAbsolute"];
    sampled_ = !percentage.is_null() || !absolute.is_null();
    if (!percentage.is_null()) percentage_ = percentage.integer("minCandidateNodesPercentage");
    if (!absolute.is_null()) absolute_ = absolute.integer("minCandidateNodesAbsolute");
  }

  Verdict pre_enqueue(const QueuedPod& queued) const {
    if (!preemption_.evicting(queued.pod().uid())) return Verdict::ok();
    return Verdict::unresolvable("waiting for the preemption for this pod to be finished");
  }

  Verdict post_filter(const Cycle& cycle, PostFilter& point) {
    const berth_preemptor_v1 preemptor = preemption_.preemptor(cycle);
    if (preemptor.never != 0) return Verdict::unschedulable("preemption: not eligible due to preemptionPolicy=Never.");
    if (waits_for_earlier_victims(cycle, point, preemptor))
      return Verdict::unschedulable("preemption: not eligible due to a terminating pod on the nominated node.");

    berth_preemption_request_v1 request{};
    request.nodes = point.unschedulable().data();
    request.word_count = point.unschedulable().size();
    request.below_priority = preemptor.priority;
    request.prefix = borrow("preemption: ");
    request.no_victims = borrow("No preemption victims found for incoming pod");
    request.not_searched = borrow("Preemption is not helpful for scheduling");
    if (sampled_) take_sample(point.unschedulable(), request);
    const Preemption::Found found = preemption_.search<DefaultVictimOrder>(cycle, request);
    if (!found.verdict.is_ok()) {
      if (found.verdict.code() == BERTH_UNSCHEDULABLE) {
        // Where others rejected every candidate, the pod keeps its nomination.
        if (found.result.candidates == 0) point.clear_nomination();
        return found.verdict;
      }
      return Verdict::error("preemption: " + found.verdict.text());
    }
    point.nominate(found.result.node);
    preemption_.victims(cycle, [&](std::string_view uid) { point.add_victim(uid); });
    return Verdict::ok();
  }

  bool hint(const Event&, Pod) const { return false; }

 private:
  /// An earlier attempt made room on a node, and the room is not free yet.
  bool waits_for_earlier_victims(const Cycle& cycle, const PostFilter& point,
                                 const berth_preemptor_v1& preemptor) const {
    if (preemptor.nominated_given == 0 || preemptor.nominated == BERTH_NO_SLOT) return false;
    const auto unresolvable = point.unresolvable();
    const std::size_t word = preemptor.nominated / 64;
    if (word < unresolvable.size() && (unresolvable[word] >> (preemptor.nominated % 64) & 1) != 0) return false;
    bool waits = false;
    preemption_.pods_on(cycle, preemptor.nominated, [&](const Victim& pod) {
      constexpr std::uint32_t k_leaving = BERTH_VICTIM_TERMINATING | BERTH_VICTIM_PREEMPTED;
      waits = pod.priority < preemptor.priority && (pod.flags & k_leaving) == k_leaving;
      return !waits;
    });
    return waits;
  }

  /// As many nodes as upstream would look at, from a start that differs from search to search.
  void take_sample(std::span<const std::uint64_t> nodes, berth_preemption_request_v1& request) {
    std::int64_t potential = 0;
    for (const std::uint64_t word : nodes) potential += std::popcount(word);
    const std::int64_t wanted = std::min(potential, std::max(potential * percentage_ / 100, absolute_));
    request.sample_size = static_cast<std::uint32_t>(std::max<std::int64_t>(wanted, 1));
    // A multiplicative generator with a fixed seed: a run can be repeated.
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    request.sample_offset =
        potential == 0 ? 0 : static_cast<std::uint32_t>((random_ >> 33) % static_cast<std::uint64_t>(potential));
  }

  Preemption preemption_;
  bool sampled_ = false;
  std::int64_t percentage_ = 10;
  std::int64_t absolute_ = 100;
  std::uint64_t random_ = 1;
};

}  // namespace
}  // namespace berth::default_preemption

BERTH_PLUGIN(berth::default_preemption::DefaultPreemption)
