// SPDX-License-Identifier: Apache-2.0
#include "app/verify/cycle_checks.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "app/verify/awkward_clusters.hpp"
#include "app/verify/pod_in_cycle.hpp"
#include "app/verify/said_of_nodes.hpp"
#include "framework/points/score.hpp"
#include "framework/profile_runtime.hpp"
#include "preemption/what_if.hpp"

namespace berth::app {
namespace {

// V11: the most slots that a scheduler of kube-scheduler's tests and of this project's has.
constexpr std::size_t k_most_nodes = 65'536;
constexpr std::size_t k_columns_max = 60;
constexpr int k_given_up_rounds = 40;
constexpr std::size_t k_imagined_nodes = 12;

using Cut = PodInCycle::Cut;

void say_errors(const std::vector<report::Decision>& decisions, const TestedPlugins& tested, std::string_view when,
                Findings& findings) {
  Examples examples(findings);
  for (const report::Decision& decision : decisions)
    if (is_error_of(decision, tested))
      examples.add(fmt::format("{}{}: {}", when, decision.pod->key(), decision.message));
}

/// The instance of the first tested plugin that the profile has; null: none.
const framework::PluginInstance* instance_of(PluginUnderTest& plugin, std::string_view name) {
  for (const auto& profile : plugin.scheduler().decision_parts().framework.profiles())
    for (const auto& instance : profile->instances)
      if (instance->name() == name) return instance.get();
  return nullptr;
}

/// A plugin that is made without that, if it lets itself be, decides and says no error.
void decides_without(const TestedPlugins& tested, framework::Withheld withheld, std::string_view what,
                     std::size_t& refusals, Findings& findings) {
  PluginUnderTest::Options options;
  options.withheld = std::move(withheld);
  const auto made = PluginUnderTest::make(tested, options);
  if (!made.ok()) {
    ++refusals;
    return;
  }
  (*made)->put(mixed_nodes(70) + mixed_pods(8));
  say_errors((*made)->decide(), tested, fmt::format("made without {}, ", what), findings);
}

}  // namespace

void judges_many_nodes(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  made->put(many_nodes(k_most_nodes));
  made->put(mixed_pods(4));
  const std::vector<report::Decision> decisions = made->decide();
  say_errors(decisions, tested, "", findings);
  findings.note(fmt::format("{} decisions", decisions.size()));
}

void does_without_columns(const TestedPlugins& tested, Findings& findings) {
  std::size_t refusals = 0, tries = 0;
  for (const loader::PluginNote& note : tested.notes) {
    std::size_t columns = 0;
    {
      const auto made = make_or_say(tested, findings);
      if (made == nullptr) return;
      const framework::PluginInstance* const instance = instance_of(*made, note.plugin);
      if (instance == nullptr) continue;
      columns = std::min(instance->columns().size(), k_columns_max);
    }
    for (std::size_t column = 0; column < columns; ++column, ++tries)
      decides_without(tested, {.plugin = note.plugin, .column = column}, fmt::format("column {}", column), refusals,
                      findings);
    decides_without(tested, {.plugin = note.plugin, .pod_fields = true}, "groups of pod fields", refusals, findings);
    ++tries;
  }
  findings.note(fmt::format("{} tries, {} refusals", tries, refusals));
}

void forgets_early_ends(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(60) + mixed_pods(8));
  made->simulation().take_in();
  const Answers before = explained(*made, pods, tested);
  for (int round = 0; round < k_given_up_rounds; ++round)
    for (const model::PodPtr& pod : pods) {
      PodInCycle cycle(*made, pod);
      if (!cycle.goes_on() || round % 3 == 0) continue;
      std::string failure;
      const auto passes = cycle.pass(cycle.profile().filter, {framework::k_block_rows, false}, failure);
      if (!passes || round % 3 == 1) continue;
      std::vector<cache::Slot> feasible;
      for (const cache::Slot slot : cycle.candidates())
        if ((*passes)[slot] != 0) feasible.push_back(slot);
      if (!feasible.empty()) (void)cycle.pre_score(feasible);
    }
  compare(before, explained(*made, pods, tested), "after attempts that ended early", findings);
}

void forgets_reservations(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(60) + mixed_pods(8));
  made->simulation().take_in();
  const Answers before = explained(*made, pods, tested);
  for (int round = 0; round < k_given_up_rounds; ++round)
    for (const model::PodPtr& pod : pods) made->scheduler().try_pod(pod, [](const cycle::Attempt&) {});
  compare(before, explained(*made, pods, tested), "after attempts that were given up", findings);
}

void survives_deletions(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  std::vector<report::Decision> decisions;
  const auto keep = [&](report::Decision decision) { decisions.push_back(std::move(decision)); };
  Simulation& simulation = made->simulation();
  for (int round = 0; round < 3; ++round) {
    made->put(round == 0 ? mixed_nodes(20) + mixed_pods(12) : mixed_pods(12, fmt::format("round-{}", round)));
    simulation.run_until_idle(keep);
    // Bound or not, waiting or not: they are gone, and a node with them.
    for (const model::PodPtr& pod : simulation.cluster().pods()) simulation.cluster().remove_pod(pod->ns, pod->name);
    simulation.cluster().remove_node(fmt::format("node-{}", 2 * round));
    simulation.advance(std::chrono::seconds(30), keep);
  }
  say_errors(decisions, tested, "", findings);
  findings.note(fmt::format("{} decisions", decisions.size()));
}

void blocks_do_not_matter(const TestedPlugins& tested, Findings& findings) {
  constexpr Cut k_usual{framework::k_block_rows, false};
  constexpr Cut k_cuts[] = {{64, false}, {framework::k_max_block_rows, false}, {1, true}, {37, true}, {4096, true}};
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(1'300) + mixed_pods(8));
  made->simulation().take_in();
  Examples examples(findings);
  std::string failure;
  std::size_t asked = 0;
  for (const model::PodPtr& pod : pods) {
    PodInCycle cycle(*made, pod);
    if (!cycle.goes_on()) continue;
    const auto filters = cycle.filters(tested);
    const auto usual = cycle.pass(filters, k_usual, failure);
    if (!usual) {
      findings.wrong(failure);
      return;
    }
    const auto said = [&](cache::Slot slot, Cut cut, const auto& now, const auto& then) {
      examples.add(fmt::format("{} on {}: {} in a block of {} rows, and {} in one of {}{}", pod->key(),
                               cycle.node_name(slot), then, k_usual.rows, now, cut.rows,
                               cut.gathered ? ", gathered" : ""));
    };
    for (const Cut cut : k_cuts) {
      const auto other = cycle.pass(filters, cut, failure);
      if (!other) {
        findings.wrong(fmt::format("in blocks of {} rows: {}", cut.rows, failure));
        return;
      }
      for (const cache::Slot slot : cycle.candidates())
        if ((*other)[slot] != (*usual)[slot])
          said(slot, cut, (*other)[slot] != 0 ? "fits" : "does not fit", (*usual)[slot] != 0 ? "fits" : "does not fit");
      ++asked;
    }
    const auto all = cycle.pass(cycle.profile().filter, k_usual, failure);
    std::vector<cache::Slot> feasible;
    for (const cache::Slot slot : cycle.candidates())
      if (all && (*all)[slot] != 0) feasible.push_back(slot);
    if (feasible.empty() || !cycle.pre_score(feasible).ok()) continue;
    for (const framework::Scorer& scorer : cycle.profile().score) {
      if (!tested.has(scorer.plugin->name()) || !framework::scores(cycle.context(), scorer)) continue;
      const auto scores = cycle.scores(*scorer.plugin, feasible, k_usual, failure);
      for (const Cut cut : k_cuts) {
        const auto other = cycle.scores(*scorer.plugin, feasible, cut, failure);
        if (!scores || !other) {
          findings.wrong(failure);
          return;
        }
        for (const cache::Slot slot : feasible)
          if ((*other)[slot] != (*scores)[slot]) said(slot, cut, (*other)[slot], (*scores)[slot]);
        ++asked;
      }
    }
  }
  findings.note(fmt::format("{} ways", asked));
}

void clones_are_apart(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(60) + mixed_pods(8));
  made->simulation().take_in();
  const auto pod_of = made->scheduler().decision_parts().framework.host().pod_of;
  Examples examples(findings);
  std::string failure;
  std::size_t asked = 0;
  for (const model::PodPtr& pod : pods) {
    PodInCycle cycle(*made, pod);
    const auto filters = cycle.filters(tested);
    if (!cycle.goes_on() || filters.empty()) continue;
    const Cut whole{framework::k_block_rows, false};
    const auto before = cycle.pass(filters, whole, failure);
    std::size_t nodes = 0;
    for (const cache::Slot slot : cycle.candidates()) {
      const std::vector<cache::PodHandle> there(cycle.snapshot().row(slot).pods.begin(),
                                                cycle.snapshot().row(slot).pods.end());
      if (there.empty() || !before || nodes == k_imagined_nodes) continue;
      ++nodes;
      const auto verdict_with = [&](int steps) {
        preemption::WhatIf what_if(cycle.context(), cycle.blocks(), slot, filters);
        const model::PodPtr other = pod_of(there.front());
        if (steps > 0 && !what_if.remove(*other, there.front()).ok()) return framework::NodeVerdict{};
        if (steps > 1 && !what_if.add(*other, there.front()).ok()) return framework::NodeVerdict{};
        return what_if.judge();
      };
      const framework::NodeVerdict untouched = verdict_with(0);
      const framework::NodeVerdict gone = verdict_with(1), back = verdict_with(2);
      ++asked;
      for (const framework::NodeVerdict& verdict : {untouched, gone, back})
        if (verdict.code == framework::Code::error)
          examples.add(
              fmt::format("{} on {}: an error where a pod is imagined away", pod->key(), cycle.node_name(slot)));
      if ((untouched.code == framework::Code::success) != ((*before)[slot] != 0))
        examples.add(fmt::format("{} on {}: a clone says something else than the state that it was made of", pod->key(),
                                 cycle.node_name(slot)));
      if (back.code != untouched.code)
        examples.add(fmt::format("{} on {}: a pod that was imagined away and back has changed the answer", pod->key(),
                                 cycle.node_name(slot)));
    }
    const auto after = cycle.pass(filters, whole, failure);
    if (!before || !after) {
      findings.wrong(failure);
      return;
    }
    for (const cache::Slot slot : cycle.candidates())
      if ((*before)[slot] != (*after)[slot])
        examples.add(fmt::format("{} on {}: what was imagined on clones has changed the answer of the state itself",
                                 pod->key(), cycle.node_name(slot)));
  }
  findings.note(fmt::format("{} nodes", asked));
}

void keeps_thread_tags(const TestedPlugins& tested, Findings& findings) {
  std::size_t decided = 0;
  for (const AwkwardCluster& cluster : awkward_clusters()) {
    const auto made = make_or_say(tested, findings);
    if (made == nullptr) return;
    made->put(cluster.manifests);
    decided += made->decide().size();
    made->put(mixed_nodes(9) + mixed_pods(6, "later"));
    decided += made->decide().size();
    for (std::string& misuse : made->scheduler().decision_parts().framework.host().misuse.sentences())
      if (misuse.find("was denied") != std::string::npos) findings.wrong(std::move(misuse));
  }
  findings.note(fmt::format("{} decisions", decided));
}

}  // namespace berth::app
