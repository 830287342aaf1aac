// SPDX-License-Identifier: Apache-2.0
/// NodeResourcesAllocatable: prefers the smallest nodes, or the biggest, by what pods may use of them.
///
/// Assumes: the size of a node is the weighted mean of its allocatable amounts: cpu in milli-cores, all else in units. What is
///          used, and what the pod asks for, does not matter.
/// Steps:   raw is the mean, negative in mode Least; then the least raw score becomes 0 and the greatest 100.
/// Ties:    left to the host. Nodes that are all of one size score 0.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/noderesources.
#include <berth/arg_problems.hpp>
#include <berth/plugin.hpp>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Resources that upstream knows the amount of; others, "pods" for one, count as 0. Source: IsScalarResourceName.
bool has_amount(std::string_view name) {
  for (const std::string_view plain : {"cpu", "memory", "ephemeral-storage"})
    if (name == plain) return true;
  for (const std::string_view prefix : {"hugepages-", "attachable-volumes-"})
    if (name.starts_with(prefix)) return true;
  return name.find('/') != name.npos;
}

class NodeResourcesAllocatable {
 public:
  static constexpr berth::Identity identity{
      .name = "NodeResourcesAllocatable",
      .version = "1.0.0",
      .summary = "Prefers the smallest or the biggest nodes, by allocatable resources.",
      .deps = BERTH_DEP_NODE_STATIC};
  // Weights have no bounds here: the constructor says what is wrong with them, in upstream's words.
  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "mode": {"type": "string", "enum": ["Least", "Most"], "default": "Least", "description": "Which nodes are preferred."},
      "resources": {"type": "array", "description": "Absent or empty: cpu with a weight of 1048576, memory with 1.", "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "description": "Greater than 0."}}}}
    }
  })";
  // Scores reject no pod: no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};
  static constexpr berth::Normalize normalization = berth::Normalize::minmax_integer;

  explicit NodeResourcesAllocatable(berth::Setup& setup) {
    const berth::Json args = setup.args();
    prefers_small_ = args["mode"].string_or("mode", "Least") == "Least";
    const berth::Json& resources = args["resources"];
    if (resources.array("resources").empty()) {
      take(setup, "cpu", 1 << 20);
      take(setup, "memory", 1);
      return;
    }
    berth::ArgProblems problems;
    for (std::size_t i = 0; i < resources.items().size(); ++i) {
      const std::string& name = resources.items()[i]["name"].string("name");
      const std::int64_t weight = resources.items()[i]["weight"].integer_or("weight", 0);
      const std::string path = berth::ArgProblems::at("resources", i, "weight");
      if (weight <= 0) {
        problems.invalid(path, std::to_string(weight),
                         "resource weight of " + name + " should be a positive value, got :" + std::to_string(weight));
      } else if (weight > std::numeric_limits<std::int64_t>::max() - weights_) {
        problems.invalid(path, std::to_string(weight), "the sum of all weights must be below 2^63");
      } else {
        take(setup, name, weight);
      }
    }
    problems.end();
  }

  void score(const berth::Cycle&, berth::ScoreBlock& nodes) const {
    for (std::uint32_t word = 0; word < nodes.words(); ++word) {
      // Amounts may be as large as they like: the sum wraps around as upstream's does.
      std::array<std::uint64_t, 64> sums{};
      for (const Weighted& each : resources_) {
        const std::int64_t* const amounts = nodes.word(word)[each.allocatable].data();
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<std::uint64_t>(amounts[i]) * each.weight;
      }
      std::int64_t* const raw = nodes.scores(word);
      berth::each_bit(nodes.candidates(word), [&](std::uint32_t bit) {
        const auto sum = static_cast<std::int64_t>(prefers_small_ ? 0 - sums[bit] : sums[bit]);
        raw[bit] = sum / weights_;
      });
    }
  }

 private:
  struct Weighted {
    std::string name;
    berth::IntColumn allocatable;
    std::uint64_t weight = 0;
  };
  /// Of a resource that is named twice, the last weight counts.
  void take(berth::Setup& setup, const std::string& name, std::int64_t weight) {
    for (Weighted& each : resources_)
      if (each.name == name) {
        weights_ += weight - static_cast<std::int64_t>(each.weight);
        each.weight = static_cast<std::uint64_t>(weight);
        return;
      }
    if (has_amount(name)) resources_.push_back({name, setup.allocatable(name), static_cast<std::uint64_t>(weight)});
    weights_ += weight;
  }

  bool prefers_small_ = true;
  std::vector<Weighted> resources_;
  std::int64_t weights_ = 0;
};

}  // namespace

BERTH_PLUGIN(NodeResourcesAllocatable)
