// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/symbols.hpp"
#include "binding/executor.hpp"
#include "binding/timers.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/pod_groups.hpp"
#include "cluster/cluster_writer.hpp"
#include "framework/ports.hpp"

/// The framework's ports, opened onto the rest of the host.
namespace berth::scheduler {

/// Plugin writes through the cluster's writer. Threads: any.
class PluginWrites final : public framework::WritesPort {
 public:
  explicit PluginWrites(cluster::ClusterWriter& writer) : writer_(writer) {}
  void bind(const PodRef& pod, std::string node_name, framework::WriteDone done) override;
  Status patch_status(const PodRef& pod, std::string merge_patch_json, framework::WriteDone done) override;
  Status patch_metadata(const PodRef& pod, std::string merge_patch_json, framework::WriteDone done) override;
  void evict(const PodRef& pod, std::string message, std::string profile, framework::WriteDone done) override;
  Status patch_object(std::string resource, std::string ns, std::string name, std::string merge_patch_json,
                      framework::WriteDone done) override;
  void write_object(const cluster::ObjectWrite& write, cluster::ClusterWriter::ObjectDone done) override {
    writer_.write_object(write, std::move(done));
  }

 private:
  cluster::ClusterWriter& writer_;
};

/// Plugin events about pods; events about other objects are dropped with a line in the log. Threads: any.
class PluginEvents final : public framework::EventSink {
 public:
  explicit PluginEvents(cluster::ClusterWriter& writer) : writer_(writer) {}
  void record(const framework::PluginEvent& event) override;

 private:
  cluster::ClusterWriter& writer_;
};

/// Plugin tasks on the host's executor and timers. Threads: any.
class PluginTasks final : public framework::TasksPort {
 public:
  PluginTasks(binding::Executor& executor, binding::Timers& timers) : executor_(executor), timers_(timers) {}
  void submit(std::function<void()> task) override { executor_.post(std::move(task)); }
  void every(std::int64_t period_ms, std::function<bool()> is_wanted, std::function<void()> task) override;
  void after(std::int64_t delay_ms, std::function<void()> task) override;
  void parallel_for(std::uint32_t count, const std::function<void(std::uint32_t)>& body) override {
    for (std::uint32_t i = 0; i < count; ++i) body(i);  // one scheduling thread: nothing to share yet
  }

 private:
  binding::Executor& executor_;
  binding::Timers& timers_;
};

/// Members of groups with what the cache believes about them. Threads: any. All parts outlive it.
class GroupMembers final : public framework::GroupsPort {
 public:
  using Responsible = std::function<bool(std::string_view scheduler_name)>;
  GroupMembers(const cache::PodGroups& groups, const cache::ClusterCache& cache, Responsible responsible)
      : groups_(groups), cache_(cache), responsible_(std::move(responsible)) {}
  std::vector<Member> members(std::string_view ns, std::string_view group) override;
  std::string_view planned() const override { return planned_; }

  /// While it lives, the members of that group are being planned.
  class Planning {
   public:
    Planning(GroupMembers& members, std::string key) : members_(members) { members_.planned_ = std::move(key); }
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;
    ~Planning() { members_.planned_.clear(); }

   private:
    GroupMembers& members_;
  };

 private:
  std::string planned_;  // of the scheduling thread
  const cache::PodGroups& groups_;
  const cache::ClusterCache& cache_;
  const Responsible responsible_;
};

}  // namespace berth::scheduler
