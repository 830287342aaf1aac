// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/pod_changes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "app/simulate/object_copies.hpp"
#include "report/report_text.hpp"
#include "text/json_object.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

PodChange changed(const char* kind, std::string text, std::string json, model::Pod pod) {
  return {kind, std::move(text), std::move(json), std::make_shared<const model::Pod>(std::move(pod))};
}

/// The change that leaves out all of a kind. words: "node selector".
PodChange all_left_out(const char* kind, std::string_view words, model::Pod pod) {
  return changed(kind, fmt::format("without any {}", words), JsonObject().json("all", "true").done(), std::move(pod));
}

std::string requirement_text(const model::Requirement& requirement, const SymbolTable& symbols) {
  static constexpr std::string_view k_operators[] = {"", "in", "not in", "exists", "does not exist", ">", "<"};
  std::string out = fmt::format("{} {}", symbols.text(requirement.key),
                                k_operators[static_cast<std::size_t>(requirement.op) % std::size(k_operators)]);
  if (requirement.op == model::Operator::gt || requirement.op == model::Operator::lt)
    return out + ' ' + std::to_string(requirement.number);
  for (std::size_t i = 0; i < requirement.values.size(); ++i)
    out += (i == 0 ? " (" : ", ") + std::string(symbols.text(requirement.values[i]));
  return requirement.values.empty() ? out : out + ')';
}

std::string selector_text(const model::Selector& selector, const SymbolTable& symbols) {
  std::string out;
  for (const model::Requirement& requirement : selector.requirements)
    out += (out.empty() ? "" : ", ") + requirement_text(requirement, symbols);
  return out;
}

template <typename T>
std::vector<T> without(const model::SharedList<T>& list, std::size_t place) {
  std::vector<T> left(list.begin(), list.end());
  left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
  return left;
}

JsonObject place_json(const char* key, std::size_t place) { return std::move(JsonObject().number(key, place)); }

void add_terms(std::vector<PodChange>& out, const model::Pod& pod, bool is_anti, const SymbolTable& symbols) {
  const auto& terms = is_anti ? pod.spec->affinity.anti_required : pod.spec->affinity.required;
  const char* const kind = is_anti ? "podAntiAffinity" : "podAffinity";
  const char* const words = is_anti ? "anti-affinity" : "affinity";
  for (std::size_t i = 0; i < terms.size(); ++i) {
    model::Pod copy = pod;
    model::PodAffinity& affinity = copy.spec.edit().affinity;
    (is_anti ? affinity.anti_required : affinity.required) = without(terms, i);
    const std::string_view key = symbols.text(terms[i].topology_key);
    out.push_back(changed(kind,
                          fmt::format("without the required {} to pods with {} over {}", words,
                                      selector_text(terms[i].selector, symbols), key),
                          place_json("term", i).text("topologyKey", key).done(), std::move(copy)));
  }
  if (terms.size() < 2) return;
  model::Pod copy = pod;
  model::PodAffinity& affinity = copy.spec.edit().affinity;
  (is_anti ? affinity.anti_required : affinity.required).clear();
  out.push_back(all_left_out(kind, std::string("required ") + words, std::move(copy)));
}

report::AmountUnit unit_of(std::string_view name) {
  if (name == "cpu") return report::AmountUnit::milli_cores;
  const bool is_bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
  return is_bytes ? report::AmountUnit::bytes : report::AmountUnit::count;
}

/// Takes `cut` from what containers ask for, from the first that have some.
void cut_containers(model::PodRequests& requests, Symbol name, std::int64_t cut) {
  for (model::ContainerResources& container : requests.containers)
    for (model::ContainerAmount& amount : container.amounts) {
      if (amount.name != name || container.kind == model::ContainerResources::Kind::init) continue;
      const std::int64_t taken = std::min(cut, amount.request);
      amount.request -= taken;
      cut -= taken;
    }
}

}  // namespace

std::vector<PodChange> without_node_selector(const model::Pod& pod, const SymbolTable& symbols) {
  std::vector<PodChange> out;
  const auto& selector = pod.node_selection->selector;
  for (std::size_t i = 0; i < selector.size(); ++i) {
    model::Pod copy = pod;
    copy.node_selection.edit().selector = without(selector, i);
    copy.node_selection.edit().has_selector = selector.size() > 1;
    const std::string_view key = symbols.text(selector[i].key), value = symbols.text(selector[i].value);
    out.push_back(changed("nodeSelector", fmt::format("without the node selector {}={}", key, value),
                          JsonObject().text("key", key).text("value", value).done(), std::move(copy)));
  }
  if (selector.size() < 2) return out;
  model::Pod copy = pod;
  copy.node_selection.edit().selector.clear();
  copy.node_selection.edit().has_selector = false;
  out.push_back(all_left_out("nodeSelector", "node selector", std::move(copy)));
  return out;
}

std::vector<PodChange> without_node_affinity(const model::Pod& pod, const SymbolTable& symbols) {
  std::vector<PodChange> out;
  const model::NodeSelection& selection = pod.node_selection.get();
  if (!selection.has_required) return out;
  std::size_t requirements = 0;
  for (std::size_t term = 0; term < selection.required.size(); ++term) {
    const model::NodeTerm& of = selection.required[term];
    requirements += of.expressions.size() + of.fields.size();
    if (of.expressions.size() + of.fields.size() < 2) continue;  // a term of nothing matches nothing
    for (std::size_t i = 0; i < of.expressions.size(); ++i) {
      model::Pod copy = pod;
      std::vector<model::Requirement>& left = copy.node_selection.edit().required.edit()[term].expressions;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      out.push_back(changed("nodeAffinity",
                            "without the required node affinity " + requirement_text(of.expressions[i], symbols),
                            place_json("term", term).number("expression", i).done(), std::move(copy)));
    }
  }
  model::Pod copy = pod;
  copy.node_selection.edit().has_required = false;
  copy.node_selection.edit().required.clear();
  std::string words = "without any required node affinity";
  if (requirements == 1)
    for (const model::NodeTerm& term : selection.required)
      for (const auto* list : {&term.expressions, &term.fields})
        for (const model::Requirement& one : *list)
          words = "without the required node affinity " + requirement_text(one, symbols);
  out.push_back(changed("nodeAffinity", std::move(words), JsonObject().json("all", "true").done(), std::move(copy)));
  return out;
}

std::vector<PodChange> without_host_ports(const model::Pod& pod, const SymbolTable& symbols) {
  std::vector<PodChange> out;
  const auto& ports = pod.spec->host_ports;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    model::Pod copy = pod;
    copy.spec.edit().host_ports = without(ports, i);
    JsonObject json;
    json.number("port", ports[i].port).text("protocol", symbols.text(ports[i].protocol));
    out.push_back(changed("hostPort",
                          fmt::format("without host port {}/{}", ports[i].port, symbols.text(ports[i].protocol)),
                          json.text("hostIP", symbols.text(ports[i].ip)).done(), std::move(copy)));
  }
  if (ports.size() < 2) return out;
  model::Pod copy = pod;
  copy.spec.edit().host_ports.clear();
  out.push_back(all_left_out("hostPort", "host port", std::move(copy)));
  return out;
}

std::vector<PodChange> without_pod_affinity(const model::Pod& pod, const SymbolTable& symbols, bool is_anti) {
  std::vector<PodChange> out;
  add_terms(out, pod, is_anti, symbols);
  return out;
}

std::vector<PodChange> without_volumes(const model::Pod& pod) {
  std::vector<PodChange> out;
  std::size_t on_node = 0;
  for (std::size_t i = 0; i < pod.volumes.size(); ++i) {
    const model::PodVolume& volume = pod.volumes[i];
    if (volume.kind == model::PodVolume::Kind::other) continue;
    const std::size_t entry = on_node++;
    model::Pod copy = pod;
    copy.volumes = without(pod.volumes, i);
    if (entry < pod.node_volumes.size()) copy.node_volumes = without(pod.node_volumes, entry);
    const bool is_claim = volume.kind == model::PodVolume::Kind::claim;
    out.push_back(changed(
        "volume", fmt::format("without volume {}{}", volume.name, is_claim ? " (claim " + volume.source + ")" : ""),
        JsonObject().text("name", volume.name).done(), std::move(copy)));
  }
  return out;
}

std::vector<PodChange> without_claims(const model::Pod& pod) {
  std::vector<PodChange> out;
  const auto& claims = pod.spec->resource_claims;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    model::Pod copy = pod;
    copy.spec.edit().resource_claims = without(claims, i);
    out.push_back(changed("resourceClaim", "without resource claim " + claims[i].name,
                          JsonObject().text("name", claims[i].name).done(), std::move(copy)));
  }
  return out;
}

std::vector<std::size_t> spread_constraints(const model::Pod& pod) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < pod.spec->spread.size(); ++i)
    if (pod.spec->spread[i].action == model::SpreadAction::do_not_schedule) places.push_back(i);
  return places;
}

PodChange with_max_skew(const model::Pod& pod, std::size_t constraint, std::int32_t max_skew,
                        const SymbolTable& symbols) {
  const model::SpreadConstraint& before = pod.spec->spread[constraint];
  const std::string_view key = symbols.text(before.topology_key);
  JsonObject json = place_json("constraint", constraint);
  json.text("topologyKey", key);
  model::Pod copy = pod;
  if (max_skew == 0) {
    copy.spec.edit().spread = without(pod.spec->spread, constraint);
    return changed("topologySpread", fmt::format("without the spread over {}", key), json.json("remove", "true").done(),
                   std::move(copy));
  }
  copy.spec.edit().spread.edit()[constraint].max_skew = max_skew;
  json.json("maxSkew", JsonObject().number("from", before.max_skew).number("to", max_skew).done());
  return changed("topologySpread", fmt::format("with maxSkew {} instead of {} over {}", max_skew, before.max_skew, key),
                 json.done(), std::move(copy));
}

std::string taint_text(const model::Taint& taint, const SymbolTable& symbols) {
  const std::string_view value = symbols.text(taint.value);
  return fmt::format("{}{}{}:{}", symbols.text(taint.key), value.empty() ? "" : "=", value,
                     taint_effect_name(taint.effect));
}

PodChange with_tolerations(const model::Pod& pod, const std::vector<model::Taint>& taints, const SymbolTable& symbols) {
  model::Pod copy = pod;
  std::string names;
  for (const model::Taint& taint : taints) {
    names += (names.empty() ? "" : " and ") + taint_text(taint, symbols);
    model::Toleration toleration;
    toleration.key = taint.key;
    toleration.value = taint.value;
    toleration.effect = taint.effect;
    copy.spec.edit().tolerations.push_back(toleration);
  }
  const std::string list = text::list_json(taints, [&](std::string& out, const model::Taint& taint) {
    JsonObject one;
    one.text("key", symbols.text(taint.key)).text("value", symbols.text(taint.value));
    out += one.text("effect", taint_effect_name(taint.effect)).done();
  });
  return changed("toleration", (taints.size() == 1 ? "with a toleration of " : "with tolerations of ") + names,
                 JsonObject().json("tolerations", list).done(), std::move(copy));
}

PodChange with_requests(const model::Pod& pod, const std::vector<RequestStep>& steps, const SymbolTable& symbols) {
  model::Pod copy = pod;
  model::PodRequests& requests = copy.requests.edit();
  std::string text;
  std::vector<std::string> list;
  for (const auto& [place, to] : steps) {
    model::PodResource& resource = requests.resources[place];
    const std::string_view name = symbols.text(resource.name);
    const report::AmountUnit unit = unit_of(name);
    const std::int64_t cut = resource.request - to;
    text += text.empty() ? "with " : " and ";
    text += to == 0 ? fmt::format("no {} instead of {}", name, report::amount_text(resource.request, unit))
                    : fmt::format("{} instead of {} {}", report::amount_text(to, unit),
                                  report::amount_text(resource.request, unit), name);
    JsonObject json;
    json.text("name", name).text("unit", report::unit_name(unit)).number("from", resource.request).number("to", to);
    list.push_back(json.done());
    resource.request = to;
    resource.effective = std::max<std::int64_t>(resource.effective - cut, 0);
    resource.scoring = std::max<std::int64_t>(resource.scoring - cut, 0);
    cut_containers(requests, resource.name, cut);
  }
  const std::string all = text::list_json(list, [](std::string& out, const std::string& one) { out += one; });
  return changed("resources", std::move(text), JsonObject().json("requests", all).done(), std::move(copy));
}

}  // namespace berth::app
