// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/cluster_cache.hpp"
#include "queue/queue_view.hpp"
#include "report/decision.hpp"
#include "report/device_report.hpp"
#include "report/what_if/change_report.hpp"
#include "report/what_if/fill_report.hpp"

namespace berth::report {

/// What a running scheduler says of a pod that is its to place.
struct QueueWord {
  std::string ns, name;
  std::string place;  // "active", "backoff", "error backoff", "unschedulable", "in flight", "gated", "binding", "bound"
  std::int64_t attempts = 0;
  // RFC 3339; empty: not said.
  std::string since;                     // when it came to that place
  std::string next_try;                  // the end of its backoff
  std::string tried_again_by;            // at the latest, whatever happens
  std::vector<std::string> rejected_by;  // plugins
  std::vector<std::string> woken_by;     // events that make the scheduler retry it sooner
};

/// What became of a pod, as an operator sorts them. Checked in this order: finished, deleting, then the others.
enum class PodState : std::uint8_t {
  placed,    // by this run
  pending,   // tried without success, or not tried yet
  gated,     // held back before its first attempt
  foreign,   // of a scheduler that is none of the profiles
  deleting,  // has a deletionTimestamp
  finished,  // Succeeded or Failed
  running,   // had its node before
};
std::string_view state_name(PodState state) noexcept;

/// There may be many: what they have in common is in memory once.
struct PodLine {
  model::SharedText ns;
  std::string name;
  PodState state = PodState::pending;
  model::SharedText node;     // empty: none
  model::SharedText message;  // why it has none, in upstream's words with the post-filter's part; or what gates it
  model::SharedText nominated_node;  // empty: none
  model::SharedText scheduler_name;
  std::int32_t priority = 0;
  std::uint32_t attempts = 0;
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;  // of the last attempt, when it placed the pod
  model::SharedList<NodeScore> top_scores = {};           // best nodes, at most three; when explained
  model::SharedList<std::string> claims = {};  // names of its resource claims, the one for extended resources last
  std::int64_t created_ns = 0;                 // of a live cluster's pods that wait: wall clock
  std::shared_ptr<const QueueWord> word = {};  // where its scheduler was asked; null elsewhere: most pods have none

  std::string key() const { return ns.get() + "/" + name; }
};

enum class AmountUnit : std::uint8_t { milli_cores, bytes, count };
std::string_view unit_name(AmountUnit unit) noexcept;

struct ReportResource {
  std::string name;
  AmountUnit unit = AmountUnit::count;
};
struct Usage {
  std::int64_t requested = 0, allocatable = 0;
};
struct NodeLine {
  std::string name, zone;  // zone: empty when the node has none
  bool unschedulable = false;
  std::vector<Usage> usage;  // by SimulationReport::resources
};

/// A pod that had to go for another one.
struct EvictionLine {
  std::string pod;  // "namespace/name"
  std::string node;
  std::string preemptor;  // "namespace/name"
  std::int32_t priority = 0;
};

/// What a simulation came to: plain values, so that showing it needs nothing of the scheduler.
/// Shapes: pods in the order of the cluster; nodes in list order; every NodeLine::usage is as long as `resources`,
/// which begins with cpu, memory and pods, goes on with ephemeral-storage, and ends with all other resources of some
/// node by name.
/// The message of a pending pod without an attempt.
inline constexpr std::string_view k_not_tried = "not tried yet";

struct SimulationReport {
  std::vector<ReportResource> resources;
  std::vector<PodLine> pods;
  std::vector<NodeLine> nodes;
  std::vector<EvictionLine> evictions;   // in the order in which they were decided
  DeviceReport devices = {};             // empty where nothing schedules by devices
  std::vector<ChangeLine> changes = {};  // that were made to the cluster before
  std::optional<FillReport> fill = {};   // where pods were added until one fitted nowhere
  std::int64_t looked_at_ns = 0;         // wall clock: when a copy of a live cluster was looked at; 0: a simulation

  std::size_t count(PodState state) const noexcept;
  Usage total(std::size_t resource) const noexcept;
};

struct ReportSources {
  const SymbolTable& symbols;
  cache::ClusterCache& cache;
  cache::Snapshot& snapshot;               // of that cache; is brought up to date
  std::vector<model::PodPtr> pods;         // every pod of the cluster, as it is at the end
  std::span<const Decision> decisions;     // in order of attempts
  std::vector<queue::PendingPod> waiting;  // what the queue holds
  std::function<bool(std::string_view)> has_profile;
  bool decisions_bind = false;  // `pods` are as they were before: a decision for a node puts the pod there
  std::vector<model::ObjectPtr> slices = {}, claims = {};  // ResourceSlices and ResourceClaims, as they are at the end
};

SimulationReport make_report(const ReportSources& sources);

/// What a pod's own condition says about its lack of a node. Empty where there is none.
std::string scheduler_message(const model::Pod& pod);
/// Makes it the report of a live cluster: pods that wait say since when, and what their scheduler said last.
void describe_live(SimulationReport& report, std::span<const model::PodPtr> pods, std::span<const QueueWord> words,
                   std::int64_t looked_at_ns);

}  // namespace berth::report
