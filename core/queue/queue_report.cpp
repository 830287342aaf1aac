// SPDX-License-Identifier: Apache-2.0
#include "queue/queue_report.hpp"

#include "queue/queue_core.hpp"

namespace berth::queue {

std::vector<PendingPod> QueueReport::pending_pods() const {
  const std::vector<const Record*> records = core_.records_by_arrival([](const Record&) { return true; });
  std::vector<PendingPod> result;
  result.reserve(records.size());
  for (const Record* r : records) {
    PendingPod pod;
    pod.pod = r->pod;
    pod.place = r->place;
    pod.attempts = r->attempts;
    pod.unschedulable_count = r->unschedulable_count;
    pod.error_count = r->error_count;
    pod.pod_class = r->pod_class;
    pod.enqueued_ns = r->enqueued_ns;
    pod.first_attempt_ns = r->first_attempt_ns;
    pod.backoff_until_ns = r->backoff_until_ns;
    pod.unschedulable_plugins = r->unschedulable;
    pod.pending_plugins = r->pending;
    pod.gate = r->gate;
    pod.gate_message = r->gate_message;
    result.push_back(std::move(pod));
  }
  return result;
}

QueueSizes QueueReport::sizes() const {
  QueueSizes sizes;
  sizes.active = core_.active_.size() + core_.giving_way_.size();
  sizes.backoff = core_.backoff_.size() + core_.error_backoff_.size();
  for (const Record* record : core_.pool_.records()) ++(record->gated() ? sizes.gated : sizes.unschedulable);
  sizes.in_flight = core_.log_.pods();
  sizes.logged_events = core_.log_.events();
  sizes.logged_bytes = core_.log_.bytes();
  return sizes;
}

QueueCounts QueueReport::counts() const {
  QueueCounts counts;
  counts.incoming = core_.incoming_.all();
  for (std::size_t i = 0; i < core_.rejected_pods_.size(); ++i)
    if (core_.rejected_pods_[i] != 0)
      counts.rejectors.push_back({static_cast<std::uint16_t>(i / model::k_max_plugins),
                                  static_cast<model::PluginIndex>(i % model::k_max_plugins), core_.rejected_pods_[i]});
  counts.pops = core_.pops_;
  counts.long_attempts = core_.long_attempts_.count();
  return counts;
}

}  // namespace berth::queue
