// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_ports.hpp"

#include <atomic>
#include <memory>

#include "binding/failure_handler.hpp"
#include "observe/log.hpp"
#include "text/parse.hpp"

namespace berth::scheduler {
namespace {

/// Reads one of labels or annotations of a metadata patch. An Error for anything that is not text or null.
Status read_entries(const text::Value& map, std::vector<cluster::PodMetadataPatch::Entry>& out) {
  if (!map.is_mapping()) return Error{"labels and annotations must be objects", ErrorCode::invalid};
  for (const text::Member& member : map.members()) {
    if (!member.value.is_string() && !member.value.is_null())
      return Error{fmt::format("{} must be a string or null", member.key), ErrorCode::invalid};
    out.push_back({std::string(member.key),
                   member.value.is_null() ? std::nullopt : std::optional<std::string>(member.value.text())});
  }
  return Unit{};
}

Result<cluster::PodMetadataPatch> metadata_patch(const std::string& json) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "patch", diagnostics);
  if (documents.empty() || !diagnostics.empty())
    return Error{"the patch is not JSON: " + diagnostics.render(), ErrorCode::invalid};
  const text::Value* metadata = documents.front().root().find("metadata");
  if (metadata == nullptr || !metadata->is_mapping() || documents.front().root().members().size() != 1)
    return Error{"the patch may hold metadata only", ErrorCode::invalid};
  cluster::PodMetadataPatch patch;
  for (const text::Member& member : metadata->members()) {
    if (member.key != "labels" && member.key != "annotations")
      return Error{fmt::format("metadata.{} cannot be patched", member.key), ErrorCode::invalid};
    const Status read = read_entries(member.value, member.key == "labels" ? patch.labels : patch.annotations);
    if (!read.ok()) return read.error();
  }
  return patch;
}

Status check_merge_patch(const std::string& json) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "patch", diagnostics);
  if (documents.empty() || !diagnostics.empty())
    return Error{"the patch is not JSON: " + diagnostics.render(), ErrorCode::invalid};
  if (!documents.front().root().is_mapping()) return Error{"the patch is no object", ErrorCode::invalid};
  return Unit{};
}

}  // namespace

void PluginWrites::bind(const PodRef& pod, std::string node_name, framework::WriteDone done) {
  writer_.bind(pod, node_name, std::move(done));
}

Status PluginWrites::patch_status(const PodRef& pod, std::string merge_patch_json, framework::WriteDone done) {
  if (Status checked = check_merge_patch(merge_patch_json); !checked.ok()) return checked;
  cluster::PodStatusPatch patch;
  patch.merge_json = std::move(merge_patch_json);
  patch.urgent = true;
  writer_.patch_pod_status(pod, patch, std::move(done));
  return Unit{};
}

Status PluginWrites::patch_metadata(const PodRef& pod, std::string merge_patch_json, framework::WriteDone done) {
  auto patch = metadata_patch(merge_patch_json);
  if (!patch) return patch.error();
  writer_.patch_pod_metadata(pod, *patch, std::move(done));
  return Unit{};
}

void PluginWrites::evict(const PodRef& pod, std::string message, std::string profile, framework::WriteDone done) {
  const cluster::EventRecord event{false,   pod,         "Preempted", "Preempting", binding::event_note(message),
                                   profile, std::nullopt};
  // The reason stands on the pod before it goes, so that its owner can tell an eviction from a crash.
  cluster::PodStatusPatch condition;
  condition.conditions.push_back({"DisruptionTarget", "True", "PreemptionByScheduler", std::move(message)});
  condition.urgent = true;
  writer_.patch_pod_status(pod, condition, [this, pod, event, done = std::move(done)](Status patched) {
    // Gone is what was wanted.
    if (cluster::is_gone(patched)) return done(Unit{});
    if (!patched.ok()) return done(std::move(patched));
    writer_.evict(pod, [this, event, done](Status removed) {
      if (cluster::is_gone(removed)) return done(Unit{});
      if (removed.ok()) writer_.record_event(event, [](const Status&) {});
      done(std::move(removed));
    });
  });
}

Status PluginWrites::patch_object(std::string resource, std::string ns, std::string name, std::string merge_patch_json,
                                  framework::WriteDone done) {
  if (Status checked = check_merge_patch(merge_patch_json); !checked.ok()) return checked;
  writer_.patch_object({std::move(resource), std::move(ns), std::move(name)}, merge_patch_json, std::move(done));
  return Unit{};
}

void PluginEvents::record(const framework::PluginEvent& event) {
  if (event.kind != "Pod") {
    observe::info("Event of a plugin", {{"kind", event.kind},
                                        {"object", observe::ObjectName{event.ns, event.name}},
                                        {"reason", event.reason},
                                        {"note", event.note}});
    return;
  }
  writer_.record_event({event.warning,
                        {event.ns, event.name, event.uid},
                        event.reason,
                        event.action,
                        binding::event_note(event.note),
                        event.profile,
                        std::nullopt},
                       [](Status) {});
}

namespace {

/// A task with a period, and whether its last turn has not ended.
struct Periodic {
  std::int64_t period_ms = 0;
  std::function<bool()> is_wanted;
  std::function<void()> task;
  std::atomic<bool> is_under_way{false};
};

/// Ends also where the task throws.
struct Turn {
  Periodic& periodic;
  ~Turn() { periodic.is_under_way = false; }
};

void repeat(binding::Executor& executor, binding::Timers& timers, const std::shared_ptr<Periodic>& periodic) {
  timers.start(periodic->period_ms * 1'000'000, [&executor, &timers, periodic] {
    if (!periodic->is_wanted()) return;
    // A turn that takes longer than its period, or waits for a thread, is the only one: those that it covers are left out.
    if (!periodic->is_under_way.exchange(true))
      executor.post([periodic] {
        const Turn turn{*periodic};
        periodic->task();
      });
    repeat(executor, timers, periodic);
  });
}

}  // namespace

void PluginTasks::every(std::int64_t period_ms, std::function<bool()> is_wanted, std::function<void()> task) {
  const auto periodic = std::make_shared<Periodic>();
  periodic->period_ms = period_ms;
  periodic->is_wanted = std::move(is_wanted);
  periodic->task = std::move(task);
  repeat(executor_, timers_, periodic);
}

void PluginTasks::after(std::int64_t delay_ms, std::function<void()> task) {
  timers_.start(delay_ms * 1'000'000, [this, task = std::move(task)] { executor_.post(task); });
}

std::vector<framework::GroupsPort::Member> GroupMembers::members(std::string_view ns, std::string_view group) {
  std::vector<Member> found;
  for (model::PodPtr& pod : groups_.members(ns, group)) {
    Member member;
    member.node = pod->node_name;
    member.responsible = responsible_(pod->scheduler_name);
    if (member.node == k_no_symbol)
      if (const auto cached = cache_.find_pod(pod->uid)) member.node = cached->node;
    member.pod = std::move(pod);
    found.push_back(std::move(member));
  }
  return found;
}

}  // namespace berth::scheduler
