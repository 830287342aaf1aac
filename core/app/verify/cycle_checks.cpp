// SPDX-License-Identifier: Apache-2.0
#include "app/verify/cycle_checks.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
constexpr Cut k_whole{framework::k_block_rows, false};  // as a decision asks

/// The instance of that plugin; null: the profile has none.
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

/// Attempts that are given up, again and again, change no answer.
void forgets(const std::function<void(PluginUnderTest& plugin, const model::PodPtr& pod, int round)>& give_up,
             std::string_view when, const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(60) + mixed_pods(8));
  made->simulation().take_in();
  const Answers before = explained(*made, pods, tested);
  for (int round = 0; round < k_given_up_rounds; ++round)
    for (const model::PodPtr& pod : pods) give_up(*made, pod, round);
  compare(before, explained(*made, pods, tested), when, findings);
}

/// What one pod's filters and scores say of nodes in blocks that are cut in several ways.
class Cuts {
 public:
  Cuts(PodInCycle& cycle, const model::Pod& pod, const TestedPlugins& tested, Examples& examples)
      : cycle_(cycle), pod_(pod), tested_(tested), examples_(examples) {}

  /// How often nodes were asked about; nothing where a plugin broke, and failure() says how.
  std::optional<std::size_t> run() {
    if (!compare_filters()) return std::nullopt;
    const auto all = cycle_.pass(cycle_.profile().filter, k_whole, failure_);
    if (!all) return std::nullopt;
    const std::vector<cache::Slot> feasible = cycle_.passing(*all);
    if (feasible.empty() || !cycle_.pre_score(feasible).ok()) return asked_;
    for (const framework::Scorer& scorer : cycle_.profile().score)
      if (tested_.has(scorer.plugin->name()) && framework::scores(cycle_.context(), scorer))
        if (!compare_scores(*scorer.plugin, feasible)) return std::nullopt;
    return asked_;
  }
  const std::string& failure() const noexcept { return failure_; }

 private:
  static constexpr Cut k_cuts[] = {
      {64, false}, {framework::k_max_block_rows, false}, {1, true}, {37, true}, {4096, true}};

  bool compare_filters() {
    const auto filters = cycle_.filters(tested_);
    const auto usual = cycle_.pass(filters, k_whole, failure_);
    if (!usual) return false;
    const auto word = [](std::uint8_t passes) { return passes != 0 ? "fits" : "does not fit"; };
    for (const Cut cut : k_cuts) {
      const auto other = cycle_.pass(filters, cut, failure_);
      if (!other) {
        failure_ = fmt::format("in blocks of {} rows: {}", cut.rows, failure_);
        return false;
      }
      for (const cache::Slot slot : cycle_.candidates())
        if ((*other)[slot] != (*usual)[slot]) differs(slot, cut, word((*other)[slot]), word((*usual)[slot]));
      ++asked_;
    }
    return true;
  }
  bool compare_scores(const framework::PluginInstance& scorer, std::span<const cache::Slot> nodes) {
    const auto usual = cycle_.scores(scorer, nodes, k_whole, failure_);
    if (!usual) return false;
    for (const Cut cut : k_cuts) {
      const auto other = cycle_.scores(scorer, nodes, cut, failure_);
      if (!other) return false;
      for (const cache::Slot slot : nodes)
        if ((*other)[slot] != (*usual)[slot]) differs(slot, cut, (*other)[slot], (*usual)[slot]);
      ++asked_;
    }
    return true;
  }
  template <typename Said>
  void differs(cache::Slot slot, Cut cut, const Said& now, const Said& before) {
    examples_.add(fmt::format("{} on {}: {} in a block of {} rows, and {} in one of {}{}", pod_.key(),
                              cycle_.node_name(slot), before, k_whole.rows, now, cut.rows,
                              cut.gathered ? ", gathered" : ""));
  }

  PodInCycle& cycle_;
  const model::Pod& pod_;
  const TestedPlugins& tested_;
  Examples& examples_;
  std::string failure_;
  std::size_t asked_ = 0;
};

/// A pod on a node is imagined away and back, on clones of the state.
class ImaginedPod {
 public:
  ImaginedPod(PodInCycle& cycle, std::span<const framework::PluginInstance* const> filters, cache::Slot slot,
              model::PodPtr pod, cache::PodHandle handle)
      : cycle_(cycle), filters_(filters), slot_(slot), pod_(std::move(pod)), handle_(handle) {}

  enum class Step : std::uint8_t { untouched, gone, back };
  framework::NodeVerdict judge(Step step) {
    preemption::WhatIf what_if(cycle_.context(), cycle_.blocks(), slot_, filters_);
    if (step != Step::untouched && !what_if.remove(*pod_, handle_).ok()) return {};
    if (step == Step::back && !what_if.add(*pod_, handle_).ok()) return {};
    return what_if.judge();
  }

 private:
  PodInCycle& cycle_;
  const std::span<const framework::PluginInstance* const> filters_;
  const cache::Slot slot_;
  const model::PodPtr pod_;
  const cache::PodHandle handle_;
};

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
  const auto give_up = [](PluginUnderTest& plugin, const model::PodPtr& pod, int round) {
    PodInCycle cycle(plugin, pod);
    if (!cycle.goes_on() || round % 3 == 0) return;
    std::string failure;
    const auto passes = cycle.pass(cycle.profile().filter, k_whole, failure);
    if (!passes || round % 3 == 1) return;
    if (const std::vector<cache::Slot> feasible = cycle.passing(*passes); !feasible.empty())
      (void)cycle.pre_score(feasible);
  };
  forgets(give_up, "after attempts that ended early", tested, findings);
}

void forgets_reservations(const TestedPlugins& tested, Findings& findings) {
  const auto give_up = [](PluginUnderTest& plugin, const model::PodPtr& pod, int) {
    plugin.scheduler().try_pod(pod, [](const cycle::Attempt&) {});
  };
  forgets(give_up, "after attempts that were given up", tested, findings);
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
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(1'300) + mixed_pods(8));
  made->simulation().take_in();
  Examples examples(findings);
  std::size_t asked = 0;
  for (const model::PodPtr& pod : pods) {
    PodInCycle cycle(*made, pod);
    if (!cycle.goes_on()) continue;
    Cuts cuts(cycle, *pod, tested, examples);
    const std::optional<std::size_t> ways = cuts.run();
    if (!ways) return findings.wrong(cuts.failure());
    asked += *ways;
  }
  findings.note(fmt::format("{} ways", asked));
}

void clones_are_apart(const TestedPlugins& tested, Findings& findings) {
  using Step = ImaginedPod::Step;
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
    const auto before = cycle.pass(filters, k_whole, failure);
    if (!before) return findings.wrong(failure);
    const auto say = [&](cache::Slot slot, const char* what) {
      examples.add(fmt::format("{} on {}: {}", pod->key(), cycle.node_name(slot), what));
    };
    std::size_t nodes = 0;
    for (const cache::Slot slot : cycle.candidates()) {
      const auto& there = cycle.snapshot().row(slot).pods;
      if (there.empty() || nodes == k_imagined_nodes) continue;
      ++nodes;
      ImaginedPod imagined(cycle, filters, slot, pod_of(*there.begin()), *there.begin());
      const framework::NodeVerdict untouched = imagined.judge(Step::untouched), gone = imagined.judge(Step::gone),
                                   back = imagined.judge(Step::back);
      ++asked;
      for (const framework::NodeVerdict& verdict : {untouched, gone, back})
        if (verdict.code == framework::Code::error) say(slot, "an error where a pod is imagined away");
      if ((untouched.code == framework::Code::success) != ((*before)[slot] != 0))
        say(slot, "a clone says something else than the state that it was made of");
      if (back.code != untouched.code) say(slot, "a pod that was imagined away and back has changed the answer");
    }
    const auto after = cycle.pass(filters, k_whole, failure);
    if (!after) return findings.wrong(failure);
    for (const cache::Slot slot : cycle.candidates())
      if ((*before)[slot] != (*after)[slot])
        say(slot, "what was imagined on clones has changed the answer of the state itself");
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
    say_misuse(*made, framework::Misuse::denied_call, findings);
  }
  findings.note(fmt::format("{} decisions", decided));
}

}  // namespace berth::app
