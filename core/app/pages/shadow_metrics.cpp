// SPDX-License-Identifier: Apache-2.0
#include "app/pages/shadow_metrics.hpp"

#include <utility>
#include <vector>

namespace berth::app {

void add_shadow(observe::MetricPage& page, const ShadowReport& shadow) {
  using observe::MetricKind;
  const auto number = [](auto value) { return static_cast<double>(value); };
  const auto count = [&](const char* name, const char* help, double value) {
    page.add_one(MetricKind::counter, name, help, value);
  };
  std::vector<observe::MetricSample> decisions;
  for (std::size_t i = 0; i < k_shadow_results; ++i)
    decisions.push_back({{{"result", std::string(name_of(static_cast<ShadowResult>(i)))}}, number(shadow.results[i])});
  page.add(
      MetricKind::counter, "berth_shadow_decisions_total",
      "Decisions of the scheduler in charge, by how they compare with those made here: the same node, a tie, a race, "
      "a sample, a node that a policy rejects here, or a node of a lower score without an explanation.",
      std::move(decisions));
  page.add_one(
      MetricKind::gauge, "berth_shadow_waiting_differences",
      "Differences whose cause is not known yet: they are judged with changes of pods and nodes from five seconds on.",
      number(shadow.waiting));
  page.add_one(
      MetricKind::gauge, "berth_shadow_queued_pods",
      "Pods without a node whose places in the queue are remembered: with those before it a binding is judged again.",
      number(shadow.queued));
  count("berth_shadow_queued_pods_left_out_total",
        "Pods that came while as many places as there may be were remembered: a difference that they cause may stay "
        "unexplained.",
        number(shadow.queued_left_out));
  count("berth_shadow_failed_comparisons_total",
        "Comparisons that ended with an exception, which the log names: nothing is said about their pods.",
        number(shadow.failed));
  count("berth_shadow_pods_not_seen_before_total",
        "Pods that had a node when they were seen first, so that nothing is said about them.",
        number(shadow.not_seen_before));
  count("berth_shadow_pods_without_node_total",
        "Pods that the scheduler in charge bound, and that would have no node here.", number(shadow.without_node));
  count("berth_shadow_score_lost_total",
        "By how much the best nodes here are better than those that were taken, in weighted points.",
        number(shadow.score_lost));
  count("berth_shadow_decision_seconds_total", "What decisions took here.", number(shadow.decision_ns) * 1e-9);
}

}  // namespace berth::app
