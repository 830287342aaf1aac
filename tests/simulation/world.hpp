// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/kernel.hpp"
#include "simulation/ledger.hpp"
#include "support/api_server/api_server.hpp"

namespace berth::simulation {

struct WorldOptions {
  std::uint64_t seed = 1;
  double fault_minutes = 10;   // virtual, in which things go wrong
  int replicas = 0;            // 0: the seed decides, one to three
  std::set<std::string> only;  // kinds of faults; empty: the seed decides
  /// The faults ("crash.3") and batches of pods ("pods.12") that happen; nothing: all.
  std::optional<std::set<std::string>> with;
  std::string kubeconfig_dir, plugin_dir;
  std::string log_dir;          // of the replicas' logs; empty: they are not kept
  int history_descriptor = -1;  // where the whole history goes as text; -1: nowhere
  bool tells = false;           // prints what happens as it happens
};

struct WorldResult {
  std::uint64_t digest = 0, faults = 0, switches = 0;
  std::size_t pods = 0, bound = 0, evicted = 0, starts = 0;
  double virtual_s = 0;
  std::vector<std::string> happened;  // the faults and batches of pods, as `without` names them
  std::string rule, what;             // that is broken; empty: none is
};

inline std::int64_t some_time(Dice& dice, double least_s, double most_s) {
  return dice.between(static_cast<std::int64_t>(least_s * 1e9), static_cast<std::int64_t>(most_s * 1e9));
}

/// The kinds of faults, as --only takes them.
const std::vector<std::string>& fault_kinds();

/// One world: an API server, replicas of `berth run`, kubelets, users and bad luck.
///
/// Lifetime: one for each process; the process ends with it.
class World {
 public:
  explicit World(WorldOptions options);
  /// Ends the process with what `done` returns, in the middle of a step when a rule is broken.
  [[noreturn]] void run(int (*done)(const WorldResult& result, const std::deque<std::string>& story));

 private:
  struct Replica {
    int number = 0, starts = 0;
    Machine* machine = nullptr;
    std::vector<std::string> arguments;
    std::int64_t starts_again_ns = 0;
  };
  struct Fault {
    std::string kind;
    double per_minute = 0;
  };

  void begin_server();
  void start(Replica& replica);
  void look_after(Replica& replica);
  void step();
  void take_over_changes();
  void look();
  /// What the leader believes, by its own dump, against the server: caches, queue, nominations.
  void judge_beliefs(const Replica& leader, std::size_t log_from);
  void ask_for_beliefs();

  // world_objects.cpp: users, kubelets and controllers
  void begin_objects();
  void add_pods();
  void create_pod(const std::string& name, Dice& dice);
  void run_kubelets();
  void run_budgets();
  void create_node(const std::string& name, Dice& dice);
  void tend_nodes();

  // faults.cpp
  void begin_faults();
  void do_fault(const std::string& kind, Dice& dice);
  void end_faults();
  void spoil_answers(Dice& dice, std::int64_t length_ns);
  void spoil_network(const std::string& kind, Dice& dice, std::int64_t length_ns);
  void spoil_replica(const std::string& kind, Dice& dice, std::int64_t length_ns);
  void crash(Machine& machine, bool quietly);
  void change_nodes(Dice& dice);
  void change_labels(Dice& dice);
  void poison(Dice& dice, std::int64_t length_ns);
  void forget_history(const std::function<void()>& forget);
  tests::ApiStore& store() { return server_->store(); }
  const tests::ApiResource& resource(const char* plural) { return *store().find("", "v1", plural); }
  void patch(const char* plural, const std::string& ns, const std::string& name, const std::string& text, bool status);
  void remove(const char* plural, const std::string& ns, const std::string& name, bool at_once);
  void tell(const std::string& line);
  [[noreturn]] void finish(const std::string& rule, const std::string& what);
  std::int64_t now_ns() const { return Kernel::the().now_ns(); }
  void later(std::int64_t delay_ns, std::function<void()> task);
  /// Chance of its own for each thing that happens: the others stay as they are when it is left out.
  Dice dice_of(const std::string& what) const;
  bool is_left_out(const std::string& what);

  const WorldOptions options_;
  std::unique_ptr<tests::ApiServer> server_;
  Machine* server_machine_ = nullptr;
  bool server_is_ready_ = false;
  std::unique_ptr<Ledger> ledger_;
  std::uint64_t seen_version_ = 0;  // of the store; the ledger has what is before
  std::vector<Replica> replicas_;
  std::vector<Fault> faults_;
  std::multimap<std::int64_t, std::function<void()>> agenda_;
  std::deque<std::string> story_;
  std::int64_t began_ns_ = 0;
  bool goes_wrong_ = false;
  bool is_still_ = false;  // users and kubelets do nothing any more
  tests::Faults server_faults_;
  int batch_ = 0, kubelet_round_ = 0, tending_ = 0;
  std::size_t pods_ = 0;
  std::vector<std::string> happened_;
  std::size_t starts_ = 0;
  std::uint64_t faults_done_ = 0;
  int (*done_)(const WorldResult&, const std::deque<std::string>&) = nullptr;
};

}  // namespace berth::simulation
