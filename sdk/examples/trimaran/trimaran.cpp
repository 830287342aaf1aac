// SPDX-License-Identifier: Apache-2.0
/// Trimaran: two scores from the measured load of nodes, in one library.
///
///   TargetLoadPacking            fills nodes up to a share of their cores, and avoids those beyond it
///   LoadVariationRiskBalancing   avoids nodes whose load is high, or varies much
///
/// Assumes: node-exporter's recording rules in a Prometheus, with the node's name in a label.
/// Steps:   every half minute Prometheus is asked for all nodes (collector.hpp). Scores are made in normalize, on the thread of the
///          cycle, where all nodes are at hand. A node that Prometheus does not know scores 0.
/// Ties:    left to the host.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/trimaran. The load comes from Prometheus alone.
#include <berth/objects/quantity.hpp>
#include <berth/plugin.hpp>

#include <array>
#include <string>

#include "collector.hpp"
#include "young_pods.hpp"

namespace trimaran {
namespace {

/// The part of the args that both have.
#define TRIMARAN_SPEC                                                                                                          \
  R"json("metricProvider": {"type": "object", "additionalProperties": false, "required": ["address"], "properties": {)json"    \
  R"json("type": {"type": "string", "enum": ["Prometheus"], "default": "Prometheus", "description": "Only Prometheus."},)json" \
  R"json("address": {"type": "string", "pattern": "^http://[^/]", "description": "http://HOST[:PORT][/PATH]"},)json"           \
  R"json("insecureSkipVerify": {"type": "boolean", "description": "Accepted; there is no TLS here."}}},)json"                  \
  R"json("nodeLabel": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "default": "instance",)json"                   \
  R"json("description": "Label of the series that holds the node's name, with or without a port."})json"

// Scores depend on readings, and on when pods came: nothing of them may be kept.
constexpr std::uint32_t k_deps = BERTH_DEP_EVERYTHING;

/// What a container, or the overhead, says of a resource.
const berth_container_amount_v1* find(const berth_container_amount_v1* amounts, std::uint32_t count,
                                      berth::Id resource) {
  for (const auto& each : berth::span_of(amounts, count))
    if (each.name == resource) return &each;
  return nullptr;
}

class TargetLoadPacking {
 public:
  static constexpr berth::Identity identity{.name = "TargetLoadPacking",
                                            .version = "1.0.0",
                                            .summary = "Fills nodes up to a share of their cores, by measured load.",
                                            .deps = k_deps};
  static constexpr char args_schema[] = R"json({
    "type": "object", "additionalProperties": false, "required": ["metricProvider"], "properties": {)json" TRIMARAN_SPEC
                                        R"json(,
      "targetUtilization": {"type": "integer", "maximum": 100, "default": 40,
                            "description": "Up to this percentage of its cores a node is filled; below 1: 40."},
      "defaultRequests": {"type": "object", "description": "What a container uses that names neither request nor limit: cpu, 1000m."},
      "defaultRequestsMultiplier": {"type": "string", "default": "1.5", "description": "A request times this, where there is no limit."}
    }
  })json";
  static constexpr const char* services[] = {berth::Pods::id, berth::Intern::id, berth::Clock::id, berth::Executor::id,
                                             berth::NodeColumns::id};
  // Scores reject no pod: no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};
  static constexpr berth::Normalize normalization = berth::Normalize::custom;

  explicit TargetLoadPacking(berth::Setup& setup) : TargetLoadPacking(setup, setup.args()) {}

  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }

  void normalize(const berth::Cycle& cycle, std::span<const berth::Slot> nodes, std::span<std::int64_t> scores) {
    constexpr std::int64_t k_second = 1'000'000'000;
    collector_.follow(cycle);
    young_.follow(pods_, cycle, collector_.now_ns() / k_second, collector_.reading().read_ns / k_second,
                  [&](berth::Pod pod) { return cores_of(pod); });
    const std::int64_t own = cores_of(cycle.pod());
    const std::int64_t* const capacities = columns_.column(cycle, capacity_);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Load* const load = collector_.at(nodes[i]);
      const auto capacity = static_cast<double>(capacities[nodes[i]]);
      if (load == nullptr || !load->cpu_mean) continue;
      const double used = *load->cpu_mean / 100 * capacity + static_cast<double>(own + young_.cores_on(nodes[i]));
      scores[i] = std::max<std::int64_t>(packing_score(capacity == 0 ? 0 : 100 * used / capacity, target_), 0);
    }
  }

 private:
  TargetLoadPacking(berth::Setup& setup, const berth::Json& args)
      : pods_(setup.service<berth::Pods>()),
        columns_(setup.service<berth::NodeColumns>()),
        cpu_(setup.service<berth::Intern>()("cpu")),
        capacity_(setup.status_capacity("cpu")),
        target_(static_cast<double>(args["targetUtilization"].integer_or("targetUtilization", 40))),
        collector_(setup, args, {Series::cpu_mean}) {
    setup.pod_fields(BERTH_POD_CONTAINERS);
    if (target_ <= 0) target_ = 40;
    const std::string multiplier = args["defaultRequestsMultiplier"].string_or("defaultRequestsMultiplier", "1.5");
    char* end = nullptr;
    multiplier_ = std::strtod(multiplier.c_str(), &end);
    if (multiplier.empty() || *end != 0 || !std::isfinite(multiplier_))
      throw berth::BadArgs("unable to parse DefaultRequestsMultiplier: \"" + multiplier + "\"");
    const berth::Json& requests = args["defaultRequests"];
    if (requests.is_null()) return;
    const auto cores = berth::Quantity::parse(requests["cpu"].string_or("defaultRequests.cpu", "0"));
    if (!cores) throw berth::BadArgs("defaultRequests.cpu: \"" + requests["cpu"].string("cpu") + "\" is no quantity");
    default_cores_ = cores->milli();
  }

  /// By limits, else by requests and some more, else by default. Init containers have ended by then.
  std::int64_t cores_of(berth::Pod pod) const {
    std::int64_t cores = 0;
    for (const berth_container_v1& container : pod.containers()) {
      if (container.kind != BERTH_CONTAINER_APP) continue;
      const berth_container_amount_v1* const cpu = find(container.amounts, container.amount_count, cpu_);
      if (cpu != nullptr && (cpu->flags & BERTH_AMOUNT_LIMIT) != 0) {
        cores += cpu->limit;
      } else if (cpu != nullptr) {
        cores += std::llround(static_cast<double>(cpu->request) * multiplier_);
      } else {
        cores += default_cores_;
      }
    }
    for (const auto& each : pod.overhead())
      if (each.name == cpu_) cores += each.request;
    return cores;
  }

  berth::Pods pods_;
  berth::NodeColumns columns_;
  berth::Id cpu_;
  berth::IntColumn capacity_;
  double target_;
  double multiplier_ = 1.5;
  std::int64_t default_cores_ = 1000;
  YoungPods young_;
  Collector collector_;
};

class LoadVariationRiskBalancing {
 public:
  static constexpr berth::Identity identity{.name = "LoadVariationRiskBalancing",
                                            .version = "1.0.0",
                                            .summary = "Avoids nodes whose load is high or varies much.",
                                            .deps = k_deps};
  static constexpr char args_schema[] = R"json({
    "type": "object", "additionalProperties": false, "required": ["metricProvider"], "properties": {)json" TRIMARAN_SPEC
                                        R"json(,
      "safeVarianceMargin": {"type": "number", "default": 1, "description": "The standard deviation counts this often; below 0: 1."},
      "safeVarianceSensitivity": {"type": "number", "default": 1, "description": "The root that is taken of it; below 0: 1."}
    }
  })json";
  static constexpr const char* services[] = {berth::Intern::id, berth::Clock::id, berth::Executor::id,
                                             berth::NodeColumns::id};
  static constexpr std::array<berth::Interest, 0> interests{};
  static constexpr berth::Normalize normalization = berth::Normalize::custom;

  explicit LoadVariationRiskBalancing(berth::Setup& setup) : LoadVariationRiskBalancing(setup, setup.args()) {}

  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }

  void normalize(const berth::Cycle& cycle, std::span<const berth::Slot> nodes, std::span<std::int64_t> scores) {
    collector_.follow(cycle);
    const double cpu = asked(cycle.pod(), cpu_), memory = asked(cycle.pod(), memory_);
    const std::int64_t* const cores = columns_.column(cycle, cores_);
    const std::int64_t* const bytes = columns_.column(cycle, bytes_);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Load* const load = collector_.at(nodes[i]);
      if (load == nullptr) continue;
      const auto score_of = [&](const std::optional<Usage>& usage, std::int64_t capacity, double request) {
        const auto all = static_cast<double>(capacity);
        return usage ? risk_score(all, request, usage->mean * all / 100, usage->deviation * all / 100, margin_,
                                  sensitivity_)
                     : 0;
      };
      const double by_cpu = score_of(load->cpu, cores[nodes[i]], cpu),
                   by_memory = score_of(load->memory, bytes[nodes[i]], memory);
      scores[i] = std::llround(load->cpu && load->memory ? std::min(by_cpu, by_memory) : std::max(by_cpu, by_memory));
    }
  }

 private:
  LoadVariationRiskBalancing(berth::Setup& setup, const berth::Json& args)
      : columns_(setup.service<berth::NodeColumns>()),
        cpu_(setup.service<berth::Intern>()("cpu")),
        memory_(setup.service<berth::Intern>()("memory")),
        cores_(setup.allocatable("cpu")),
        bytes_(setup.allocatable("memory")),
        margin_(not_negative(args["safeVarianceMargin"])),
        sensitivity_(not_negative(args["safeVarianceSensitivity"])),
        collector_(setup, args,
                   {Series::cpu_mean, Series::cpu_deviation, Series::memory_mean, Series::memory_deviation}) {
    setup.pod_fields(BERTH_POD_CONTAINERS);
  }
  static double not_negative(const berth::Json& value) {
    const double number = value.is_null() ? 1 : value.number("safeVariance");
    return number < 0 ? 1 : number;
  }
  /// Containers at a time, or the greatest that runs before them, and the overhead.
  static double asked(berth::Pod pod, berth::Id resource) {
    std::int64_t running = 0, initial = 0, overhead = 0;
    for (const berth_container_v1& container : pod.containers()) {
      const berth_container_amount_v1* const amount = find(container.amounts, container.amount_count, resource);
      if (amount == nullptr) continue;
      if (container.kind == BERTH_CONTAINER_APP) {
        running += amount->request;
      } else {
        initial = std::max(initial, amount->request);
      }
    }
    for (const auto& each : pod.overhead())
      if (each.name == resource) overhead += each.request;
    return static_cast<double>(std::max(running, initial) + overhead);
  }

  berth::NodeColumns columns_;
  berth::Id cpu_, memory_;
  berth::IntColumn cores_, bytes_;
  double margin_, sensitivity_;
  Collector collector_;
};

}  // namespace
}  // namespace trimaran

BERTH_PLUGINS(trimaran::TargetLoadPacking, trimaran::LoadVariationRiskBalancing)
