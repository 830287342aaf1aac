// SPDX-License-Identifier: Apache-2.0
#include "app/verify/said_of_nodes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace berth::app {
namespace {

constexpr std::size_t k_examples_max = 3;

/// What is said about each node by name, for comparisons.
std::map<std::string, std::string> answers_of(const cycle::Explanation& explanation, const TestedPlugins& tested) {
  std::map<std::string, std::string> answers;
  if (explanation.pod_rejection)
    answers["*"] =
        fmt::format("{}: {}", explanation.pod_rejection->plugin, fmt::join(explanation.pod_rejection->reasons, ", "));
  if (!explanation.error.empty()) answers["*"] += explanation.error;
  for (const cycle::NodeExplanation& node : explanation.nodes) {
    std::string answer =
        node.plugin.empty() ? "fits" : fmt::format("{}: {}", node.plugin, fmt::join(node.reasons, ", "));
    for (std::size_t i = 0; i < node.scores.size(); ++i)
      if (tested.has(explanation.scorers[i]))
        answer += fmt::format(", {} scores {}", explanation.scorers[i], node.scores[i]);
    answers[node.node] = std::move(answer);
  }
  return answers;
}

bool is_error_of(const report::Decision& decision, const TestedPlugins& tested) {
  return decision.code == framework::Code::error &&
         std::any_of(tested.notes.begin(), tested.notes.end(), [&](const loader::PluginNote& note) {
           return decision.message.get().find(note.plugin) != std::string::npos ||
                  decision.post_filter_message.get().find(note.plugin) != std::string::npos;
         });
}

}  // namespace

std::unique_ptr<PluginUnderTest> make_or_say(const TestedPlugins& tested, Findings& findings,
                                             PluginUnderTest::Options options) {
  auto made = PluginUnderTest::make(tested, options);
  if (made.ok()) return std::move(*made);
  findings.wrong(made.error().message);
  return nullptr;
}

void Examples::add(std::string what) {
  if (++count_ <= k_examples_max) findings_.wrong(std::move(what));
}

Examples::~Examples() {
  if (count_ > k_examples_max) findings_.wrong(fmt::format("and {} more of this kind", count_ - k_examples_max));
}

void say_errors(const std::vector<report::Decision>& decisions, const TestedPlugins& tested, std::string_view when,
                Findings& findings) {
  Examples examples(findings);
  for (const report::Decision& decision : decisions)
    if (is_error_of(decision, tested))
      examples.add(fmt::format("{}{}: {}", when, decision.pod->key(), decision.message));
}

void say_misuse(PluginUnderTest& plugin, framework::Misuse kind, Findings& findings) {
  for (std::string& misuse : plugin.scheduler().decision_parts().framework.host().misuse.sentences(kind))
    findings.wrong(std::move(misuse));
}

void compare(const Answers& first, const Answers& second, std::string_view when, Findings& findings) {
  Examples examples(findings);
  for (const auto& [pod, nodes] : first) {
    const auto other = second.find(pod);
    if (other == second.end()) continue;
    for (const auto& [node, answer] : nodes)
      if (const auto now = other->second.find(node); now != other->second.end() && now->second != answer)
        examples.add(fmt::format("{} on {}: \"{}\", and {} \"{}\"", pod, node, answer, when, now->second));
  }
}

Answers explained(PluginUnderTest& plugin, const std::vector<model::PodPtr>& pods, const TestedPlugins& tested) {
  Answers answers;
  for (const model::PodPtr& pod : pods) answers[pod->key()] = answers_of(plugin.scheduler().explain(pod), tested);
  return answers;
}

}  // namespace berth::app
