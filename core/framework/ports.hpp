// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cluster/cluster_writer.hpp"
#include "model/nomination.hpp"
#include "model/plugin_set.hpp"
#include "model/pod.hpp"

/// What plugins may reach through services but the framework does not own. The wiring passes implementations in, so
/// that the framework knows neither queue, binding nor the API client; of the cluster it knows the values that are
/// written.
namespace berth::framework {

/// Pods parked by permit plugins. Threads: any.
class WaitingPodsPort {
 public:
  virtual ~WaitingPodsPort() = default;
  virtual bool allow(std::string_view uid, model::PluginIndex plugin) = 0;
  virtual bool reject(std::string_view uid, model::PluginIndex plugin, std::string_view message) = 0;
  /// visit answers whether to go on.
  virtual void each(const std::function<bool(const model::Pod& pod, Symbol node_name)>& visit) = 0;
};

/// Requests to retry pods, taken up by the scheduling loop after the current call. Threads: any.
class ActivationPort {
 public:
  virtual ~ActivationPort() = default;
  virtual void activate(std::string_view uid) = 0;
  virtual void activate_class(std::uint64_t pod_class) = 0;
};

using WriteDone = cluster::ClusterWriter::Done;
/// Writes on behalf of a plugin. done is called exactly once; what fails has one of cluster::reasons. Where a Status is
/// answered, an Error says what is wrong with the patch itself: nothing is written, and done is not called. Threads: any.
class WritesPort {
 public:
  using PodRef = cluster::PodRef;
  virtual ~WritesPort() = default;
  virtual void bind(const PodRef& pod, std::string node_name, WriteDone done) = 0;
  virtual Status patch_status(const PodRef& pod, std::string merge_patch_json, WriteDone done) = 0;
  virtual Status patch_metadata(const PodRef& pod, std::string merge_patch_json, WriteDone done) = 0;
  /// profile: the scheduler name in the event.
  virtual void evict(const PodRef& pod, std::string message, std::string profile, WriteDone done) = 0;
  /// resource: "core/v1/persistentvolumes"; ns is empty for cluster-wide objects.
  virtual Status patch_object(std::string resource, std::string ns, std::string name, std::string merge_patch_json,
                              WriteDone done) = 0;
  virtual void write_object(const cluster::ObjectWrite& write, cluster::ClusterWriter::ObjectDone done) {
    done(Error{"objects cannot be written here: " + write.object.resource, ErrorCode::invalid});
  }
};

struct PluginEvent {
  bool warning = false;
  std::string kind, ns, name, uid, reason, action, note;
  std::string profile;  // scheduler name, of the plugin
};
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void record(const PluginEvent& event) = 0;
};

/// Where plugin tasks run. Threads: any.
class TasksPort {
 public:
  virtual ~TasksPort() = default;
  virtual void submit(std::function<void()> task) = 0;
  /// Again and again, first after one period, as long as is_wanted() answers so when its time comes.
  virtual void every(std::int64_t period_ms, std::function<bool()> is_wanted, std::function<void()> task) = 0;
  virtual void after(std::int64_t delay_ms, std::function<void()> task) = 0;
  virtual void parallel_for(std::uint32_t count, const std::function<void(std::uint32_t)>& body) = 0;
};

/// What the host carries out for preemption policies. Threads: any.
class EvictionsPort {
 public:
  virtual ~EvictionsPort() = default;
  /// Evictions that an attempt of this pod asked for are under way.
  virtual bool evicting(std::string_view uid) = 0;
};

/// The pods of a group, as far as the host knows them. Threads: any.
class GroupsPort {
 public:
  struct Member {
    model::PodPtr pod;
    Symbol node = k_no_symbol;  // where it is, or is reserved
    bool responsible = false;   // a profile of this host schedules it
  };
  virtual ~GroupsPort() = default;
  virtual std::vector<Member> members(std::string_view ns, std::string_view group) = 0;
  /// The group whose members are being planned, as its key; empty: none.
  virtual std::string_view planned() const = 0;
};

/// Which pods are nominated to which nodes. Threads: any.
class NominationsPort {
 public:
  virtual ~NominationsPort() = default;
  /// Those of one node in order of nomination.
  virtual std::vector<model::NominatedPod> nominated() const = 0;
};

struct PluginPorts {
  const Clock& clock;
  WaitingPodsPort& waiting;
  ActivationPort& activation;
  WritesPort& writes;
  EventSink& events;
  TasksPort& tasks;
  EvictionsPort* preemption = nullptr;           // null: no pod is ever evicted
  GroupsPort* groups = nullptr;                  // null: there are no groups
  const NominationsPort* nominations = nullptr;  // null: no pod is ever nominated
};

}  // namespace berth::framework
