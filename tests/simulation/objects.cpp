// SPDX-License-Identifier: Apache-2.0
#include "simulation/objects.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

namespace berth::simulation {
namespace {

namespace json = boost::json;

const json::value* at(const json::value& object, std::string_view pointer) {
  boost::system::error_code missing;
  const json::value* const found = object.find_pointer(pointer, missing);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

std::string text(const json::value& object, std::string_view pointer) {
  const json::value* const found = at(object, pointer);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t number(const json::value& object, std::string_view pointer, std::int64_t otherwise = 0) {
  const json::value* const found = at(object, pointer);
  return found != nullptr && found->is_int64() ? found->get_int64() : otherwise;
}

const json::array& list(const json::value& object, std::string_view pointer) {
  static const json::array k_none;
  const json::value* const found = at(object, pointer);
  return found != nullptr && found->is_array() ? found->get_array() : k_none;
}

/// A quantity in thousandths: "500m", "2", "1Gi". Nothing when it is none.
std::optional<std::int64_t> thousandths(const std::string& text) {
  static const std::map<std::string, double> k_units{{"", 1e3},      {"m", 1},          {"k", 1e6},
                                                     {"M", 1e9},     {"G", 1e12},       {"T", 1e15},
                                                     {"Ki", 1024e3}, {"Mi", 1048576e3}, {"Gi", 1073741824e3}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit = k_units.find(std::string(end, text.data() + text.size()));
  if (error != std::errc() || unit == k_units.end()) return std::nullopt;
  return static_cast<std::int64_t>(value * unit->second + 0.5);
}

/// False when one of them is no quantity.
bool read_amount(const json::value& object, Amount& into) {
  bool is_good = true;
  const auto read = [&](const char* pointer) -> std::int64_t {
    const json::value* const found = at(object, pointer);
    if (found == nullptr) return 0;
    const auto value = thousandths(found->is_int64() ? std::to_string(found->get_int64()) : text(object, pointer));
    is_good = is_good && value.has_value();
    return value.value_or(0);
  };
  into.cpu_m = read("/cpu");
  into.memory_b = read("/memory") / 1000;
  into.pods = read("/pods") / 1000;
  return is_good;
}

Labels read_labels(const json::value& object, std::string_view pointer) {
  Labels out;
  if (const json::value* const found = at(object, pointer); found != nullptr && found->is_object())
    for (const auto& [key, value] : found->get_object())
      if (value.is_string()) out.emplace(std::string(key), std::string(value.get_string()));
  return out;
}

Expressions read_expressions(const json::value& term) {
  Expressions out;
  for (const json::value& one : list(term, "/matchExpressions")) {
    Expression expression{text(one, "/key"), text(one, "/operator"), {}};
    for (const json::value& value : list(one, "/values"))
      if (value.is_string()) expression.values.emplace_back(value.get_string());
    out.push_back(std::move(expression));
  }
  for (const auto& [key, value] : read_labels(term, "/matchLabels")) out.push_back({key, "In", {value}});
  return out;
}

Expressions read_selector(const json::value& object, std::string_view pointer) {
  const json::value* const found = at(object, pointer);
  return found == nullptr ? Expressions{{"", "None", {}}} : read_expressions(*found);
}

std::vector<Expressions> read_terms(const json::value& object, std::string_view pointer) {
  std::vector<Expressions> out;
  for (const json::value& term : list(object, pointer)) out.push_back(read_expressions(term));
  return out;
}

std::vector<PodTerm> read_pod_terms(const json::value& object, std::string_view kind) {
  std::vector<PodTerm> out;
  for (const json::value& term :
       list(object, fmt::format("/spec/affinity/{}/requiredDuringSchedulingIgnoredDuringExecution", kind)))
    out.push_back({read_selector(term, "/labelSelector"), text(term, "/topologyKey")});
  return out;
}

/// All containers together, or the largest of those that run before them.
bool read_wants(const json::value& object, Amount& into) {
  bool is_good = true;
  for (const json::value& container : list(object, "/spec/containers")) {
    Amount one;
    if (const json::value* const requests = at(container, "/resources/requests"))
      is_good = is_good && read_amount(*requests, one);
    into += one;
  }
  for (const json::value& container : list(object, "/spec/initContainers")) {
    Amount one;
    if (const json::value* const requests = at(container, "/resources/requests"))
      is_good = is_good && read_amount(*requests, one);
    into.cpu_m = std::max(into.cpu_m, one.cpu_m);
    into.memory_b = std::max(into.memory_b, one.memory_b);
  }
  if (const json::value* const overhead = at(object, "/spec/overhead")) {
    Amount one;
    is_good = is_good && read_amount(*overhead, one);
    into += one;
  }
  into.pods = 1;
  return is_good;
}

bool tolerates(const PodState& pod, const Taint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const Toleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.key.empty()) return one.how == "Exists";
    return one.key == taint.key && (one.how == "Exists" || one.value == taint.value);
  });
}

}  // namespace

Amount& Amount::operator+=(const Amount& more) noexcept {
  cpu_m += more.cpu_m;
  memory_b += more.memory_b;
  pods += more.pods;
  return *this;
}

Amount& Amount::operator-=(const Amount& less) noexcept {
  cpu_m -= less.cpu_m;
  memory_b -= less.memory_b;
  pods -= less.pods;
  return *this;
}

bool Amount::fits_into(const Amount& room) const noexcept {
  return cpu_m <= room.cpu_m && memory_b <= room.memory_b && pods <= room.pods;
}

std::string Amount::text() const { return fmt::format("{}m CPU, {} Mi, {} pods", cpu_m, memory_b >> 20, pods); }

bool Expression::holds(const Labels& labels) const {
  const auto found = labels.find(key);
  const bool is_there = found != labels.end();
  if (how == "Exists") return is_there;
  if (how == "DoesNotExist") return !is_there;
  const bool is_listed = is_there && std::find(values.begin(), values.end(), found->second) != values.end();
  if (how == "In") return is_listed;
  return how == "NotIn" && !is_listed;
}

bool all_hold(const Expressions& expressions, const Labels& labels) {
  return std::all_of(expressions.begin(), expressions.end(), [&](const Expression& one) { return one.holds(labels); });
}

bool one_holds(const std::vector<Expressions>& terms, const Labels& labels) {
  return terms.empty() || std::any_of(terms.begin(), terms.end(),
                                      [&](const Expressions& term) { return !term.empty() && all_hold(term, labels); });
}

PodState read_pod(const json::value& object) {
  PodState pod;
  pod.name = text(object, "/metadata/name");
  pod.ns = text(object, "/metadata/namespace");
  pod.uid = text(object, "/metadata/uid");
  pod.labels = read_labels(object, "/metadata/labels");
  pod.node = text(object, "/spec/nodeName");
  pod.gang = text(object, "/spec/schedulingGroup/podGroupName");
  pod.node_selector = read_labels(object, "/spec/nodeSelector");
  pod.node_terms = read_terms(
      object, "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
  pod.near = read_pod_terms(object, "podAffinity");
  pod.apart = read_pod_terms(object, "podAntiAffinity");
  for (const json::value& one : list(object, "/spec/topologySpreadConstraints"))
    if (text(one, "/whenUnsatisfiable") == "DoNotSchedule")
      pod.spread.push_back(
          {read_selector(one, "/labelSelector"), text(one, "/topologyKey"), number(one, "/maxSkew", 1)});
  for (const json::value& one : list(object, "/spec/tolerations"))
    pod.tolerations.push_back({text(one, "/key"), text(one, "/value"), text(one, "/effect"), text(one, "/operator")});
  for (const json::value& one : list(object, "/spec/volumes"))
    if (std::string claim = text(one, "/persistentVolumeClaim/claimName"); !claim.empty())
      pod.claims.push_back(std::move(claim));
  pod.is_strange = !read_wants(object, pod.wants);
  pod.priority = static_cast<std::int32_t>(number(object, "/spec/priority"));
  pod.may_preempt = text(object, "/spec/preemptionPolicy") != "Never";
  pod.is_gated = !list(object, "/spec/schedulingGates").empty();
  pod.nominated = text(object, "/status/nominatedNodeName");
  const std::string phase = text(object, "/status/phase");
  pod.is_over = phase == "Succeeded" || phase == "Failed";
  pod.is_running = phase == "Running";
  pod.is_leaving = at(object, "/metadata/deletionTimestamp") != nullptr;
  return pod;
}

NodeState read_node(const json::value& object) {
  NodeState node;
  node.name = text(object, "/metadata/name");
  node.labels = read_labels(object, "/metadata/labels");
  for (const json::value& one : list(object, "/spec/taints"))
    node.taints.push_back({text(one, "/key"), text(one, "/value"), text(one, "/effect")});
  if (const json::value* const amount = at(object, "/status/allocatable")) read_amount(*amount, node.has);
  const json::value* const closed = at(object, "/spec/unschedulable");
  node.is_closed = closed != nullptr && closed->is_bool() && closed->get_bool();
  return node;
}

BudgetState read_budget(const json::value& object) {
  BudgetState budget;
  budget.name = text(object, "/metadata/name");
  budget.ns = text(object, "/metadata/namespace");
  budget.selector = read_selector(object, "/spec/selector");
  budget.allowed = number(object, "/status/disruptionsAllowed");
  return budget;
}

std::vector<Expressions> read_volume(const json::value& object) {
  return read_terms(object, "/spec/nodeAffinity/required/nodeSelectorTerms");
}

std::optional<std::string> refusal_of_node(const PodState& pod, const NodeState& node) {
  if (node.is_closed && !tolerates(pod, {"node.kubernetes.io/unschedulable", "", "NoSchedule"})) return "it is closed";
  for (const auto& [key, value] : pod.node_selector)
    if (const auto found = node.labels.find(key); found == node.labels.end() || found->second != value)
      return fmt::format("it has not {}={}", key, value);
  if (!one_holds(pod.node_terms, node.labels)) return "its labels are not those that the node affinity asks for";
  for (const Taint& taint : node.taints)
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !tolerates(pod, taint))
      return fmt::format("the taint {}={} is not tolerated", taint.key, taint.value);
  return std::nullopt;
}

}  // namespace berth::simulation
