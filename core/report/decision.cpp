// SPDX-License-Identifier: Apache-2.0
#include "report/decision.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "base/product.hpp"
#include "text/json_writer.hpp"

namespace berth::report {
namespace {

constexpr std::size_t k_top_scores = 3;

void append_number(std::string& out, std::int64_t number) {
  char digits[std::numeric_limits<std::int64_t>::digits10 + 3];
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

/// Appends what all nodes say about a pod: of many pods and nodes that is nearly all there is to write, so what nodes
/// have in common is put into words once.
class JudgedNodes {
 public:
  explicit JudgedNodes(std::string& out) : out_(out) {}

  void append(const cycle::Explanation& explanation) {
    out_ += ",\"rejected\":{";
    is_first_ = true;
    if (explanation.pod_rejection) rejection("*", *explanation.pod_rejection);
    for (const cycle::NodeExplanation& node : explanation.nodes)
      if (node.code != framework::Code::success) rejection(node.node, node);
    out_ += "},\"scores\":{";
    is_first_ = true;
    if (explanation.error.empty()) {
      for (const std::string& scorer : explanation.scorers) {
        std::string& key = score_keys_.emplace_back(score_keys_.empty() ? "" : ",");
        text::append_json_string(key, scorer);
        key += ':';
      }
      for (const cycle::NodeExplanation& node : explanation.nodes)
        if (node.code == framework::Code::success) scores(node);
    }
    out_ += '}';
  }

 private:
  void name(std::string_view node) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    text::append_json_string(out_, node);
  }

  void rejection(std::string_view node_name, const cycle::NodeExplanation& node) {
    name(node_name);
    auto said = std::find_if(said_.begin(), said_.end(), [&](const auto& known) {
      return known.first->code == node.code && known.first->plugin == node.plugin &&
             known.first->reasons == node.reasons;
    });
    if (said == said_.end()) {
      if (said_.size() == k_kinds_kept) said_.clear();
      text::JsonWriter json;
      json.begin_object().key("plugin").text(node.plugin).key("code").text(framework::code_name(node.code));
      said = said_.emplace(said_.end(), &node, ":" + json.key("reasons").texts(node.reasons).end_object().take());
    }
    out_ += said->second;
  }

  void scores(const cycle::NodeExplanation& node) {
    name(node.node);
    out_ += ":{\"total\":";
    append_number(out_, node.total);
    out_ += ",\"plugins\":{";
    for (std::size_t i = 0; i < node.scores.size(); ++i) {
      out_ += score_keys_[i];
      append_number(out_, node.scores[i]);
    }
    out_ += "}}";
  }

  std::string& out_;
  bool is_first_ = true;
  static constexpr std::size_t k_kinds_kept = 16;
  std::vector<std::pair<const cycle::NodeExplanation*, std::string>>
      said_;  // a node that is rejected so, and the words
  std::vector<std::string> score_keys_;
};

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
  if (rejection.preemption)
    decision.preemption = std::make_shared<const preemption::PreemptionReport>(*rejection.preemption);
  std::vector<std::string> victims;
  for (const std::string& uid : rejection.victims)
    if (const auto victim = cache.find_pod(uid); victim && !victim->pod->deleting)
      victims.push_back(victim->pod->key());
  std::sort(victims.begin(), victims.end());
  decision.victims = std::move(victims);
  return decision;
}

void share_texts(Decision& decision, SharedTexts& texts) {
  for (model::SharedText* const text :
       {&decision.node, &decision.message, &decision.post_filter_message, &decision.nominated_node, &decision.pre_bind})
    *text = texts.shared(*text);
}

void keep_top_scores(Decision& decision) {
  if (!decision.explanation) return;
  std::vector<const cycle::NodeExplanation*> best;
  for (const cycle::NodeExplanation& node : decision.explanation->nodes)
    if (node.code == framework::Code::success) best.push_back(&node);
  const auto end = best.begin() + static_cast<std::ptrdiff_t>(std::min(best.size(), k_top_scores));
  // The nodes lie in their order, which decides about equals.
  std::partial_sort(best.begin(), end, best.end(),
                    [](const auto* a, const auto* b) { return a->total != b->total ? a->total > b->total : a < b; });
  std::vector<NodeScore> scores;
  for (auto at = best.begin(); at != end; ++at) scores.emplace_back((*at)->node, (*at)->total);
  decision.top_scores = std::move(scores);
}

std::string decisions_head() { return fmt::format("{{\"scheduler\":\"{}\",\"decisions\":[", product()); }

std::string claims_member(std::string_view claims) { return fmt::format(",\"claims\":{}", claims); }

std::size_t append_decision(std::string& out, const Decision& decision, bool is_first) {
  out += is_first ? "\n" : ",\n";
  text::JsonWriter json;
  json.begin_object().key("pod").text(decision.pod->key()).key("node");
  if (decision.node.empty()) {
    json.null().key("message").text(decision.message);
  } else {
    json.text(decision.node).key("evaluatedNodes").number(decision.evaluated_nodes);
    json.key("feasibleNodes").number(decision.feasible_nodes);
  }
  if (!decision.nominated_node.empty()) json.key("nominatedNode").text(decision.nominated_node);
  if (!decision.victims.empty()) json.key("victims").texts(decision.victims);
  if (!decision.post_filter_message.empty()) json.key("postFilterMessage").text(decision.post_filter_message);
  if (!decision.pre_bind.empty()) json.key("preBind").text(decision.pre_bind);
  out += json.take();
  const std::size_t claims_at = out.size();
  if (!decision.claims.empty()) out += claims_member(decision.claims);
  if (decision.explanation) JudgedNodes(out).append(*decision.explanation);
  out += '}';
  return claims_at;
}

std::string decisions_json(const std::vector<Decision>& decisions) {
  std::string out = decisions_head();
  for (std::size_t i = 0; i < decisions.size(); ++i) append_decision(out, decisions[i], i == 0);
  return out.append(k_decisions_end);
}

}  // namespace berth::report
