// SPDX-License-Identifier: Apache-2.0
#include "scheduler/decision_recording.hpp"

#include <algorithm>
#include <utility>

namespace berth::scheduler {

using recording::Kind;
using recording::Record;

void DecisionRecording::add(Kind kind, std::string text) const noexcept {
  recorder_.add(recording::record_with(kind, &Record::text, std::move(text)));
}

void DecisionRecording::node_put(const model::NodePtr& node) noexcept {
  recorder_.add(recording::record_with(Kind::node, &Record::node, node));
}

void DecisionRecording::node_removed(const model::NodePtr& node) noexcept {
  recorder_.hold(node);
  add(Kind::node_gone, node->name);
}

void DecisionRecording::pod_put(const model::PodPtr& pod) noexcept {
  recorder_.add(recording::record_with(Kind::placed_pod, &Record::pod, pod));
}

void DecisionRecording::pod_removed(const model::Pod& pod) noexcept { add(Kind::placed_pod_gone, pod.uid); }
void DecisionRecording::pod_given_back(const model::Pod& pod) noexcept { add(Kind::given_back, pod.uid); }
void DecisionRecording::snapshot_taken() noexcept { recorder_.note_look(); }

class DecisionRecording::WatchedNominations final : public queue::Nominations {
 public:
  WatchedNominations(DecisionRecording& recording, queue::Nominations& nominations)
      : recording_(recording), nominations_(nominations) {}
  bool has_nominations() const override {
    const bool is_any = nominations_.has_nominations();
    if (!is_any && !recording_.last_nominated_.empty()) recording_.saw({});
    return is_any;
  }
  std::vector<model::NominatedPod> nominations() const override {
    std::vector<model::NominatedPod> nominated = nominations_.nominations();
    recording_.saw(nominated);
    return nominated;
  }
  void remove_nomination(const model::Pod& pod) override { nominations_.remove_nomination(pod); }

 private:
  DecisionRecording& recording_;
  queue::Nominations& nominations_;
};

std::unique_ptr<queue::Nominations> DecisionRecording::watched(queue::Nominations& nominations) {
  return std::make_unique<WatchedNominations>(*this, nominations);
}

void DecisionRecording::saw(const std::vector<model::NominatedPod>& nominated) {
  const auto same = [](const model::NominatedPod& a, const model::NominatedPod& b) {
    return a.node == b.node && (a.pod == b.pod || (a.pod->uid == b.pod->uid && a.pod->priority == b.pod->priority));
  };
  if (std::equal(nominated.begin(), nominated.end(), last_nominated_.begin(), last_nominated_.end(), same)) return;
  last_nominated_ = nominated;
  auto list = std::make_shared<std::vector<recording::Nominated>>();
  for (const model::NominatedPod& each : nominated) {
    const cache::Slot slot = each.node == k_no_symbol ? cache::k_no_slot : snapshot_.find(each.node);
    if (slot == cache::k_no_slot) continue;  // a decision does not see it either
    list->push_back({each.pod->uid, snapshot_.row(slot).node->name, each.pod->requests->resources.empty()});
  }
  Record record;
  record.kind = Kind::nominations;
  record.nominations = std::move(list);
  recorder_.add(std::move(record));
}

void DecisionRecording::attempt(const queue::Ticket& ticket, model::PodPtr pod, const cycle::Outcome& outcome,
                                recording::Attempt&& attempt, const framework::Framework& framework,
                                std::optional<std::int64_t> began_ns) {
  attempt.number = ticket.attempts();
  if (const auto* placement = std::get_if<cycle::Placement>(&outcome)) {
    attempt.evaluated = placement->evaluated_nodes;
    attempt.feasible = placement->feasible_nodes;
    attempt.total = placement->total;
    return recorder_.add_attempt(std::move(pod), placement->assumption.node_name(), nullptr, attempt, began_ns);
  }
  const auto& rejection = std::get<cycle::Rejection>(outcome);
  auto rejected = std::make_shared<recording::Rejected>();
  rejected->code = static_cast<std::uint8_t>(rejection.code);
  rejected->message = rejection.full_message();
  for (const model::PluginSet* set : {&rejection.rejectors.unschedulable, &rejection.rejectors.pending})
    set->for_each([&](model::PluginIndex plugin) { rejected->rejectors.emplace_back(framework.names().name(plugin)); });
  rejected->nominates = rejection.nomination.mode == model::Nomination::Mode::set;
  if (rejected->nominates && rejection.nomination.node != k_no_symbol)
    if (const cache::Slot slot = snapshot_.find(rejection.nomination.node); slot != cache::k_no_slot)
      rejected->nominated = snapshot_.row(slot).node->name;
  rejected->victims = rejection.victims;
  recorder_.add_attempt(std::move(pod), k_no_symbol, std::move(rejected), attempt, began_ns);
}

void DecisionRecording::add_state(recording::WholeCluster others) const {
  cache_.visit([&](std::vector<model::NodePtr> nodes, std::vector<cache::CachedPod> pods) {
    for (cache::CachedPod& pod : pods) {
      if (!pod.assumed) {
        others.placed.push_back(std::move(pod.pod));
        continue;
      }
      // They are few: as many as bindings are on their way.
      const auto node =
          std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each->name_symbol == pod.node; });
      if (node != nodes.end()) others.assumed.emplace_back(std::move(pod.pod), (*node)->name);
    }
    others.nodes = std::move(nodes);
    recorder_.add_state(std::move(others));
  });
}

std::vector<recording::PluginTime> plugin_times_of(const observe::CallCounters& counters) {
  std::vector<recording::PluginTime> times;
  for (observe::CallTotal& total : counters.totals())
    times.push_back({std::move(total.plugin), std::move(total.point), total.calls,
                     static_cast<std::uint64_t>(std::max(total.seconds, 0.0) * 1e9)});
  return times;
}

}  // namespace berth::scheduler
