// SPDX-License-Identifier: Apache-2.0
#include "preemption/exhaustive.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/points/pre_filter.hpp"
#include "preemption/what_if.hpp"

namespace berth::preemption_test {
namespace {

using framework::Code;

struct Found {
  Choice choice;
  std::vector<model::PodPtr> victims;
};

/// A pod that leaves the node or comes back.
struct Step {
  cache::PodHandle pod;
  bool comes_back;
};

/// One node under examination.
class Node {
 public:
  Node(framework::CycleContext& context, framework::NodeBlocks& blocks, cache::Slot slot,
       const std::vector<model::PodPtr>& nominated, const scheduler::DecisionParts& host)
      : context_(context),
        blocks_(blocks),
        slot_(slot),
        nominated_(nominated),
        host_(host),
        filters_(context.profile().filter.begin(), context.profile().filter.end()) {}

  /// After these steps, one by one: which pods are there in the end does not say all. A host port that two of them hold is
  /// free once one has left, and taken again once one has come back. With those that are nominated, and without them.
  Code judge(const std::vector<Step>& steps) {
    if (!nominated_.empty())
      if (const Code code = judge_once(steps, true); code != Code::success) return code;
    return judge_once(steps, false);
  }

 private:
  Code judge_once(const std::vector<Step>& steps, bool with_nominated) {
    preemption::WhatIf what_if(context_, blocks_, slot_, filters_);
    // judge() reports what fails.
    for (const Step& step : steps) {
      const model::Pod& pod = *host_.cache.pod(step.pod);
      if (!(step.comes_back ? what_if.add(pod, step.pod) : what_if.remove(pod, step.pod)).ok()) break;
    }
    if (with_nominated)
      for (const model::PodPtr& pod : nominated_)
        if (!what_if.add(*pod).ok()) break;
    return what_if.judge().code;
  }

  framework::CycleContext& context_;
  framework::NodeBlocks& blocks_;
  const cache::Slot slot_;
  const std::vector<model::PodPtr>& nominated_;
  const scheduler::DecisionParts host_;
  const std::vector<const framework::PluginInstance*> filters_;
};

bool has_labels(const model::Pod& pod, const std::map<std::string, std::string>& wanted, const SymbolTable& symbols) {
  std::size_t matching = 0;
  for (const model::Label& label : pod.labels) {
    const auto at = wanted.find(std::string(symbols.text(label.key)));
    matching += at != wanted.end() && symbols.text(label.value) == at->second ? 1 : 0;
  }
  return matching == wanted.size();
}

/// Which of the pods, in this order, go beyond a budget.
std::vector<bool> beyond_budgets(const std::vector<model::PodPtr>& pods, const std::vector<Budget>& budgets,
                                 const SymbolTable& symbols) {
  std::vector<std::int64_t> left;
  for (const Budget& budget : budgets) left.push_back(budget.allowed);
  std::vector<bool> beyond;
  for (const model::PodPtr& pod : pods) {
    bool violates = false;
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      const Budget& budget = budgets[b];
      if (pod->labels.empty() || budget.labels.empty() || budget.ns != pod->ns) continue;
      if (!has_labels(*pod, budget.labels, symbols) || budget.disrupted.contains(pod->name)) continue;
      if (--left[b] < 0) violates = true;
    }
    beyond.push_back(violates);
  }
  return beyond;
}

std::int64_t start_of(const model::Pod& pod) { return pod.start_ns == 0 ? INT64_MAX : pod.start_ns; }

std::optional<Found> examine(const scheduler::DecisionParts& host, Node& node, const cache::NodeRow& row,
                             const model::Pod& preemptor, const std::vector<Budget>& budgets,
                             const SymbolTable& symbols) {
  std::vector<cache::PodHandle> lower;
  for (const cache::PodHandle handle : row.pods)
    if (host.cache.pod(handle)->priority < preemptor.priority) lower.push_back(handle);
  std::vector<Step> steps;
  for (const cache::PodHandle handle : lower) steps.push_back({handle, false});
  if (lower.empty() || node.judge(steps) != Code::success) return std::nullopt;

  // Pods that have not started: each comparison of upstream takes a later "now", so an insertion sort turns them round.
  std::reverse(lower.begin(), lower.end());
  std::stable_sort(lower.begin(), lower.end(), [&](cache::PodHandle a, cache::PodHandle b) {
    const model::PodPtr p = host.cache.pod(a), q = host.cache.pod(b);
    if (p->priority != q->priority) return p->priority > q->priority;
    if (start_of(*p) != start_of(*q)) return start_of(*p) < start_of(*q);
    if (start_of(*p) == INT64_MAX) return false;
    return std::find(row.pods.begin(), row.pods.end(), a) < std::find(row.pods.begin(), row.pods.end(), b);
  });
  std::vector<model::PodPtr> pods;
  for (const cache::PodHandle handle : lower) pods.push_back(host.cache.pod(handle));
  const std::vector<bool> beyond = beyond_budgets(pods, budgets, symbols);

  std::vector<bool> gone(lower.size(), false);
  Found found;
  found.choice.node = row.node->name;
  for (const bool protected_ones : {true, false})
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (beyond[i] != protected_ones) continue;
      steps.push_back({lower[i], true});
      if (node.judge(steps) == Code::success) continue;
      steps.push_back({lower[i], false});
      gone[i] = true;
      if (protected_ones) ++found.choice.violations;
    }
  for (std::size_t i = 0; i < lower.size(); ++i)
    if (gone[i]) {
      found.victims.push_back(pods[i]);
      found.choice.victims.insert(pods[i]->key());
    }
  if (found.victims.empty()) return std::nullopt;
  return found;
}

/// Keeps those for which measure() is smallest.
template <typename Measure>
void keep_smallest(std::vector<const Found*>& nodes, Measure&& measure) {
  auto best = measure(*nodes.front());
  for (const Found* node : nodes) best = std::min(best, measure(*node));
  std::erase_if(nodes, [&](const Found* node) { return measure(*node) != best; });
}

const Found& pick_one(const std::vector<Found>& all) {
  std::vector<const Found*> nodes;
  for (const Found& found : all) nodes.push_back(&found);
  keep_smallest(nodes, [](const Found& f) { return std::int64_t{f.choice.violations}; });
  keep_smallest(nodes, [](const Found& f) { return std::int64_t{f.victims.front()->priority}; });
  keep_smallest(nodes, [](const Found& f) {
    std::int64_t sum = 0;
    for (const model::PodPtr& pod : f.victims) sum += pod->priority + std::int64_t{2147483648};
    return sum;
  });
  keep_smallest(nodes, [](const Found& f) { return static_cast<std::int64_t>(f.victims.size()); });
  keep_smallest(nodes, [](const Found& f) {
    std::int64_t earliest = INT64_MAX;
    for (const model::PodPtr& pod : f.victims)
      if (pod->priority == f.victims.front()->priority) earliest = std::min(earliest, start_of(*pod));
    return -earliest;
  });
  return *nodes.front();
}

}  // namespace

Exhaustive search_exhaustively(const scheduler::DecisionParts& host, const model::PodPtr& pod,
                               const framework::NominatedPods& nominated, const std::vector<Budget>& budgets,
                               const SymbolTable& symbols) {
  host.cache.refresh(host.snapshot);
  cache::Snapshot& snapshot = host.snapshot;
  auto context = host.framework.pool(host.framework.index_of(pod->scheduler_name)).take();
  context->begin(pod, 0, 0, &snapshot);
  framework::CandidateNodes candidates;
  candidates.begin(snapshot);
  framework::CandidateMemory memory;
  const framework::PreFilterResult prepared = framework::run_pre_filter(*context, candidates, memory);
  framework::NodeBlocks blocks(snapshot);
  std::vector<Found> found;
  if (!prepared.verdict.success() && prepared.verdict.code != Code::unschedulable) return {};
  for (const cache::Slot slot : snapshot.order()) {
    if (prepared.verdict.success() && !candidates.contains(slot)) continue;
    const auto others = nominated.find(slot);
    static const std::vector<model::PodPtr> no_pods;
    Node node(*context, blocks, slot, others == nominated.end() ? no_pods : others->second, host);
    if (prepared.verdict.success() && node.judge({}) != Code::unschedulable) continue;
    if (auto here = examine(host, node, snapshot.row(slot), *pod, budgets, symbols)) found.push_back(std::move(*here));
  }
  Exhaustive result;
  result.candidates = found.size();
  for (const Found& f : found) result.without_violation += f.choice.violations == 0 ? 1 : 0;
  if (!found.empty()) result.choice = pick_one(found).choice;
  return result;
}

}  // namespace berth::preemption_test
