// SPDX-License-Identifier: Apache-2.0
#include "report/decision.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/product.hpp"
#include "text/json_writer.hpp"

namespace berth::report {
namespace {

void write_node_rejection(text::JsonWriter& json, const cycle::NodeExplanation& node) {
  json.begin_object().key("plugin").text(node.plugin).key("code").text(framework::code_name(node.code));
  json.key("reasons").begin_list();
  for (const std::string& reason : node.reasons) json.text(reason);
  json.end_list().end_object();
}

void write_scores(text::JsonWriter& json, const cycle::NodeExplanation& node) {
  json.begin_object().key("total").number(node.total).key("plugins").begin_object();
  for (const auto& [plugin, score] : node.scores) json.key(plugin).number(score);
  json.end_object().end_object();
}

void write_node_scores(text::JsonWriter& json, const cycle::Explanation& explanation) {
  json.key("rejected").begin_object();
  if (explanation.pod_rejection) write_node_rejection(json.key("*"), *explanation.pod_rejection);
  for (const cycle::NodeExplanation& node : explanation.nodes)
    if (node.code != framework::Code::success) write_node_rejection(json.key(node.node), node);
  json.end_object().key("scores").begin_object();
  if (explanation.error.empty())
    for (const cycle::NodeExplanation& node : explanation.nodes)
      if (node.code == framework::Code::success) write_scores(json.key(node.node), node);
  json.end_object();
}

std::string decision_json(const Decision& decision) {
  text::JsonWriter json;
  json.begin_object().key("pod").text(decision.pod->key()).key("node");
  if (decision.node.empty()) {
    json.null().key("message").text(decision.message);
  } else {
    json.text(decision.node).key("evaluatedNodes").number(decision.evaluated_nodes);
    json.key("feasibleNodes").number(decision.feasible_nodes);
  }
  if (!decision.nominated_node.empty()) json.key("nominatedNode").text(decision.nominated_node);
  if (!decision.victims.empty()) {
    json.key("victims").begin_list();
    for (const std::string& victim : decision.victims) json.text(victim);
    json.end_list();
  }
  if (!decision.post_filter_message.empty()) json.key("postFilterMessage").text(decision.post_filter_message);
  if (!decision.pre_bind.empty()) json.key("preBind").text(decision.pre_bind);
  if (!decision.claims.empty()) json.key("claims").raw(decision.claims);
  if (decision.explanation) write_node_scores(json, *decision.explanation);
  return json.end_object().take();
}

}  // namespace

Decision describe(const model::PodPtr& pod, const cycle::Outcome& outcome, const SymbolTable& symbols,
                  const cache::ClusterCache& cache) {
  Decision decision;
  decision.pod = pod;
  if (const auto* placement = std::get_if<cycle::Placement>(&outcome)) {
    decision.node = symbols.text(placement->assumption.node_name());
    decision.evaluated_nodes = placement->evaluated_nodes;
    decision.feasible_nodes = placement->feasible_nodes;
    return decision;
  }
  const auto& rejection = std::get<cycle::Rejection>(outcome);
  decision.code = rejection.code;
  decision.message = rejection.message;
  decision.post_filter_message = rejection.post_filter_message;
  if (rejection.nomination.mode == model::Nomination::Mode::set)
    decision.nominated_node = symbols.text(rejection.nomination.node);
  decision.preemption = rejection.preemption;
  for (const std::string& uid : rejection.victims)
    if (const auto victim = cache.find_pod(uid); victim && !victim->pod->deleting)
      decision.victims.push_back(victim->pod->key());
  std::sort(decision.victims.begin(), decision.victims.end());
  return decision;
}

std::string decisions_json(const std::vector<Decision>& decisions) {
  // A decision on each line, for people who look for one.
  std::string out = fmt::format("{{\"scheduler\":\"{}\",\"decisions\":[", product());
  for (std::size_t i = 0; i < decisions.size(); ++i) out += (i == 0 ? "\n" : ",\n") + decision_json(decisions[i]);
  return out + "\n]}\n";
}

}  // namespace berth::report
