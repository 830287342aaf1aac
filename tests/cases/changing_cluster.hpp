// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/simulate/simulation.hpp"

namespace berth::cases::kept_verdicts {

/// What an attempt comes to.
struct TryOutcome {
  std::string node;  // empty: none
  std::uint32_t feasible = 0;
  std::int64_t total = 0;
  std::string message;
  std::vector<std::string> victims;
  Symbol nominated = k_no_symbol;
  model::PluginSet rejectors = {}, pending = {};
  friend bool operator==(const TryOutcome&, const TryOutcome&) = default;
};
void PrintTo(const TryOutcome& outcome, std::ostream* out);

/// A simulated cluster of some 24 nodes that changes at random, and pods of a few classes that are tried in it. Equal seeds make equal runs.
///
/// Changes: pods are added, placed by the scheduler or on a node of their own, and deleted; nodes come, go, and change labels,
///          taints, capacity, features and images; labels of namespaces, services; volumes, their claims, limits and capacities;
///          devices, their claims; gangs where `gangs` says so; and which classes there are.
class ChangingCluster {
 public:
  /// `configuration` and `plugins` outlive it.
  ChangingCluster(const config::Configuration& configuration, const app::PluginLibrary& plugins, std::uint32_t seed,
                  bool gangs);

  /// Something changes, and the scheduler has decided about what waits.
  void change();
  /// One pod of each class, and sometimes several one after another as a gang's, come to the same by what is kept and by a
  /// computation that keeps nothing.
  void expect_kept_is_fresh();
  /// And to the same as with a scheduler that has just been told of the cluster as it is: what plugins keep for all pods is
  /// right as well. Left out while a pod is on its way to a node, of which the cluster does not know. Ties, and with
  /// them victims, may fall otherwise; and so may totals where `has_history`: on how many nodes an image is
  /// was counted at some time.
  void expect_as_of_a_new_scheduler(bool has_history);

  const cycle::ReuseCounts& reuse() { return simulation_->scheduler().decision_parts().cycle.reuse_counts(); }
  struct Counts {
    std::uint64_t without_class = 0, placed = 0, rejected = 0, evicts = 0;  // tries
    std::uint64_t new_schedulers = 0;
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  /// A class: pods of it in short form, with '@' for the name, and some that are not in the cluster.
  struct Probe {
    std::string shape;
    std::vector<model::PodPtr> pods;
  };
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  bool chance(int percent) { return draw(100) < percent; }
  const std::string& any(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(draw(static_cast<int>(list.size())))];
  }
  std::string take(std::vector<std::string>& names);

  std::vector<TryOutcome> attempt(const scheduler::DecisionParts& host, std::span<const model::PodPtr> pods,
                                  std::uint64_t pod_class);

  void change_nodes();
  void change_volumes();
  void change_devices();
  void put(const std::string& resource, const std::string& json);
  void remove(const std::string& resource, const std::string& ns, const std::string& name);
  template <typename Form>
  std::string manifest(const std::string& json, Form form);
  Probe make_probe();
  const Probe& any_probe() { return probes_[static_cast<std::size_t>(draw(static_cast<int>(probes_.size())))]; }

  void add_node();
  void put_node(const std::string& name);
  void put_namespace(const std::string& name);
  void put_service();
  void put_bound_volume(int number);
  void put_waiting_volume(int number);
  void put_volume_limit(const std::string& node);
  void put_storage_capacity();
  void put_devices(const std::string& node);
  void put_device_claim(int number);
  void add_pod();
  void add_gang();
  void remove_pod();
  std::string pod_json();
  std::string volumes();
  std::string topology_key() { return chance(50) ? "zone" : "kubernetes.io/hostname"; }
  std::string spread(const std::string& selector);
  std::string pod_term();
  std::string affinity();

  const config::Configuration& configuration_;
  const app::PluginLibrary& plugins_;
  SymbolTable symbols_;  // outlives the simulation
  std::mt19937 random_;
  const bool has_gangs_;
  std::unique_ptr<app::Simulation> simulation_;
  decode::DecodeOptions decoding_;
  std::set<std::string> watched_;
  std::vector<std::string> nodes_;
  std::vector<Probe> probes_;
  std::vector<std::pair<std::string, std::string>> pods_;  // namespaces and names
  int next_ = 0;
  Counts counts_;
};

}  // namespace berth::cases::kept_verdicts
