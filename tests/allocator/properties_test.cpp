// SPDX-License-Identifier: Apache-2.0
/// Random clusters: whatever is allocated, no device is given twice, no counter or capacity goes below zero, and every request got
/// what it asked for. The cluster's own objects are counted here, not the allocator's tables. 200 clusters; BERTH_SEED=n runs that one
/// only, BERTH_LONG=1 1,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "allocator/claim_shapes.hpp"
#include "scene.hpp"

namespace berth::dra {
namespace {

std::vector<std::uint32_t> cluster_seeds() {
  if (const char* one = std::getenv("BERTH_SEED")) return {static_cast<std::uint32_t>(std::strtoul(one, nullptr, 10))};
  const std::uint32_t count = std::getenv("BERTH_LONG") != nullptr ? 1000 : 200;
  std::printf("BERTH_SEED from 1 to %u\n", count);
  std::vector<std::uint32_t> all;
  for (std::uint32_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  /// From 0 to `end` - 1, the same on every platform.
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint32_t>(end)); }
  bool once_in(int count) { return below(count) == 0; }

 private:
  std::mt19937 random_;
};

struct Cluster {
  std::vector<Node> nodes;
  std::vector<Slice> slices;
};

constexpr const char* k_zones[] = {"east", "west"};

Device random_device(Dice& dice, int number, bool has_counters) {
  Device made = device_named("d" + std::to_string(number));
  if (!dice.once_in(4)) made.attributes.push_back({"group", cel::Attribute::Type::integer, dice.below(3), {}});
  if (dice.once_in(3)) {
    const bool is_short = dice.once_in(2);
    made.attributes.push_back({"model", cel::Attribute::Type::string, 0, is_short ? "S" : "L"});
  }
  if (dice.once_in(6)) made.taints.push_back({"broken", "yes", dice.once_in(2) ? "NoSchedule" : "NoExecute"});
  if (dice.once_in(10)) made.binding_conditions.push_back("Ready");
  made.allow_multiple_allocations = dice.once_in(4);
  if (!dice.once_in(3)) {
    NamedCapacity memory{"memory", std::to_string(4 + dice.below(13)) + "Gi", std::nullopt};
    if (made.allow_multiple_allocations && dice.once_in(2))
      memory.policy = RequestPolicy{"1Gi", {}, RequestPolicy::Range{"1Gi", "4Gi", "1Gi"}};
    made.capacity.push_back(memory);
  }
  if (has_counters && !dice.once_in(4))
    made.consumes_counters.push_back({"card", {{"memory", std::to_string(1 + dice.below(4))}, {"slots", "1"}}});
  return made;
}

/// Pools have names of their own: two that share one share a table of counters, which is not kept apart.
Cluster random_cluster(Dice& dice) {
  Cluster made;
  const int nodes = 1 + dice.below(4);
  for (int i = 0; i < nodes; ++i) made.nodes.push_back({"n" + std::to_string(i), {{"zone", k_zones[dice.below(2)]}}});
  const int pools = 3 + dice.below(6);
  for (int i = 0; i < pools; ++i) {
    const std::string driver = dice.once_in(3) ? "b" : "a";
    const bool has_counters = dice.once_in(2);
    Slice slice = slice_on("", driver, "p" + std::to_string(i), {});
    const int kind = dice.below(5);
    if (kind == 0) {
      slice.nodes.all_nodes = true;
    } else if (kind == 1) {
      slice.nodes.selector = NodeSelector{{{{{"zone", "In", {k_zones[dice.below(2)]}}}, {}}}};
    } else if (kind == 2) {
      slice.per_device_node_selection = true;
    } else {
      slice.nodes.node_name = made.nodes[static_cast<std::size_t>(dice.below(nodes))].name;
    }
    const int devices = 4 + dice.below(9);
    for (int d = 0; d < devices; ++d) {
      slice.devices.push_back(random_device(dice, d, has_counters));
      if (!slice.per_device_node_selection) continue;
      if (dice.once_in(2))
        slice.devices.back().nodes.all_nodes = true;
      else
        slice.devices.back().nodes.node_name = made.nodes[static_cast<std::size_t>(dice.below(nodes))].name;
    }
    slice.slice_count = (has_counters ? 2 : 1) + (dice.once_in(15) ? 1 : 0);
    if (has_counters) {
      Slice counters = slice;
      counters.name += "-counters";
      counters.devices.clear();
      counters.per_device_node_selection = false;
      if (kind == 2) counters.nodes.all_nodes = true;
      counters.shared_counters.push_back(
          {"card", {{"memory", std::to_string(6 + dice.below(12))}, {"slots", std::to_string(3 + dice.below(6))}}});
      made.slices.push_back(counters);
    }
    made.slices.push_back(slice);
  }
  return made;
}

DeviceRequest random_request(Dice& dice, const std::string& name) {
  constexpr const char* classes[] = {"a", "b", "any", "a"};
  DeviceRequest made;
  made.name = name;
  made.class_name = classes[dice.below(4)];
  made.allocation_mode = dice.once_in(8) ? "All" : "ExactCount";
  if (made.allocation_mode == "ExactCount") made.count = 1 + dice.below(2);
  made.admin_access = dice.once_in(8);
  if (dice.once_in(6)) made.selectors.push_back("device.attributes[device.driver].?model.orValue(\"\") == \"S\"");
  if (dice.once_in(3)) made.tolerations.push_back({"broken", "Exists", "", "", std::nullopt});
  if (dice.once_in(3)) made.capacity.push_back({"memory", std::to_string(1 + dice.below(5)) + "Gi"});
  return made;
}

Claim random_claim(Dice& dice, int number) {
  Claim made = claim_of({});
  made.name = "c" + std::to_string(number);
  const int requests = 1 + dice.below(2);
  for (int i = 0; i < requests; ++i) {
    Request request{"r" + std::to_string(i), std::nullopt, {}};
    if (dice.once_in(3)) {
      for (int s = 0; s < 2; ++s) {
        request.first_available.push_back(random_request(dice, "s" + std::to_string(s)));
        request.first_available.back().admin_access = false;
      }
    } else {
      request.exactly = random_request(dice, request.name);
    }
    made.requests.push_back(request);
  }
  if (dice.once_in(4)) made.constraints.push_back({{}, "a/group", std::nullopt});
  if (dice.once_in(6)) made.constraints.push_back({{"r0"}, std::nullopt, "a/group"});
  return made;
}

using DeviceName = std::tuple<std::string, std::string, std::string>;

/// What is in use, counted from the objects alone.
struct Ledger {
  std::set<DeviceName> whole;
  std::map<DeviceName, std::map<std::string, Nano>> consumed;
};

struct Totals {
  int allocated = 0;
  int without_solution = 0;
  int failed = 0;
  int shares = 0;
  int counted = 0;  ///< devices that consume counters
};

const Device& device_of(const Cluster& cluster, const ClaimAllocation::Result& result, const Slice** slice) {
  for (const Slice& each : cluster.slices) {
    if (each.driver != result.driver || each.pool != result.pool) continue;
    for (const Device& device : each.devices) {
      if (device.name != result.device) continue;
      *slice = &each;
      return device;
    }
  }
  throw std::logic_error("no such device: " + result.device);
}

const DeviceRequest& request_named(const Claim& claim, const std::string& name) {
  for (const Request& request : claim.requests) {
    if (request.first_available.empty() && request.name == name) return *request.exactly;
    for (const DeviceRequest& sub : request.first_available)
      if (request.name + '/' + sub.name == name) return sub;
  }
  throw std::logic_error("no such request: " + name);
}

bool reaches(const NodeChoice& nodes, const Node& node) {
  if (!nodes.node_name.empty()) return nodes.node_name == node.name;
  if (nodes.all_nodes) return true;
  return nodes.selector && nodes.selector->terms[0].match_expressions[0].values[0] == node.labels[0].value;
}

void expect_request_is_met(const Cluster& cluster, const Node& node, const Claim& claim,
                           const ClaimAllocation::Result& result) {
  const Slice* slice = nullptr;
  const Device& device = device_of(cluster, result, &slice);
  const DeviceRequest& request = request_named(claim, result.request);
  EXPECT_TRUE(reaches(slice->per_device_node_selection ? device.nodes : slice->nodes, node)) << result.device;
  EXPECT_TRUE(request.class_name == "any" || request.class_name == result.driver) << result.device;
  EXPECT_TRUE(device.taints.empty() || !request.tolerations.empty()) << result.device << " is tainted";
  EXPECT_EQ(result.admin_access, request.admin_access);
  EXPECT_EQ(result.share_id.has_value(), device.allow_multiple_allocations);
  EXPECT_EQ(result.binding_conditions, device.binding_conditions);
  if (!request.selectors.empty()) {
    const auto is_short = [](const NamedAttribute& each) { return each.name == "model" && each.text == "S"; };
    EXPECT_TRUE(std::any_of(device.attributes.begin(), device.attributes.end(), is_short)) << result.device;
  }
}

void expect_counts_are_met(const Claim& claim, const ClaimAllocation& allocation) {
  EXPECT_LE(allocation.results.size(), 32u);
  std::map<std::string, std::int64_t> counts;
  for (const auto& result : allocation.results) ++counts[result.request];
  for (const Request& request : claim.requests) {
    std::vector<std::string> names;
    if (request.first_available.empty()) names.push_back(request.name);
    for (const DeviceRequest& sub : request.first_available) names.push_back(request.name + '/' + sub.name);
    int answered = 0;
    for (const std::string& name : names) {
      if (!counts.contains(name)) continue;
      ++answered;
      const DeviceRequest& asked = request_named(claim, name);
      if (asked.allocation_mode == "ExactCount") {
        EXPECT_EQ(counts[name], asked.count) << name;
      }
    }
    EXPECT_EQ(answered, 1) << request.name;
  }
}

void expect_constraints_hold(const Cluster& cluster, const Claim& claim, const ClaimAllocation& allocation) {
  for (const Constraint& constraint : claim.constraints) {
    if (!constraint.match_attribute) continue;
    std::set<std::int64_t> values;
    for (const auto& result : allocation.results) {
      const Slice* slice = nullptr;
      const Device& device = device_of(cluster, result, &slice);
      ASSERT_EQ(result.driver, "a") << "the attribute of another driver's device";
      for (const NamedAttribute& each : device.attributes)
        if (each.name == "group") values.insert(each.integer);
    }
    EXPECT_LE(values.size(), 1u);
  }
}

void take(const Cluster& cluster, const ClaimAllocation& allocation, Ledger& ledger, Totals& totals) {
  for (const auto& result : allocation.results) {
    if (result.admin_access) continue;
    const DeviceName name{result.driver, result.pool, result.device};
    const Slice* slice = nullptr;
    const Device& device = device_of(cluster, result, &slice);
    totals.shares += device.allow_multiple_allocations;
    totals.counted += !device.consumes_counters.empty();
    if (!device.allow_multiple_allocations) {
      EXPECT_TRUE(ledger.whole.insert(name).second) << result.device << " is given twice";
      continue;
    }
    auto& consumed = ledger.consumed[name];
    for (const NamedAmount& amount : result.consumed_capacity)
      consumed[amount.name] += read_amount(amount.amount).amount.nano;
    for (const NamedCapacity& capacity : device.capacity)
      EXPECT_LE(consumed[capacity.name], read_amount(capacity.value).amount.nano) << result.device << " has less";
  }
}

void expect_counters_suffice(const Cluster& cluster, const Ledger& ledger) {
  for (const Slice& slice : cluster.slices) {
    for (const CounterSet& set : slice.shared_counters) {
      for (const NamedAmount& counter : set.counters) {
        Nano left = read_amount(counter.amount).amount.nano;
        for (const Slice& other : cluster.slices) {
          if (other.driver != slice.driver || other.pool != slice.pool) continue;
          for (const Device& device : other.devices) {
            const DeviceName name{other.driver, other.pool, device.name};
            if (!ledger.whole.contains(name) && !ledger.consumed.contains(name)) continue;
            for (const CounterSet& use : device.consumes_counters)
              for (const NamedAmount& each : use.counters)
                if (each.name == counter.name) left -= read_amount(each.amount).amount.nano;
          }
        }
        EXPECT_GE(left, 0) << slice.pool << ' ' << counter.name;
      }
    }
  }
}

/// Schedules pods one after the other; what came of each. `order` is that of the slices in the inventory.
std::vector<std::string> run(std::uint32_t seed, bool checked, bool reversed, Totals& totals) {
  Dice dice(seed);
  const Cluster cluster = random_cluster(dice);
  Scene scene;
  std::vector<Slice> slices = cluster.slices;
  if (reversed) std::reverse(slices.begin(), slices.end());
  for (const Slice& slice : slices) scene.add(slice);
  Ledger ledger;
  std::vector<std::string> outcomes;
  for (int pod = 0; pod < 12; ++pod) {
    std::vector<Claim> claims;
    const int count = dice.once_in(4) ? 2 : 1;
    for (int i = 0; i < count; ++i) claims.push_back(random_claim(dice, i));
    const Node& node = cluster.nodes[static_cast<std::size_t>(dice.below(static_cast<int>(cluster.nodes.size())))];
    Limits limits;
    limits.steps_max = 200'000;
    const Outcome outcome = scene.allocate(claims, limits, node);
    outcomes.push_back(text_of(outcome));
    totals.without_solution += outcome.kind == Outcome::Kind::no_solution;
    totals.failed += outcome.kind == Outcome::Kind::failed;
    if (outcome.allocation == nullptr) continue;
    ++totals.allocated;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      int shares = 0;
      const ClaimAllocation allocation = outcome.allocation->describe(
          i, [&] { return std::to_string(pod) + '-' + std::to_string(i) + '-' + std::to_string(shares++); });
      for (const auto& result : allocation.results) {
        TakenDevice taken{result.driver, result.pool, result.device, result.admin_access};
        if (result.share_id) taken.share_id = *result.share_id;
        if (result.share_id && !result.consumed_capacity.empty()) taken.consumed = result.consumed_capacity;
        scene.state.add(taken);
        if (checked) expect_request_is_met(cluster, node, claims[i], result);
      }
      if (!checked) continue;
      expect_counts_are_met(claims[i], allocation);
      expect_constraints_hold(cluster, claims[i], allocation);
      take(cluster, allocation, ledger, totals);
    }
    if (checked) expect_counters_suffice(cluster, ledger);
  }
  return outcomes;
}

struct ReuseTotals {
  int found = 0;     ///< kept outcomes that were used
  int searched = 0;  ///< of as many that could have been kept
  int allocated = 0;
};

std::string described(const Outcome& outcome) {
  std::string text = std::to_string(static_cast<int>(outcome.kind)) + ' ' + text_of(outcome);
  if (outcome.allocation == nullptr) return text;
  text += " preference " + std::to_string(outcome.allocation->preference());
  for (std::size_t claim = 0; claim < outcome.allocation->claims(); ++claim) {
    const ClaimAllocation allocation = outcome.allocation->describe(claim, [] { return std::string("s"); });
    for (const ClaimAllocation::Config& each : allocation.config)
      for (const std::string& request : each.requests) text += " config " + request;
    if (!allocation.node_selector) continue;
    for (const NodeSelectorTerm& term : allocation.node_selector->terms) {
      for (const NodeRequirement& each : term.match_expressions) text += " at " + each.key + '=' + each.values[0];
      for (const NodeRequirement& each : term.match_fields) text += " at " + each.key + '=' + each.values[0];
    }
  }
  return text;
}

/// Pods of a few shapes one after the other, each judged on every node: with what is kept, and by a search. Devices are taken and
/// given back meanwhile, and now and then the slices change.
void compare_reuse(std::uint32_t seed, std::size_t bytes_max, ReuseTotals& totals) {
  Dice dice(seed);
  const Cluster cluster = random_cluster(dice);
  Scene scene;
  // Half of the clusters: pools of two drivers that share names, so that one table of counters is for both.
  const bool shares_names = dice.once_in(2);
  for (Slice slice : cluster.slices) {
    if (shares_names) {
      const int number = slice.pool.back() - '0';
      slice.driver = number % 2 == 0 ? "a" : "b";
      slice.pool = "p" + std::to_string(number / 2);
    }
    scene.add(slice);
  }
  std::vector<std::vector<Claim>> shapes;
  for (int i = 0; i < 3; ++i) {
    shapes.push_back({random_claim(dice, 0)});
    if (dice.once_in(4)) shapes.back().push_back(random_claim(dice, 1));
  }
  ClaimShapes kept(bytes_max);
  Workspace workspace;
  const ClassLookup classes = [&scene,
                               known = std::map<std::string, std::shared_ptr<const DeviceClass>, std::less<>>()](
                                  std::string_view name) mutable {
    auto& entry = known[std::string(name)];
    if (entry == nullptr) entry = scene.find_class(name);
    return entry;
  };
  Limits limits;
  limits.steps_max = 20'000;
  std::vector<ClaimAllocation> held;
  const auto taken = [](const ClaimAllocation::Result& result) {
    TakenDevice made{result.driver, result.pool, result.device, result.admin_access};
    if (result.share_id) made.share_id = *result.share_id;
    if (result.share_id && !result.consumed_capacity.empty()) made.consumed = result.consumed_capacity;
    return made;
  };
  std::shared_ptr<const Inventory> inventory;
  std::vector<std::shared_ptr<const NodePools>> nodes;
  for (int pod = 0; pod < 40; ++pod) {
    if (inventory == nullptr || dice.once_in(20)) {
      if (inventory != nullptr && !scene.slices.empty())
        scene.slices.erase(scene.slices.begin() + dice.below(static_cast<int>(scene.slices.size())));
      inventory = std::make_shared<Inventory>(scene.slices);
      nodes.clear();
      for (const Node& node : cluster.nodes) nodes.push_back(inventory->gather(node));
    }
    kept.use(inventory);
    const auto which = static_cast<std::size_t>(dice.below(3));
    std::vector<std::shared_ptr<const Claim>> claims;
    for (const Claim& claim : shapes[which]) claims.push_back(std::make_shared<Claim>(claim));
    const std::string spec = "shape " + std::to_string(which);
    const std::shared_ptr<ClaimShape> shape = kept.get({spec}, claims, classes, scene.programs);
    shape->prepare(nodes.size());
    const auto state = std::make_shared<AllocatedState>(scene.state);
    const Allocator with(state), without(state);
    std::vector<Outcome> outcomes;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      Outcome outcome;
      if (const ClaimShape::Kept* const known = shape->find(node, *nodes[node], *state)) {
        outcome = {known->kind, {}, known->allocation};
        if (known->kind == Outcome::Kind::invalid_pools) outcome.error = "invalid resource pools were encountered";
        ++totals.found;
      } else {
        outcome = with.allocate(nodes[node], shape->claims(), limits, workspace);
        shape->keep(node, *nodes[node], *state, outcome);
        ++totals.searched;
      }
      const Outcome fresh = without.allocate(nodes[node], shape->claims(), limits, scene.workspace);
      ASSERT_EQ(described(outcome), described(fresh)) << "pod " << pod << " on node " << node;
      outcomes.push_back(outcome);
    }
    EXPECT_LE(kept.bytes(), std::max<std::size_t>(bytes_max, 16384));
    const Outcome& chosen = outcomes[static_cast<std::size_t>(dice.below(static_cast<int>(outcomes.size())))];
    if (chosen.allocation != nullptr && dice.once_in(2)) {
      ++totals.allocated;
      for (std::size_t claim = 0; claim < chosen.allocation->claims(); ++claim) {
        int shares = 0;
        held.push_back(chosen.allocation->describe(
            claim, [&] { return std::to_string(pod) + '-' + std::to_string(claim) + '-' + std::to_string(shares++); }));
        for (const auto& result : held.back().results) scene.state.add(taken(result));
      }
    } else if (!held.empty() && dice.once_in(4)) {
      const int gone = dice.below(static_cast<int>(held.size()));
      for (const auto& result : held[static_cast<std::size_t>(gone)].results) scene.state.remove(taken(result));
      held.erase(held.begin() + gone);
    }
  }
}

TEST(AllocatorProperties, WhatIsKeptIsWhatASearchWouldFind) {
  ReuseTotals totals;
  for (const std::uint32_t seed : cluster_seeds()) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    compare_reuse(seed, ClaimShapes::k_bytes_max, totals);
    if (HasFailure()) break;
  }
  std::printf("%d outcomes were kept ones, %d were searched for, %d pods got devices\n", totals.found, totals.searched,
              totals.allocated);
  if (std::getenv("BERTH_SEED") != nullptr) return;
  EXPECT_GT(totals.found, 4 * 1000);
  EXPECT_GT(totals.allocated, 1000);
}

TEST(AllocatorProperties, WhatIsKeptHasABudget) {
  for (const std::size_t bytes_max : {std::size_t{0}, std::size_t{6000}}) {
    ReuseTotals totals;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) compare_reuse(seed, bytes_max, totals);
    EXPECT_GT(totals.searched, 100);
    if (bytes_max == 0) {
      EXPECT_EQ(totals.found, 0);
    }
  }
}

TEST(AllocatorProperties, NothingIsGivenTwiceAndTheSameSeedGivesTheSame) {
  Totals totals;
  for (const std::uint32_t seed : cluster_seeds()) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    const std::vector<std::string> first = run(seed, true, false, totals);
    Totals again;
    EXPECT_EQ(run(seed, false, false, again), first);
    EXPECT_EQ(run(seed, false, true, again), first) << "the order of the slices must not matter";
    if (HasFailure()) break;
  }
  std::printf("%d pods got devices (%d shares, %d with counters), %d had no solution, %d failed\n", totals.allocated,
              totals.shares, totals.counted, totals.without_solution, totals.failed);
  if (std::getenv("BERTH_SEED") != nullptr) return;
  EXPECT_GT(totals.allocated, 400) << "the clusters are too small to say anything";
  EXPECT_GT(totals.shares, 100);
  EXPECT_GT(totals.counted, 100);
  EXPECT_GT(totals.without_solution, 200);
}

}  // namespace
}  // namespace berth::dra
