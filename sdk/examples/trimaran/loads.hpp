// SPDX-License-Identifier: Apache-2.0
/// Load of nodes as Prometheus knows it: the queries, their answers, and the scores that follow from them.
///
/// Units:   loads in percent of what the node has, amounts in milli-cores and bytes.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/trimaran, and the Prometheus client of github.com/paypal/load-watcher.
#pragma once
#include <berth/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trimaran {

/// Mean and standard deviation over the last minutes; the first may be missing where the second is not, and is 0 then.
struct Usage {
  double mean = 0, deviation = 0;
};
struct Load {
  std::optional<double> cpu_mean;  ///< absent: no such reading
  std::optional<Usage> cpu, memory;
};
using Loads = std::map<std::string, Load, std::less<>>;

/// What is asked for, in this order.
enum class Series { cpu_mean, cpu_deviation, memory_mean, memory_deviation };

/// Recording rules of node-exporter's mixin: shares of what the node has, 0 … 1.
inline std::string query_of(Series series) {
  const bool is_mean = series == Series::cpu_mean || series == Series::memory_mean;
  const bool is_cpu = series == Series::cpu_mean || series == Series::cpu_deviation;
  return std::string(is_mean ? "avg_over_time(" : "stddev_over_time(") +
         (is_cpu ? "instance:node_cpu:ratio" : "instance:node_memory_utilisation:ratio") + "[15m])";
}

/// Adds the answer to an instant query. Throws std::runtime_error for anything but a vector. Series without the label, and values that
/// are no numbers (NaN), are no readings. A port behind the node's name is left out.
inline void take_answer(std::string_view body, std::string_view node_label, Series series, Loads& loads) {
  const berth::Json answer = berth::Json::parse(body);
  if (!answer["status"].is_string() || answer["status"].string("status") != "success")
    throw std::runtime_error(answer["error"].is_string() ? answer["error"].string("error") : "the query failed");
  const berth::Json& data = answer["data"];
  if (!data["resultType"].is_string() || data["resultType"].string("resultType") != "vector")
    throw std::runtime_error("the answer is no vector");
  for (const berth::Json& each : data["result"].array("result")) {
    const berth::Json& node = each["metric"][node_label];
    const auto& value = each["value"].array("value");
    if (!node.is_string() || value.size() != 2 || !value[1].is_string()) continue;
    const double share = std::strtod(value[1].string("value").c_str(), nullptr);
    if (!std::isfinite(share)) continue;
    std::string_view name = node.string("node");
    name = name.substr(0, name.find(':'));
    Load& load = loads[std::string(name)];
    const bool is_cpu = series == Series::cpu_mean || series == Series::cpu_deviation;
    Usage& usage =
        is_cpu ? load.cpu.emplace(load.cpu.value_or(Usage{})) : load.memory.emplace(load.memory.value_or(Usage{}));
    (series == Series::cpu_mean || series == Series::memory_mean ? usage.mean : usage.deviation) = share * 100;
    if (series == Series::cpu_mean) load.cpu_mean = share * 100;
  }
}

/// Of TargetLoadPacking: rises up to the target, falls to 0 beyond it. percent: what the node's cores will be used.
inline std::int64_t packing_score(double percent, double target) {
  if (percent > 100) return 0;
  if (percent > target) return std::llround(target * (100 - percent) / (100 - target));
  return std::llround((100 - target) * percent / target + target);
}

/// Of LoadVariationRiskBalancing: 100 less the risk, which is the mean of what is used and of what that varies by. Amounts of one unit.
inline double risk_score(double capacity, double asked, double mean, double deviation, double margin,
                         double sensitivity) {
  if (capacity <= 0) return 0;
  const auto share = [&](double amount) { return std::clamp(amount / capacity, 0.0, 1.0); };
  const double used = share(std::max(asked, 0.0) + std::clamp(mean, 0.0, capacity));
  double varies = share(std::clamp(deviation, 0.0, capacity));
  if (sensitivity >= 0 && sensitivity != 1) varies = std::pow(varies, 1 / sensitivity);
  varies = std::clamp(varies * margin, 0.0, 1.0);
  return (1 - (used + varies) / 2) * 100;
}

}  // namespace trimaran
