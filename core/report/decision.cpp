// SPDX-License-Identifier: Apache-2.0
#include "report/decision.hpp"

#include <algorithm>

#include "base/product.hpp"
#include "text/parse.hpp"

namespace berth::report {
namespace {

/// Writes one JSON object member after another.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    text::append_json_string(out_, name);
    out_ += ':';
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text::append_json_string(out_, value);
  }
  void number(std::string_view name, std::int64_t value) {
    key(name);
    out_ += std::to_string(value);
  }
  void list(std::string_view name, const std::vector<std::string>& values) {
    key(name);
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += ',';
      text::append_json_string(out_, values[i]);
    }
    out_ += ']';
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void write_rejection(std::string& out, const cycle::NodeExplanation& node) {
  ObjectWriter object(out);
  object.text("plugin", node.plugin);
  object.text("code", framework::code_name(node.code));
  object.list("reasons", node.reasons);
  object.end();
}

void write_scores(std::string& out, const cycle::NodeExplanation& node) {
  ObjectWriter object(out);
  object.number("total", node.total);
  object.key("plugins");
  ObjectWriter plugins(out);
  for (const auto& [plugin, score] : node.scores) plugins.number(plugin, score);
  plugins.end();
  object.end();
}

void write_explanation(std::string& out, ObjectWriter& record, const cycle::Explanation& explanation) {
  record.key("rejected");
  ObjectWriter rejected(out);
  if (explanation.pod_rejection) {
    rejected.key("*");
    write_rejection(out, *explanation.pod_rejection);
  }
  for (const cycle::NodeExplanation& node : explanation.nodes)
    if (node.code != framework::Code::success) {
      rejected.key(node.node);
      write_rejection(out, node);
    }
  rejected.end();
  record.key("scores");
  ObjectWriter scores(out);
  if (explanation.error.empty())
    for (const cycle::NodeExplanation& node : explanation.nodes)
      if (node.code == framework::Code::success) {
        scores.key(node.node);
        write_scores(out, node);
      }
  scores.end();
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
  if (rejection.nomination.mode == queue::Nomination::Mode::set)
    decision.nominated_node = symbols.text(rejection.nomination.node);
  decision.preemption = rejection.preemption;
  for (const std::string& uid : rejection.victims)
    if (const auto victim = cache.find_pod(uid); victim && !victim->pod->deleting)
      decision.victims.push_back(victim->pod->key());
  std::sort(decision.victims.begin(), decision.victims.end());
  return decision;
}

std::string decisions_json(const std::vector<Decision>& decisions) {
  std::string out;
  ObjectWriter file(out);
  file.text("scheduler", product());
  file.key("decisions");
  out += '[';
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& decision = decisions[i];
    out += i == 0 ? "\n" : ",\n";
    ObjectWriter record(out);
    record.text("pod", decision.pod->key());
    record.key("node");
    if (decision.node.empty()) {
      out += "null";
      record.text("message", decision.message);
    } else {
      text::append_json_string(out, decision.node);
      record.number("evaluatedNodes", decision.evaluated_nodes);
      record.number("feasibleNodes", decision.feasible_nodes);
    }
    if (!decision.nominated_node.empty()) record.text("nominatedNode", decision.nominated_node);
    if (!decision.victims.empty()) record.list("victims", decision.victims);
    if (!decision.post_filter_message.empty()) record.text("postFilterMessage", decision.post_filter_message);
    if (decision.explanation) write_explanation(out, record, *decision.explanation);
    record.end();
  }
  out += "\n]";
  file.end();
  out += '\n';
  return out;
}

}  // namespace berth::report
