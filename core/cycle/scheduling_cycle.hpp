// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/cluster_cache.hpp"
#include "config/profile.hpp"
#include "cycle/diagnosis.hpp"
#include "cycle/explainer.hpp"
#include "cycle/extender_pass.hpp"
#include "cycle/filter_pass.hpp"
#include "cycle/node_choice.hpp"
#include "cycle/placement.hpp"
#include "cycle/reuse/class_entry.hpp"
#include "cycle/reuse/reuse_check.hpp"
#include "cycle/score_pass.hpp"
#include "framework/framework.hpp"
#include "framework/points/post_filter.hpp"
#include "framework/points/pre_filter.hpp"
#include "preemption/preemption.hpp"
#include "queue/nomination.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::cycle {

/// A pod without one, and why.
struct Rejection {
  framework::Code code = framework::Code::unschedulable;  // error: something broke
  std::string message;                                    // without the post-filter's part
  std::string post_filter_message;
  queue::Rejectors rejectors;
  model::Nomination nomination = model::Nomination::clear();
  std::vector<std::string> victims;                        // uids post-filter wants evicted
  std::string evictor;                                     // plugin that wants it
  bool has_no_nodes = false;                               // the cluster has none
  std::optional<preemption::PreemptionReport> preemption;  // who would go, and why these

  std::string full_message() const {
    return post_filter_message.empty() ? message : message + " " + post_filter_message;
  }
  /// No pod is evicted for this one. A node that is nominated for it stays so unless evictions help nowhere.
  void drop_evictions();
};

using Outcome = std::variant<Placement, Rejection>;

/// One attempt for a pod, before permit: a node or a rejection. Both: no node had room, and the pod is on the one where
/// the evictions that the rejection names would make some.
struct Attempt {
  std::optional<Placement> placement = {};
  std::optional<Rejection> rejection = {};
};

/// How pods that get nodes together are tried, one after the other.
struct GangAttempt {
  std::function<bool(const model::Pod& pod)> member;  // nominations of members do not count
  bool post_filter = false;                           // ask what to do about a pod that fits nowhere
  /// Where evictions make room, the pod is reserved there. Else it is rejected, with what post-filter would do about it.
  bool takes_room = false;
  /// Where one of these would have to go, no pod is evicted. Absent: there is no such pod.
  framework::EvictionExemption exemption = {};
};

struct CycleOptions {
  std::optional<std::int32_t> percentage_of_nodes_to_score;  // of the configuration; absent: every node
  config::VerdictReuse reuse = config::VerdictReuse::on;
  std::uint32_t checked_one_in = 1000;  // reused verdicts held against fresh ones; 0: never. With verify: all of them
  ClassCacheBudget verdicts = {};
  // As kube-scheduler v1.16.
  std::optional<std::uint64_t> tie_seed;  // ties are decided at random; verdicts are not reused
  std::int64_t score_max = 100;           // the most that a plugin may give a node; 10 then
  bool check_all_filters = false;         // a node that is rejected is judged by every filter
};

/// How often verdicts were reused; read for metrics and by tests.
struct ReuseCounts {
  std::uint64_t reused = 0;      // cycles decided from a class entry
  std::uint64_t diagnoses = 0;   // of these, pods that were told why with an earlier pod's diagnosis
  std::uint64_t ranked = 0;      // of these, nodes that the kept ranking chose, without a score per node
  std::uint64_t evaluated = 0;   // cycles that looked at every node
  std::uint64_t violations = 0;  // kept answers that a fresh look did not confirm
  std::uint64_t bytes = 0;       // that the class entries take
};

/// What a cycle may ask beyond the plugins. All of it outlives the cycle; null: there is none.
struct CycleParts {
  extender::Extenders* extenders = nullptr;
  const preemption::Preemption* preemption = nullptr;
  /// Called in the decision that has found it. The plugin's answers are not reused any more.
  std::function<void(const UndeclaredInput& input, const model::Pod& pod)> on_undeclared_input = {};
};

/// One pod: snapshot, pre-filter, filter, score, select, assume, reserve, permit.
///
/// Its place: called by the scheduling loop with a popped pod; hands back a value. Knows neither binding nor the API.
/// Ownership: the snapshot is brought up to date at the start of each run and stays as it was until the next.
/// Threads:   the scheduling thread. Failure: never throws; what breaks is a Rejection with code error.
/// Source:    kubernetes v1.36 pkg/scheduler/schedule_one.go.
class SchedulingCycle {
 public:
  SchedulingCycle(framework::Framework& framework, cache::ClusterCache& cache, cache::Snapshot& snapshot,
                  queue::Nominations& nominations, CycleOptions options, CycleParts parts = {});

  Outcome run(const model::PodPtr& pod, std::uint64_t pod_class);

  // The same in parts, for pods that get nodes together. All of them see one snapshot: the one of begin_gang_attempt(), and
  // each other on it.
  void begin_gang_attempt();
  /// A placement keeps only what later calls read, since it waits for those of other pods.
  Attempt reserve(const model::PodPtr& pod, std::uint64_t pod_class, const GangAttempt& gang);
  /// Drops a placement, and shows the attempts that follow its node without the pod.
  void give_back(Placement placement);
  /// A rejection has dropped the placement.
  Outcome permit(Placement placement);
  /// The verdict of a caller that looked at no node, worded as pre-filter's if unresolvable, else as permit's. A node
  /// that was nominated to the pod stays nominated.
  Rejection reject(const framework::Verdict& verdict);

  /// Judges every node for the pod with a fresh state; changes nothing.
  Explanation explain(const model::PodPtr& pod, ExplainWith with = {});
  /// Likewise, and says where one node stands.
  Standing stand(const model::PodPtr& pod, cache::Slot node, const StandingWith& with);
  /// Gives up what is kept for classes of pods, and its memory. Later pods are decided alike.
  void forget_verdicts() noexcept;
  const ReuseCounts& reuse_counts() const noexcept { return reuse_counts_; }
  /// Where the next search for nodes begins in their list: a decision depends on it as on cluster and policies.
  std::uint64_t rotation() const noexcept { return start_; }
  void begin_at(std::uint64_t rotation) noexcept { start_ = static_cast<std::size_t>(rotation); }
  /// How long the last run(), or the last plan for pods together, took to find nodes or none, in observe::ticks():
  /// filters, scores and post-filters.
  std::uint64_t choice_ticks() const noexcept { return choice_ticks_; }

 private:
  friend class Explainer;
  struct Chosen {
    cache::Slot slot = cache::k_no_slot;
    std::uint32_t evaluated = 0, feasible = 0;
    std::int64_t total = 0;  // weighted sum of scores; 0: nothing was compared
  };
  using Choice = std::variant<Chosen, Rejection>;

  struct Probe {
    cache::Slot slot;
    framework::NodeVerdict verdict;
  };
  /// One search for a node, for one pod.
  struct Search {
    framework::CycleContext& context;
    const GangAttempt* gang;  // null: the pod is not one of several that are tried together
    Nominated nominated = {};
    model::PluginSet narrowed_by = {};  // plugins that left some nodes out before they were judged
    Diagnosis diagnosis = {};
    const KeptDiagnosis* kept = nullptr;  // of the class, in place of `diagnosis`
    std::optional<Probe> probe = {};      // its nominated node, which rejected it
  };

  Choice choose(Search& search);
  std::optional<Choice> try_nominated(Search& search);
  std::optional<Choice> choose_by_class(Search& search, bool narrowed, std::int64_t wanted);
  /// Of a class whose policies speak of domains; absent: its nodes have to be judged one by one. Requires: filters of entry are up to
  /// date, columns_ are named.
  std::optional<Choice> choose_by_groups(Search& search, ClassEntry& entry);
  /// No node fits a pod of the class.
  Choice reject_class(Search& search, ClassEntry& entry);
  Choice choose_by_search(Search& search, std::int64_t wanted);
  /// No node is left after plugins and extenders; `passed_filters`: so many were after the plugins.
  Rejection reject_all(Search& search, std::size_t passed_filters);
  Choice score_and_select(framework::CycleContext& context, std::span<const cache::Slot> feasible,
                          std::uint32_t judged);
  /// Every candidate's verdict, into the search's diagnosis.
  void diagnose(Search& search);
  Rejection reject(Search& search);
  void refresh();
  Attempt attempt(const model::PodPtr& pod, std::uint64_t pod_class, const GangAttempt* gang);
  Attempt take(framework::CyclePool::Handle context, const Chosen& chosen, cache::Assume how);
  /// Evicts no pod when a plugin named one that is exempt: not all of them choose by the search that knows.
  void apply_exemption(Rejection& rejection, const GangAttempt* gang) const;
  /// The node on which evictions would make room, for pods that take such a one.
  std::optional<Chosen> room_by_eviction(const Rejection& rejection, const GangAttempt* gang) const;
  Nominated nominated_to_others(const model::Pod& pod, const GangAttempt* gang) const;
  Rejection reject_one(const framework::Verdict& verdict);
  void forget_changed_plugins();
  /// What the decision under way has found about reused answers; of plugins that it names none is reused from now on.
  void report_undeclared_inputs(const model::Pod& pod);
  /// Whether a search that counts from the start finds as many feasible nodes, and the same best with the same total.
  bool agrees(const framework::CycleContext& of_class, std::uint32_t feasible, const BestNode& best);
  std::optional<std::int32_t> percentage(const framework::ProfileRuntime& profile) const noexcept;

  framework::Framework& framework_;
  cache::ClusterCache& cache_;
  cache::Snapshot& snapshot_;
  queue::Nominations& nominations_;
  const CycleOptions options_;
  framework::NodeBlocks blocks_;
  FilterPass filter_pass_;
  ScorePass score_pass_;
  ExtenderPass extender_pass_;
  const preemption::Preemption* const preemption_;
  NodeChoice node_choice_;
  std::optional<RandomChoice> random_choice_;
  ClassCache classes_;
  ReuseCheck reuse_check_;
  const std::function<void(const UndeclaredInput& input, const model::Pod& pod)> on_undeclared_input_;
  framework::DomainColumns columns_;  // of the pod at hand
  FilterFindings findings_;
  framework::CandidateNodes candidates_;
  framework::CandidateMemory candidate_memory_;
  std::vector<std::int64_t> totals_;
  framework::Arena spare_views_;  // between two pods that get nodes together
  std::uint64_t cycle_id_ = 0;
  std::uint64_t plugin_epochs_ = 0;
  std::size_t start_ = 0;  // rotation: where the next search begins
  ReuseCounts reuse_counts_;
  std::uint64_t choice_ticks_ = 0;
};

}  // namespace berth::cycle
