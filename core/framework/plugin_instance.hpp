// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "berth/ext/domains.h"
#include "berth/plugin.h"
#include "cache/snapshot.hpp"
#include "config/plugin_catalog.hpp"
#include "framework/bind_calls.hpp"
#include "framework/checking.hpp"
#include "framework/plugin_names.hpp"
#include "framework/ports.hpp"
#include "framework/reason_table.hpp"
#include "framework/services/debug_pages.hpp"
#include "framework/services/instance_ids.hpp"
#include "framework/services/instance_tasks.hpp"
#include "framework/services/object_store.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/shared_values.hpp"
#include "framework/view/pod_view.hpp"
#include "observe/breadcrumb.hpp"
#include "observe/call_counters.hpp"
#include "observe/metric_registry.hpp"

namespace berth::framework {

/// What instances share. Outlives them all.
struct Host {
  SymbolTable& symbols;
  cache::Snapshot& snapshot;
  cache::ResourceTable& resources;
  cache::SharedLists& lists;
  ObjectStore& objects;
  PluginNames& names;
  ReasonTable& reasons;
  observe::MetricRegistry& metrics;
  observe::CallCounters& counters;
  PluginPorts ports;
  std::function<model::PodPtr(cache::PodHandle)> pod_of;  // pods of the last refreshed snapshot
  std::string product;
  std::vector<HostService> more_services = {};     // those that are not the framework's own
  std::chrono::milliseconds create_limit{30'000};  // a create() that takes longer ends the process
  SharedValues shared_values = {};                 // of the instances of each plugin; gone after them
  BindCalls bind_calls = {};                       // those of all instances
  DebugPages debug_pages = {};
  std::vector<std::string> scheduler_names = {};  // of the profiles
  std::int64_t score_max = BERTH_SCORE_MAX;       // what plugins are told
  bool traps_unasked_fields = false;              // as FrameworkParts
  Withheld withheld = {};                         // likewise
  MisuseRecord misuse = {};                       // kept while fields are trapped

  /// Null: this host has no such service.
  const void* find_service(std::string_view id) const noexcept;
  /// What one of more_services works on; null: there is no such service.
  void* state_of(std::string_view id) const noexcept;
  /// The snapshot's node of that name, or k_no_slot.
  cache::Slot slot_of(std::string_view node_name) const {
    const Symbol symbol = symbols.find(node_name);
    return symbol == k_no_symbol ? cache::k_no_slot : snapshot.find(symbol);
  }
};

/// Where a plugin came from: descriptor and, when it came from a file, what its note allows.
struct PluginSource {
  const berth_plugin_v1* descriptor = nullptr;
  std::string file;                       // empty: linked in
  std::string build_id;                   // may be empty
  std::vector<std::string> rbac;          // "create core/pods/binding"
  std::vector<std::string> watches = {};  // "core/v1/services"
};

/// Whether a descriptor names that service.
bool declares(const berth_plugin_v1& descriptor, std::string_view service_id) noexcept;

/// One column an instance asked for: a column of the snapshot, or one bound to the pod of the call.
struct BoundColumn {
  enum class Kind : std::uint8_t { plain, pod_free, pod_allocatable };
  Kind kind = Kind::plain;
  cache::ColumnId id = 0;
};

/// One use of a plugin in one profile: its state, its tables, what it asked to see.
///
/// Made at start by create(), destroyed when the framework goes.
/// Threads: const after creation; calls follow the ABI's tags.
/// Failure: create() reports the plugin's own words. One that hangs ends the process with status 1 and BERTH-P052 on
///          standard error, since a thread that is stuck in foreign code cannot be taken back.
class PluginInstance {
 public:
  /// Calls the plugin's create() for the profile of that scheduler name. Requires: source.descriptor passed the
  /// loader's checks. [load]
  static Result<std::unique_ptr<PluginInstance>> create(PluginSource source, std::string_view args_json, Host& host,
                                                        std::size_t ordinal, std::string profile = {});
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  Host& host() const noexcept { return host_; }
  const std::string& name() const noexcept { return name_; }
  const std::string& version() const noexcept { return version_; }  // may be empty
  model::PluginIndex index() const noexcept { return index_; }
  /// The scheduler name of its profile.
  const std::string& profile() const noexcept { return profile_; }
  /// Position in its profile.
  std::size_t ordinal() const noexcept { return ordinal_; }
  void* self() const noexcept { return self_; }
  const berth_plugin_v1& descriptor() const noexcept { return *source_.descriptor; }
  const std::string& file() const noexcept { return source_.file; }  // empty: linked in
  const std::vector<std::string>& rbac() const noexcept { return source_.rbac; }
  const std::vector<std::string>& declared_watches() const noexcept { return source_.watches; }
  std::uint32_t filter_deps() const noexcept { return filter_deps_; }
  /// True when the verdict depends on nothing but the pod's class, the node's own row, and what epoch() tells.
  bool filter_is_reusable() const noexcept { return filter_reusable_.load(std::memory_order_relaxed); }
  /// The same of raw scores.
  bool score_is_reusable() const noexcept { return score_reusable_.load(std::memory_order_relaxed); }
  /// Its answers turned out to depend on more than it declares: they are not reused any more. Threads: any.
  void stop_reuse() noexcept {
    reuse_stopped_.store(true, std::memory_order_relaxed);
    filter_reusable_.store(false, std::memory_order_relaxed);
    score_reusable_.store(false, std::memory_order_relaxed);
  }
  bool reuse_stopped() const noexcept { return reuse_stopped_.load(std::memory_order_relaxed); }
  const std::vector<BoundColumn>& columns() const noexcept { return columns_; }
  bool pod_bound() const noexcept { return pod_bound_; }
  /// How long its filter may take in one attempt; 0: as long as it wants.
  std::int64_t filter_budget_ns() const noexcept { return filter_budget_ns_; }
  const PodFields& fields() const noexcept { return fields_; }
  /// The same with identity and placement, for hints and groups.
  const PodFields& hint_fields() const noexcept { return hint_fields_; }
  std::string_view reason_text(berth_reason reason) const noexcept;
  /// The points this plugin implements.
  config::PointSet points() const noexcept { return points_; }

  // Tables of the extension points; null where the plugin has none.
  const berth_queue_ops_v1* queue = nullptr;
  const berth_prepare_ops_v1* prepare = nullptr;
  const berth_filter_ops_v1* filter = nullptr;
  const berth_post_filter_ops_v1* post_filter = nullptr;
  const berth_score_ops_v1* score = nullptr;
  const berth_reserve_ops_v1* reserve = nullptr;
  const berth_permit_ops_v1* permit = nullptr;
  const berth_bind_ops_v1* bind = nullptr;
  const berth_requeue_ops_v1* requeue = nullptr;
  const berth_group_ops_v1* group = nullptr;
  const berth_domain_ops_v1* domains = nullptr;

  const observe::CrumbOwner& crumb() const noexcept { return crumb_; }
  observe::CallCounters::Id counter(observe::Point point) const noexcept {
    return counters_[static_cast<std::size_t>(point)];
  }
  /// Changes when its answers may be others: it has said so, or an object that it watches and depends on has changed.
  std::uint64_t epoch() const;
  void bump_epoch() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
  bool loading() const noexcept { return loading_; }
  /// What berth.executor/1 runs for it; outlives it.
  const std::shared_ptr<InstanceTasks>& tasks() const noexcept { return tasks_; }
  /// What it has interned since it was made.
  InstanceIds& ids() noexcept { return ids_; }
  /// True when its descriptor names that service.
  bool declares(std::string_view service_id) const noexcept { return framework::declares(descriptor(), service_id); }
  /// A watch that create() declared. [load]
  void add_watch(ObjectStore::WatchId watch) { watches_.push_back(watch); }
  /// In the order of declaration.
  const std::vector<ObjectStore::WatchId>& watches() const noexcept { return watches_; }
  /// The resource that an interest means: own watches by their number in the host.
  std::uint32_t resource_of(const berth_interest_v1& interest) const noexcept;

 private:
  friend struct BinderCalls;
  PluginInstance(PluginSource source, Host& host, std::size_t ordinal, std::string profile);
  void resolve_points();
  void settle_reuse() noexcept;

  PluginSource source_;
  Host& host_;
  const std::size_t ordinal_;
  std::string name_, version_;
  const std::string profile_;
  model::PluginIndex index_;
  void* self_ = nullptr;
  std::uint32_t filter_deps_ = 0, score_deps_ = 0;
  std::atomic<bool> filter_reusable_ = false, score_reusable_ = false, reuse_stopped_ = false;
  bool pod_bound_ = false;
  bool loading_ = true;
  std::int64_t filter_budget_ns_ = 0;
  config::PointSet points_ = 0;
  std::vector<BoundColumn> columns_;
  std::size_t columns_asked_ = 0;  // counted while some are withheld
  std::vector<ObjectStore::WatchId> watches_;
  PodFields fields_, hint_fields_;
  observe::CrumbOwner crumb_;
  std::array<observe::CallCounters::Id, 32> counters_{};
  std::atomic<std::uint64_t> epoch_{1};
  berth_host_v1 abi_host_{};
  const std::shared_ptr<InstanceTasks> tasks_ = std::make_shared<InstanceTasks>();
  InstanceIds ids_;
};

/// The points that a descriptor implements, before any instance exists.
config::PointSet points_of(const berth_plugin_v1& descriptor) noexcept;

}  // namespace berth::framework
