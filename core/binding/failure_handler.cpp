// SPDX-License-Identifier: Apache-2.0
#include "binding/failure_handler.hpp"

#include <algorithm>

#include "cluster/cluster_writer.hpp"
#include "observe/log.hpp"

namespace berth::binding {

namespace {
constexpr std::size_t k_note_bytes_max = 1024;
constexpr std::string_view k_cut = " ...";
constexpr std::string_view k_condition = "PodScheduled";
}  // namespace

std::string one_node_message(const framework::Verdict& verdict) {
  std::vector<std::string> entries;
  for (const std::string& reason : verdict.reasons) {
    const auto same = std::count(verdict.reasons.begin(), verdict.reasons.end(), reason);
    std::string entry = std::to_string(same) + " " + reason;
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end());
  std::string text = "0/1 nodes are available:";
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? " " : ", ") + entries[i];
  return entries.empty() ? text : text + ".";
}

std::string event_note(std::string_view message) {
  if (message.size() <= k_note_bytes_max) return std::string(message);
  return std::string(message.substr(0, k_note_bytes_max - k_cut.size())).append(k_cut);
}

FailureHandler::FailureHandler(queue::SchedulingQueue& queue, queue::PodLookup lookup, cluster::ClusterWriter& writer,
                               const SymbolTable& symbols, AttemptObserver& attempts, ExplainedEvents* explained)
    : queue_(queue),
      lookup_(std::move(lookup)),
      writer_(writer),
      symbols_(symbols),
      attempts_(attempts),
      explained_(explained) {}

void FailureHandler::handle(queue::Ticket ticket, const Failure& failure, std::string_view profile) {
  if (silent_) return queue_.done(std::move(ticket));
  model::PodPtr pod = ticket.pod();
  const std::int64_t now_ns = queue_.now_ns(), waited_ns = now_ns - ticket.first_attempt_ns();
  attempts_.attempt_ended({profile,
                           framework::rejects(failure.code) ? AttemptResult::unschedulable : AttemptResult::error,
                           ticket.attempts(), waited_ns, now_ns - failure.began_ns});
  log(*pod, failure);
  // 1. Back into the queue, unless the cluster says that there is nothing left to schedule.
  const model::PodPtr known = lookup_(*pod);
  if (known != nullptr && known->uid != pod->uid) {
    queue_.done(std::move(ticket));
    return;
  }
  const bool waits = known != nullptr && known->node_name == k_no_symbol;
  if (!waits) {
    queue_.done(std::move(ticket));
  } else {
    pod = known;
    const Status queued = queue_.requeue(std::move(ticket), failure.rejectors, known);
    if (!queued.ok())
      observe::error("Failed to return a pod to the queue", {{"err", queued.error().message}, {"pod", *pod}});
  }
  // 2. From here on the pod may be popped again: what follows only tells.
  const Symbol nominated = queue_.nominate(pod, failure.nomination);
  if (failure.code == framework::Code::skip) return;
  const auto& told = pod->conditions;
  if (!failure.says_once || std::find(told.begin(), told.end(), condition_of(failure)) == told.end()) {
    std::string note = event_note(failure.message);
    if (explained_ != nullptr && waits && framework::rejects(failure.code))
      emit(*pod, explained_->note(pod, std::move(note), waited_ns), profile);
    else
      emit(*pod, {std::move(note)}, profile);
  }
  patch(pod, failure, nominated);
}

model::PodCondition FailureHandler::condition_of(const Failure& failure) {
  return {std::string(k_condition), "False", framework::rejects(failure.code) ? "Unschedulable" : "SchedulerError",
          failure.message};
}

void FailureHandler::log(const model::Pod& pod, const Failure& failure) {
  if (failure.has_no_nodes)
    observe::V(2).info("Unable to schedule pod; no nodes are registered to the cluster; waiting", {{"pod", pod}});
  else if (framework::rejects(failure.code))
    observe::V(2).info("Unable to schedule pod; no fit; waiting", {{"pod", pod}, {"err", failure.message}});
  else
    observe::error("Error scheduling pod; retrying", {{"err", failure.message}, {"pod", pod}});
}

void FailureHandler::skip_deleting(queue::Ticket ticket, std::string_view profile) {
  const model::PodPtr pod = ticket.pod();
  observe::V(3).info("Skip schedule deleting pod", {{"pod", *pod}});
  queue_.done(std::move(ticket));
  emit(*pod, {event_note(fmt::format("skip schedule deleting pod: {}/{}", pod->ns, pod->name))}, profile);
}

void FailureHandler::emit(const model::Pod& pod, ExplainedEvents::Note note, std::string_view profile) {
  cluster::EventRecord event;
  event.warning = true;
  event.regarding = cluster::PodRef::of(pod);
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = std::move(note.text);
  event.is_explained = note.is_explained;
  event.controller = profile;
  writer_.record_event(event, [](const Status&) {});
}

void FailureHandler::patch(const model::PodPtr& pod, const Failure& failure, Symbol nominated) {
  cluster::PodStatusPatch patch;
  model::PodCondition condition = condition_of(failure);
  // What is on its way comes after what the cluster shows, and may say something else.
  const cluster::PodRef ref = cluster::PodRef::of(*pod);
  if (writer_.is_patching_status(ref) ||
      std::find(pod->conditions.begin(), pod->conditions.end(), condition) == pod->conditions.end()) {
    patch.conditions.push_back(std::move(condition));
    patch.observed_generation = pod->spec->generation;
  }
  // So with nominations: one that comes later than this would hold room for a pod that has lost it.
  const auto& [mode, node] = failure.nomination;
  if (mode == model::Nomination::Mode::set && (node != pod->nominated_node || node != nominated || failure.announced))
    patch.nominated_node = std::string(symbols_.text(node));
  // Victims go meanwhile, and the next attempt is to know for whom.
  patch.urgent = patch.nominated_node.has_value();
  if (patch.conditions.empty() && !patch.nominated_node) return;
  if (!patch.conditions.empty()) {
    const model::PodCondition& told = patch.conditions.front();
    observe::V(3).info("Updating pod condition and nominated node name", {{"pod", *pod},
                                                                          {"conditionType", told.type},
                                                                          {"conditionStatus", told.status},
                                                                          {"conditionReason", told.reason}});
  }
  writer_.patch_pod_status(ref, patch, [pod](const Status& status) {
    if (!status.ok() && !cluster::is_stopped(status))
      observe::error("Error updating pod", {{"err", status.error().message}, {"pod", *pod}});
  });
}

}  // namespace berth::binding
