// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/fit_search.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "app/simulate/object_copies.hpp"
#include "text/json_object.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

constexpr std::size_t k_nodes_named = 10;
constexpr std::size_t k_taints_tried = 64;
constexpr std::size_t k_cuts_tried = 8;
constexpr std::size_t k_removed_per_node = 8;  // pods that are tried away, one at a time
constexpr std::size_t k_evictions_named = 5;
constexpr std::size_t k_shapes_tried = 32;
constexpr std::size_t k_new_nodes_named = 3;
constexpr std::size_t k_nodes_for_all = 4;  // looked at when no single change is enough
constexpr std::int32_t k_skew_max = 1 << 20;

bool is_success(const cycle::NodeExplanation& node) { return node.code == framework::Code::success; }
bool keeps_pods_away(const model::Taint& taint) {
  return taint.effect == model::TaintEffect::no_schedule || taint.effect == model::TaintEffect::no_execute;
}

/// The largest round amount that is not more, or the amount where there is none but 0.
std::int64_t rounded(std::string_view resource, std::int64_t amount) {
  const bool is_cpu = resource == "cpu";
  if (!is_cpu && amount < (std::int64_t{1} << 20)) return amount;
  for (const std::int64_t step :
       is_cpu ? std::vector<std::int64_t>{500, 100, 50, 10}
              : std::vector<std::int64_t>{std::int64_t{1} << 29, std::int64_t{1} << 26, std::int64_t{1} << 20}) {
    const std::int64_t round = amount / step * step;
    if (round > 0 && round * 20 >= amount * 19) return round;  // costs 5 % at most
  }
  return amount;
}

struct Restore {
  std::function<void()> restore;
  ~Restore() { restore(); }
};

}  // namespace

cycle::Explanation FitSearch::explain(const model::PodPtr& pod) {
  ++asked_;
  return parts_.cycle.explain(pod);
}

FitSearch::Places FitSearch::places(const model::PodPtr& pod) {
  Places out;
  if (!may_ask()) return out;
  for (const cycle::NodeExplanation& node : explain(pod).nodes)
    if (is_success(node)) out.push_back(node.node);
  return out;
}

void FitSearch::add(const PodChange& change, const Places& where) {
  report::FitOption option{change.kind, change.text, change.json, where.size()};
  option.on_nodes.assign(where.begin(),
                         where.begin() + static_cast<std::ptrdiff_t>(std::min(where.size(), k_nodes_named)));
  options_.push_back(std::move(option));
}

bool FitSearch::try_change(const PodChange& change) {
  const Places where = places(change.pod);
  if (!where.empty()) add(change, where);
  return !where.empty();
}

const cache::NodeRow* FitSearch::row_of(std::string_view node) const {
  for (const cache::Slot slot : parts_.snapshot.order())
    if (parts_.snapshot.row(slot).node->name == node) return &parts_.snapshot.row(slot);
  return nullptr;
}

Result<report::FitReport> FitSearch::search(const model::PodPtr& pod, std::string_view why_not) {
  asked_ = 0;
  options_.clear();
  report::FitReport report;
  const cycle::Explanation before = explain(pod);
  if (!why_not.empty()) {
    const cache::NodeRow* const row = row_of(why_not);
    if (row == nullptr)
      return Error{
          fmt::format("there is no node \"{}\" in the cluster: name one of its nodes with --why-not", why_not)};
    report.why_not = all_of(pod, cache::NodeRow(*row), before);
  }
  report.fits_now = static_cast<std::size_t>(std::count_if(before.nodes.begin(), before.nodes.end(), is_success));
  if (report.fits_now == 0) {
    try_requests(*pod);
    try_taints(*pod);
    try_removals(*pod);
    try_spread(*pod);
    try_uncordoning(pod);
    try_evictions(pod, before);
    try_new_nodes(pod);
    if (options_.empty()) {
      parts_.cache.refresh(parts_.snapshot, cache::Look::question);
      std::vector<cache::NodeRow> rows;
      for (const cache::Slot slot : parts_.snapshot.order())
        if (rows.size() < k_nodes_for_all) rows.push_back(parts_.snapshot.row(slot));
      for (const cache::NodeRow& row : rows) {
        report::NodeFit fit = all_of(pod, row, before);
        if (!fit.left.empty() && report.left.empty()) report.left = fit.node + " still says " + fit.left;
        if (fit.changes.empty() || !fit.left.empty()) continue;
        if (!report.together || fit.changes.size() < report.together->changes.size()) report.together = std::move(fit);
      }
    }
  }
  if (report.together) report.left.clear();
  parts_.cache.refresh(parts_.snapshot, cache::Look::question);
  report.options = std::move(options_);
  report.asked = asked_;
  report.is_complete = may_ask();
  return report;
}

void FitSearch::try_requests(const model::Pod& pod) {
  const std::size_t before = options_.size();
  for (std::size_t i = 0; i < pod.requests->resources.size(); ++i)
    if (pod.requests->resources[i].request > 0) try_one_request(pod, i);
  if (options_.size() == before) try_requests_together(pod);
}

void FitSearch::try_one_request(const model::Pod& pod, std::size_t place) {
  const model::PodResource& resource = pod.requests->resources[place];
  const auto with = [&](std::int64_t amount) { return with_requests(pod, {{place, amount}}, symbols_); };
  if (places(with(0).pod).empty()) return;  // something else is in the way as well
  const cache::ResourceIndex index = parts_.cache.resources().find(resource.name);
  std::set<std::int64_t> room{0};
  for (const cache::Slot slot : parts_.snapshot.order()) {
    const cache::NodeRow& row = parts_.snapshot.row(slot);
    const std::int64_t free = row.allocatable_of(index) - row.requested_of(index);
    if (free > 0 && free < resource.request) room.insert(free);
  }
  const std::vector<std::int64_t> amounts(room.begin(), room.end());
  std::size_t fits = 0, too_much = amounts.size();  // what fits grows no further: less is never harder to place
  while (too_much - fits > 1 && may_ask()) {
    const std::size_t middle = fits + (too_much - fits) / 2;
    (places(with(amounts[middle]).pod).empty() ? too_much : fits) = middle;
  }
  const std::int64_t round = rounded(symbols_.text(resource.name), amounts[fits]);
  if (round == amounts[fits] || !try_change(with(round))) try_change(with(amounts[fits]));
  const std::int64_t half = resource.request / 2;
  if (half <= 0 || half >= round || options_.empty()) return;
  const PodChange with_half = with(half);
  if (const Places where = places(with_half.pod); where.size() > options_.back().nodes) add(with_half, where);
}

std::vector<FitSearch::Cut> FitSearch::cuts(const model::Pod& pod) const {
  std::vector<Cut> out;
  for (const cache::Slot slot : parts_.snapshot.order()) {
    const cache::NodeRow& row = parts_.snapshot.row(slot);
    Cut cut;
    cut.node = row.node->name;
    for (std::size_t i = 0; i < pod.requests->resources.size(); ++i) {
      const model::PodResource& resource = pod.requests->resources[i];
      const cache::ResourceIndex index = parts_.cache.resources().find(resource.name);
      const std::int64_t free = std::max<std::int64_t>(row.allocatable_of(index) - row.requested_of(index), 0);
      if (resource.request <= free) continue;
      const std::int64_t round = rounded(symbols_.text(resource.name), free);
      cut.steps.emplace_back(i, round);
      cut.part = std::max(cut.part, 1.0 - static_cast<double>(round) / static_cast<double>(resource.request));
    }
    if (!cut.steps.empty()) out.push_back(std::move(cut));
  }
  std::stable_sort(out.begin(), out.end(), [](const Cut& a, const Cut& b) { return a.part < b.part; });
  return out;
}

void FitSearch::try_requests_together(const model::Pod& pod) {
  std::vector<RequestStep> nothing;
  for (std::size_t i = 0; i < pod.requests->resources.size(); ++i)
    if (pod.requests->resources[i].request > 0) nothing.emplace_back(i, 0);
  if (nothing.size() < 2) return;
  const Places possible = places(with_requests(pod, nothing, symbols_).pod);
  const std::set<std::string_view> allowed(possible.begin(), possible.end());
  std::size_t tried = 0;
  for (const Cut& cut : cuts(pod)) {
    if (!allowed.contains(cut.node)) continue;
    if (try_change(with_requests(pod, cut.steps, symbols_)) || ++tried == k_cuts_tried) return;
  }
}

void FitSearch::try_taints(const model::Pod& pod) {
  std::vector<std::pair<std::size_t, model::Taint>> counts;
  std::map<std::tuple<Symbol, Symbol, model::TaintEffect>, std::size_t> places_of;  // in counts
  const Symbol cordon = symbols_.intern(k_cordon_taint);
  for (const cache::Slot slot : parts_.snapshot.order())
    for (const model::Taint& taint : parts_.snapshot.row(slot).node->taints) {
      // That of a cordoned node is try_uncordoning()'s.
      if (!keeps_pods_away(taint) || taint.key == cordon) continue;
      const auto [known, is_new] = places_of.try_emplace({taint.key, taint.value, taint.effect}, counts.size());
      if (is_new) counts.emplace_back(0, taint);
      ++counts[known->second].first;
    }
  if (counts.empty()) return;
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (counts.size() > k_taints_tried) counts.resize(k_taints_tried);
  std::vector<model::Taint> all;
  for (const auto& [count, taint] : counts) all.push_back(taint);
  const Places with_all = places(with_tolerations(pod, all, symbols_).pod);
  if (with_all.empty()) return;
  bool is_one_enough = false;
  for (const model::Taint& taint : all)
    is_one_enough = try_change(with_tolerations(pod, {taint}, symbols_)) || is_one_enough;
  if (is_one_enough) return;
  std::vector<model::Taint> fewest = all;
  const std::set<std::string_view> open(with_all.begin(), with_all.end());
  for (const cache::Slot slot : parts_.snapshot.order()) {
    const model::Node& node = *parts_.snapshot.row(slot).node;
    if (!open.contains(node.name)) continue;
    std::vector<model::Taint> of;
    for (const model::Taint& taint : node.taints)
      if (keeps_pods_away(taint) && taint.key != cordon) of.push_back(taint);
    if (of.size() < fewest.size()) fewest = std::move(of);
  }
  try_change(with_tolerations(pod, fewest, symbols_));
}

void FitSearch::try_removals(const model::Pod& pod) {
  for (const std::vector<PodChange>& kind :
       {without_node_selector(pod, symbols_), without_node_affinity(pod, symbols_), without_host_ports(pod, symbols_),
        without_pod_affinity(pod, symbols_, false), without_pod_affinity(pod, symbols_, true), without_volumes(pod),
        without_claims(pod)}) {
    std::size_t enough = 0;
    for (const PodChange& change : kind) {
      // All at once only where one alone is not enough.
      const bool is_all = change.json == R"({"all":true})" && kind.size() > 1;
      if ((!is_all || enough == 0) && try_change(change)) ++enough;
    }
  }
}

void FitSearch::try_spread(const model::Pod& pod) {
  for (const std::size_t constraint : spread_constraints(pod)) {
    const PodChange without = with_max_skew(pod, constraint, 0, symbols_);
    const Places all = places(without.pod);
    if (all.empty()) continue;
    const auto fits_with = [&](std::int32_t skew) {
      return !places(with_max_skew(pod, constraint, skew, symbols_).pod).empty();
    };
    std::int32_t too_small = pod.spec->spread[constraint].max_skew, enough = too_small;
    bool fits = false;
    while (!fits && enough < k_skew_max && may_ask()) {
      enough = enough > k_skew_max / 2 ? k_skew_max : enough * 2;
      fits = fits_with(enough);
    }
    if (!fits) {
      add(without, all);
      continue;
    }
    while (enough - too_small > 1 && may_ask()) {
      const std::int32_t middle = too_small + (enough - too_small) / 2;
      (fits_with(middle) ? enough : too_small) = middle;
    }
    try_change(with_max_skew(pod, constraint, enough, symbols_));
  }
}

void FitSearch::try_uncordoning(const model::PodPtr& pod) {
  parts_.cache.refresh(parts_.snapshot, cache::Look::question);
  std::vector<model::NodePtr> nodes;
  for (const cache::Slot slot : parts_.snapshot.order())
    if (parts_.snapshot.row(slot).node->unschedulable) nodes.push_back(parts_.snapshot.row(slot).node);
  if (nodes.empty()) return;
  Places where;
  {
    const Restore restore{[&] {
      for (const model::NodePtr& node : nodes) parts_.cache.update_node(node);
    }};
    for (const model::NodePtr& node : nodes) parts_.cache.update_node(uncordoned(*node, symbols_));
    where = places(pod);
  }
  const std::set<std::string_view> fitting(where.begin(), where.end());
  std::size_t named = 0;
  for (const model::NodePtr& node : nodes) {
    if (named == k_evictions_named) break;
    if (!fitting.contains(node->name)) continue;
    const Restore restore{[&] { parts_.cache.update_node(node); }};
    parts_.cache.update_node(uncordoned(*node, symbols_));
    const PodChange change{"uncordon", fmt::format("with node {} uncordoned", node->name),
                           JsonObject().text("node", node->name).done(), pod};
    if (try_change(change)) ++named;
  }
}

void FitSearch::try_evictions(const model::PodPtr& pod, const cycle::Explanation& before) {
  parts_.cache.refresh(parts_.snapshot, cache::Look::question);
  // By node: its pods of lower priority, the lowest first, and the largest first among equals.
  std::map<std::string_view, std::vector<model::PodPtr>> lower;
  std::set<std::string_view> open;  // nodes where evictions may help
  for (const cycle::NodeExplanation& node : before.nodes)
    if (node.code == framework::Code::unschedulable) open.insert(node.node);
  for (const cache::Slot slot : parts_.snapshot.order()) {
    const cache::NodeRow& row = parts_.snapshot.row(slot);
    if (!open.contains(row.node->name)) continue;
    std::vector<model::PodPtr> pods;
    for (const cache::PodHandle handle : row.pods)
      if (const model::PodPtr other = parts_.cache.pod(handle); other->priority < pod->priority) pods.push_back(other);
    std::stable_sort(pods.begin(), pods.end(), [](const model::PodPtr& a, const model::PodPtr& b) {
      if (a->priority != b->priority) return a->priority < b->priority;
      const auto cpu = [](const model::Pod& of) {
        return of.requests->resources.empty() ? 0 : of.requests->resources.front().request;
      };
      return cpu(*a) > cpu(*b);
    });
    if (!pods.empty()) lower.emplace(row.node->name, std::move(pods));
  }
  std::size_t named = 0;
  for (std::size_t turn = 0; turn < k_removed_per_node && named < k_evictions_named && may_ask(); ++turn) {
    // One pod of each node at once says where to look; one pod alone is what counts.
    std::vector<model::PodPtr> gone;
    for (const auto& [node, pods] : lower)
      if (turn < pods.size()) gone.push_back(pods[turn]);
    if (gone.empty()) return;
    const auto without = [&](const std::vector<model::PodPtr>& pods) {
      const Restore restore{[&] {
        for (const model::PodPtr& each : pods)
          BERTH_CHECK(parts_.cache.add_pod(each).ok(), "a pod that was tried away cannot come back");
      }};
      for (const model::PodPtr& each : pods)
        BERTH_CHECK(parts_.cache.remove_pod(*each).ok(), "a pod of the snapshot is not in the cache");
      return places(pod);
    };
    for (const std::string& node : without(gone)) {
      const auto pods = lower.find(node);
      if (pods == lower.end() || turn >= pods->second.size() || named == k_evictions_named) continue;
      const model::PodPtr& one = pods->second[turn];
      const Places where = without({one});
      if (where.empty()) continue;
      ++named;
      JsonObject json;
      json.text("pod", one->key()).text("node", node).number("priority", one->priority);
      add({"removePod", fmt::format("without pod {} of priority {} on {}", one->key(), one->priority, node),
           json.done(), pod},
          where);
    }
  }
}

bool FitSearch::fits_on_new_node(const model::PodPtr& pod, const cache::NodeRow& like) {
  if (!may_ask()) return false;
  std::string name = like.node->name + "-new";
  while (parts_.cache.find_node(symbols_.intern(name)) != nullptr) name += "-1";
  const model::NodePtr node = new_node_like(*like.node, name, symbols_);
  std::vector<model::PodPtr> daemons;
  for (const cache::PodHandle handle : like.pods)
    if (const model::PodPtr other = parts_.cache.pod(handle); other->controller->kind == "DaemonSet")
      daemons.push_back(placed_on(*pod_like(*other, other->name + "-of-" + name, symbols_), name, symbols_));
  const Restore restore{[&] {
    for (const model::PodPtr& daemon : daemons)
      BERTH_CHECK(parts_.cache.remove_pod(*daemon).ok(), "a pod that was tried is gone");
    BERTH_CHECK(parts_.cache.remove_node(*node).ok(), "a node that was tried is gone");
  }};
  parts_.cache.add_node(node);
  for (const model::PodPtr& daemon : daemons)
    BERTH_CHECK(parts_.cache.add_pod(daemon).ok(), "a pod of a DaemonSet cannot be on two nodes");
  const Places where = places(pod);
  return std::find(where.begin(), where.end(), name) != where.end();
}

void FitSearch::try_new_nodes(const model::PodPtr& pod) {
  parts_.cache.refresh(parts_.snapshot, cache::Look::question);
  struct Shape {
    std::size_t count = 0;
    cache::NodeRow row;  // a copy: the snapshot changes
  };
  std::map<std::string, Shape> shapes;
  const Symbol hostname = symbols_.intern("kubernetes.io/hostname");
  for (const cache::Slot slot : parts_.snapshot.order()) {
    const cache::NodeRow& row = parts_.snapshot.row(slot);
    std::string key;
    for (const model::Label& label : row.node->labels)
      if (label.key != hostname) key += fmt::format("{}={},", label.key, label.value);
    for (const model::Taint& taint : row.node->taints)
      key += fmt::format(";{}={}:{}", taint.key, taint.value, static_cast<unsigned>(taint.effect));
    for (const model::ResourceAmount& amount : row.node->allocatable)
      key += fmt::format("|{}={}", amount.name, amount.amount);
    Shape& shape = shapes[key + '#' + std::to_string(row.node->allowed_pods)];
    if (shape.count++ == 0) shape.row = row;
  }
  std::vector<const Shape*> order;
  for (const auto& [key, shape] : shapes) order.push_back(&shape);
  std::stable_sort(order.begin(), order.end(), [](const Shape* a, const Shape* b) {
    return a->count != b->count ? a->count > b->count : a->row.node->name < b->row.node->name;
  });
  std::size_t named = 0;
  for (std::size_t i = 0; i < order.size() && i < k_shapes_tried && named < k_new_nodes_named; ++i) {
    if (!fits_on_new_node(pod, order[i]->row)) continue;
    ++named;
    const std::string& like = order[i]->row.node->name;
    add({"newNode", "on a new node like " + like, JsonObject().text("like", like).done(), pod}, {});
    options_.back().nodes = 1;
  }
}

std::vector<FitSearch::Relaxed> FitSearch::relaxations(const model::Pod& pod, const cache::NodeRow& row) const {
  std::vector<Relaxed> out;
  std::vector<RequestStep> steps;
  for (std::size_t i = 0; i < pod.requests->resources.size(); ++i) {
    const model::PodResource& resource = pod.requests->resources[i];
    const cache::ResourceIndex index = parts_.cache.resources().find(resource.name);
    const std::int64_t free = std::max<std::int64_t>(row.allocatable_of(index) - row.requested_of(index), 0);
    if (resource.request > free) steps.emplace_back(i, free);
  }
  if (!steps.empty()) out.push_back([this, steps](const model::Pod& of) { return with_requests(of, steps, symbols_); });
  std::vector<model::Taint> taints;
  for (const model::Taint& taint : row.node->taints)
    if (keeps_pods_away(taint)) taints.push_back(taint);
  for (const model::Taint& taint : taints)
    out.push_back([this, taint](const model::Pod& of) { return with_tolerations(of, {taint}, symbols_); });
  // Of each kind the last is everything of it.
  const auto last_of = [&](auto&& changes_of) {
    if (!changes_of(pod).empty()) out.push_back([changes_of](const model::Pod& of) { return changes_of(of).back(); });
  };
  last_of([this](const model::Pod& of) { return without_node_selector(of, symbols_); });
  last_of([this](const model::Pod& of) { return without_node_affinity(of, symbols_); });
  last_of([this](const model::Pod& of) { return without_host_ports(of, symbols_); });
  // One at a time, from the last, so that the places of those before stay.
  const auto each_of = [&](auto&& changes_of) {
    for (std::size_t i = changes_of(pod).size(); i-- > 0;)
      out.push_back([changes_of, i](const model::Pod& of) { return changes_of(of)[i]; });
  };
  const std::vector<std::size_t> spread = spread_constraints(pod);
  for (auto place = spread.rbegin(); place != spread.rend(); ++place)
    out.push_back([this, at = *place](const model::Pod& of) { return with_max_skew(of, at, 0, symbols_); });
  each_of([](const model::Pod& of) { return without_claims(of); });
  each_of([](const model::Pod& of) { return without_volumes(of); });
  for (std::size_t i = pod.spec->affinity.anti_required.size(); i-- > 0;)
    out.push_back([this, i](const model::Pod& of) { return without_pod_affinity(of, symbols_, true)[i]; });
  for (std::size_t i = pod.spec->affinity.required.size(); i-- > 0;)
    out.push_back([this, i](const model::Pod& of) { return without_pod_affinity(of, symbols_, false)[i]; });
  return out;
}

report::NodeFit FitSearch::all_of(const model::PodPtr& pod, const cache::NodeRow& row,
                                  const cycle::Explanation& before) {
  report::NodeFit fit;
  fit.node = row.node->name;
  const auto verdict = [&](const cycle::Explanation& of) -> const cycle::NodeExplanation* {
    const auto node = std::find_if(of.nodes.begin(), of.nodes.end(), [&](const auto& n) { return n.node == fit.node; });
    return node != of.nodes.end() ? &*node : of.pod_rejection ? &*of.pod_rejection : nullptr;
  };
  if (const cycle::NodeExplanation* const now = verdict(before)) {
    fit.is_feasible = is_success(*now);
    fit.plugin = now->plugin;
    fit.reasons = now->reasons;
  }
  if (fit.is_feasible) return fit;

  const std::vector<Relaxed> ways = relaxations(*pod, row);
  std::vector<bool> is_used(ways.size(), true);
  bool is_uncordoned = row.node->unschedulable;
  const auto relaxed = [&] {
    model::PodPtr with = pod;
    for (std::size_t i = 0; i < ways.size(); ++i)
      if (is_used[i]) with = ways[i](*with).pod;
    return with;
  };
  const auto asked = [&] {
    const Restore restore{[&] { parts_.cache.update_node(row.node); }};
    if (is_uncordoned) parts_.cache.update_node(uncordoned(*row.node, symbols_));
    return explain(relaxed());
  };
  const auto fits = [&] {
    const cycle::Explanation now = asked();
    const cycle::NodeExplanation* const node = verdict(now);
    return node != nullptr && is_success(*node);
  };
  const cycle::Explanation with_all = asked();
  const cycle::NodeExplanation* const last = verdict(with_all);
  if (last == nullptr || !is_success(*last)) {
    fit.left = last == nullptr ? "a policy leaves the node out before nodes are looked at" : last->plugin;
    for (std::size_t i = 0; last != nullptr && i < last->reasons.size(); ++i)
      fit.left += (i == 0 ? ": " : ", ") + last->reasons[i];
  } else {
    // What is not needed is taken back, one thing after the other: what is left is needed as a whole.
    for (std::size_t i = 0; i < ways.size() && may_ask(); ++i) {
      is_used[i] = false;
      if (!fits()) is_used[i] = true;
    }
    if (is_uncordoned) {
      is_uncordoned = false;
      if (!fits()) is_uncordoned = true;
    }
  }
  model::PodPtr with = pod;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!is_used[i]) continue;
    PodChange change = ways[i](*with);
    with = change.pod;
    fit.changes.push_back({change.kind, std::move(change.text), std::move(change.json), 1, {fit.node}});
  }
  if (is_uncordoned)
    fit.changes.push_back({"uncordon",
                           fmt::format("with node {} uncordoned", fit.node),
                           JsonObject().text("node", fit.node).done(),
                           1,
                           {fit.node}});
  return fit;
}

}  // namespace berth::app
