// SPDX-License-Identifier: Apache-2.0
// Users, who create pods and give them up; kubelets, which run them; the controller of budgets.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "simulation/world.hpp"

namespace berth::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t k_s = 1'000'000'000;
constexpr std::size_t k_waiting_most = 40;
constexpr int k_teams = 5, k_volumes = 6;
const std::string k_rare_team = "rare";  // often it has no pod, and those that want to be near it wait

json::value label_selector(const std::string& team) { return {{"matchLabels", {{"team", team}}}}; }

/// "required…": [one of {selector, topologyKey}]
json::value required(const std::string& team, const char* topology_key) {
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::array{{{"labelSelector", label_selector(team)}, {"topologyKey", topology_key}}}}};
}

void add_node_requirements(json::object& spec, Dice& dice) {
  if (dice.roll(0.15)) spec["nodeSelector"] = {{"zone", fmt::format("z{}", dice.below(3))}};
  if (dice.roll(0.3))
    spec["tolerations"] = json::array{{{"key", "for"},
                                       {"operator", dice.roll(0.5) ? "Exists" : "Equal"},
                                       {"value", fmt::format("t{}", dice.below(3))},
                                       {"effect", "NoSchedule"}}};
  if (json::value* const tolerations = spec.if_contains("tolerations"))
    if (json::object& one = tolerations->get_array()[0].get_object(); one["operator"] == "Exists") one.erase("value");
  if (dice.roll(0.1))
    spec["volumes"] = json::array{
        {{"name", "v"}, {"persistentVolumeClaim", {{"claimName", fmt::format("claim-{}", dice.below(k_volumes))}}}}};
}

/// Of the pods around it, and of labels that change.
void add_affinity(json::object& spec, const std::string& team, Dice& dice) {
  json::object affinity;
  if (dice.roll(0.1)) {
    const char* const how = dice.roll(0.5) ? "In" : "NotIn";
    const json::value term{
        {"matchExpressions", json::array{{{"key", "disk"}, {"operator", how}, {"values", json::array{"ssd"}}}}}};
    affinity["nodeAffinity"] = {
        {"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", json::array{term}}}}};
  }
  const std::uint64_t what = dice.below(20);
  if (what == 0) affinity["podAntiAffinity"] = required(team, "kubernetes.io/hostname");
  if (what == 1) affinity["podAffinity"] = required(team, "zone");
  if (what == 3)
    affinity["podAffinity"] = required(dice.roll(0.5) ? k_rare_team : fmt::format("t{}", dice.below(k_teams)), "zone");
  if (what == 2)
    spec["topologySpreadConstraints"] = json::array{{{"maxSkew", dice.between(1, 2)},
                                                     {"topologyKey", "zone"},
                                                     {"whenUnsatisfiable", "DoNotSchedule"},
                                                     {"labelSelector", label_selector(team)}}};
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
}

}  // namespace

void World::begin_objects() {
  Dice dice = dice_of("objects");
  for (int i = 0; i < 6; ++i) create_node(fmt::format("n{}", i), dice);
  for (int i = 0; i < k_volumes; ++i) {
    server_->create(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"volume-{0}"}},"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteMany"],"claimRef":{{"namespace":"default","name":"claim-{0}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{1}"]}}]}}]}}}}}},"status":{{"phase":"Bound"}}}})",
        i, i % 3));
    server_->create(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"claim-{0}","annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"accessModes":["ReadWriteMany"],"volumeName":"volume-{0}","resources":{{"requests":{{"storage":"1Gi"}}}}}},"status":{{"phase":"Bound"}}}})",
        i));
  }
  for (int i = 0; i < 2; ++i)
    server_->create(fmt::format(
        R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"budget-{0}"}},"spec":{{"minAvailable":{1},"selector":{{"matchLabels":{{"team":"t{0}"}}}}}},"status":{{"disruptionsAllowed":0}}}})",
        i, dice.between(1, 4)));
  later(k_s, [this] { add_pods(); });
  later(k_s, [this] { run_kubelets(); });
  later(k_s, [this] { tend_nodes(); });
}

/// Administrators open nodes, add some, and change sizes, labels and taints, also when nothing goes wrong any more: pods
/// that wait for none to end are woken by that alone.
void World::tend_nodes() {
  if (is_still_) return;
  const std::string what = fmt::format("tending.{}", ++tending_);
  Dice dice = dice_of(what);
  const std::int64_t next_ns = some_time(dice, 5, 40);
  if (!goes_wrong_ && !is_left_out(what)) {
    const auto& nodes = ledger_->nodes();
    const auto closed =
        std::find_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.second.is_closed; });
    if (closed != nodes.end())
      patch("nodes", "", closed->first, R"({"spec":{"unschedulable":null}})", false);
    else if (dice.roll(0.2) && nodes.size() < 8)
      create_node(fmt::format("n{}", 200 + tending_), dice);
    else
      change_labels(dice);
  }
  later(next_ns, [this] { tend_nodes(); });
}

void World::create_node(const std::string& name, Dice& dice) {
  const auto cpu_m = 1000 * dice.between(2, 8), memory_mi = 1024 * dice.between(4, 16), pods = dice.between(5, 20);
  const std::string amount = fmt::format(R"({{"cpu":"{}m","memory":"{}Mi","pods":"{}"}})", cpu_m, memory_mi, pods);
  const std::string taints =
      dice.roll(0.2) ? fmt::format(R"("taints":[{{"key":"for","value":"t{}","effect":"NoSchedule"}}])", dice.below(3))
                     : "";
  server_->create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"kubernetes.io/hostname":"{}","zone":"z{}","disk":"{}"}}}},"spec":{{{}}},"status":{{"allocatable":{},"capacity":{}}}}})",
      name, name, dice.below(3), dice.roll(0.5) ? "ssd" : "hdd", taints, amount, amount));
}

void World::create_pod(const std::string& name, Dice& dice) {
  const std::string team = dice.roll(0.02) ? k_rare_team : fmt::format("t{}", dice.below(k_teams));
  json::object spec;
  const std::uint64_t rank = dice.below(100);
  spec["priority"] = rank < 80 ? 0 : rank < 90 ? 10 : rank < 97 ? 100 : 1000;
  if (dice.roll(0.1)) spec["preemptionPolicy"] = "Never";
  add_node_requirements(spec, dice);
  add_affinity(spec, team, dice);
  const std::string cpu = fmt::format("{}m", 100 * dice.between(1, 15)),
                    memory = fmt::format("{}Mi", 128 * dice.between(1, 16));
  spec["containers"] =
      json::array{{{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}}};
  if (dice.roll(0.05)) {
    spec["schedulingGates"] = json::array{{{"name", "test/gate"}}};
    later(some_time(dice, 0.5, 20), [this, name] {
      if (ledger_->pods().contains(key_of("default", name)))
        patch("pods", "default", name, R"({"spec":{"schedulingGates":null}})", false);
    });
  }
  const json::value pod{{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", {{"team", team}}}}},
                        {"spec", std::move(spec)}};
  server_->create(json::serialize(pod));
  ++pods_;
}

void World::add_pods() {
  if (is_still_) return;
  const std::string what = fmt::format("pods.{}", ++batch_);
  Dice dice = dice_of(what);
  const auto count = static_cast<int>(dice.roll(0.1) ? dice.between(5, 25) : dice.between(1, 3));
  const std::int64_t next_ns = some_time(dice, 0.2, 4);
  if (!is_left_out(what))
    for (int i = 0; i < count && ledger_->waiting_count() < k_waiting_most; ++i) {
      Dice own(dice.next());
      create_pod(fmt::format("p{:04}-{}", batch_, i), own);
    }
  // Another pod by the name of one that waits.
  if (dice.roll(0.1))
    if (const auto one = std::find_if(ledger_->pods().begin(), ledger_->pods().end(),
                                      [](const auto& pod) { return pod.second.node.empty(); });
        one != ledger_->pods().end()) {
      const std::string name = one->second.name;
      remove("pods", "default", name, true);
      if (!store().get(resource("pods"), "default", name).ok()) create_pod(name, dice);
    }
  later(next_ns, [this] { add_pods(); });
}

/// Pods that are bound begin, run and end; pods that are to go, go. Those that wait for long are given up.
void World::run_kubelets() {
  if (is_still_) return;
  const std::map<std::string, PodState> pods = ledger_->pods();
  ++kubelet_round_;
  for (const auto& [key, pod] : pods) {
    Dice dice = dice_of(fmt::format("{} {}", pod.name, kubelet_round_));
    if (pod.node.empty()) {
      if (now_ns() - pod.created_ns > 150 * k_s && dice.roll(0.01)) remove("pods", "default", pod.name, true);
      continue;
    }
    if (pod.is_leaving) {
      if (dice.roll(0.5)) remove("pods", "default", pod.name, true);
    } else if (!pod.is_running && !pod.is_over) {
      if (dice.roll(0.5)) patch("pods", "default", pod.name, R"({"status":{"phase":"Running"}})", true);
    } else if (pod.is_running && now_ns() - pod.bound_ns > 20 * k_s && dice.roll(0.03)) {
      patch("pods", "default", pod.name, R"({"status":{"phase":"Succeeded"}})", true);
    } else if (pod.is_over && dice.roll(0.3)) {
      remove("pods", "default", pod.name, true);
    } else if (pod.is_running && dice.roll(0.002)) {
      remove("pods", "default", pod.name, false);
    }
  }
  run_budgets();
  Dice dice = dice_of(fmt::format("kubelets {}", kubelet_round_));
  later(some_time(dice, 0.5, 1.5), [this] { run_kubelets(); });
}

void World::run_budgets() {
  const tests::ApiResource& budgets = *store().find("policy", "v1", "poddisruptionbudgets");
  for (const auto& [key, budget] : ledger_->budgets()) {
    const auto stored = store().get(budgets, budget.ns, budget.name);
    if (!stored.ok()) continue;
    const std::int64_t least = json::parse((*stored.value)->text).at("spec").at("minAvailable").as_int64();
    const auto healthy = std::count_if(ledger_->pods().begin(), ledger_->pods().end(), [&](const auto& one) {
      return one.second.is_running && !one.second.is_leaving && all_hold(budget.selector, one.second.labels);
    });
    const std::int64_t allowed = std::max<std::int64_t>(0, healthy - least);
    if (allowed != budget.allowed)
      store().patch(budgets, budget.ns, budget.name,
                    json::parse(fmt::format(R"({{"status":{{"disruptionsAllowed":{}}}}})", allowed)), false, true);
  }
}

}  // namespace berth::simulation
