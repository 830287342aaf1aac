// SPDX-License-Identifier: Apache-2.0
#include "simulation/cluster.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace berth::simulation {
namespace {

const PodSet k_no_pods;

const std::string* value_of(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool same_domain(const Labels& a, const Labels& b, const std::string& key) {
  const std::string *one = value_of(a, key), *other = value_of(b, key);
  return one != nullptr && other != nullptr && *one == *other;
}

bool is_eligible(const PodState& pod, const NodeState& node) {
  return std::all_of(pod.node_selector.begin(), pod.node_selector.end(),
                     [&](const auto& one) {
                       const std::string* const value = value_of(node.labels, one.first);
                       return value != nullptr && *value == one.second;
                     }) &&
         one_holds(pod.node_terms, node.labels);
}

}  // namespace

std::string key_of(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

void Cluster::put_node(NodeState node, std::int64_t now_ns) {
  node.from_ns = now_ns;
  const auto known = nodes_.find(node.name);
  if (known == nodes_.end()) {
    gone_nodes_.erase(node.name);
    nodes_.emplace(node.name, std::move(node));
    return;
  }
  NodeState before = std::exchange(known->second, std::move(node));
  before.until_ns = now_ns;
  past_nodes_.push_back(std::move(before));
}

void Cluster::remove_node(const std::string& name, std::int64_t now_ns) {
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) return;
  known->second.until_ns = now_ns;
  past_nodes_.push_back(std::move(known->second));
  nodes_.erase(known);
  gone_nodes_[name] = now_ns;
}

PodState& Cluster::put_pod(PodState pod) {
  PodState& stored = pods_[key_of(pod.ns, pod.name)];
  if (!stored.node.empty()) on_node_[stored.node].erase(&stored);
  if (pod.is_over && !stored.is_over) past_pods_.push_back(pod);
  stored = std::move(pod);
  if (!stored.node.empty() && !stored.is_over) on_node_[stored.node].insert(&stored);
  return stored;
}

void Cluster::remove_pod(const std::string& ns, const std::string& name, std::int64_t now_ns) {
  const auto known = pods_.find(key_of(ns, name));
  if (known == pods_.end()) return;
  if (!known->second.node.empty()) on_node_[known->second.node].erase(&known->second);
  known->second.gone_ns = std::min(known->second.gone_ns, now_ns);
  if (!known->second.is_over) past_pods_.push_back(std::move(known->second));
  pods_.erase(known);
}

void Cluster::attempted(PodState pod, const std::string& node, std::int64_t sent_ns) {
  constexpr std::int64_t k_counted_ns = 30'000'000'000;
  pod.node = node;
  pod.sent_ns = sent_ns;
  pod.gone_ns = sent_ns + k_counted_ns;
  past_pods_.push_back(std::move(pod));
}

void Cluster::put_claim(const std::string& ns, const std::string& name, std::string volume) {
  claims_[key_of(ns, name)] = std::move(volume);
}

void Cluster::forget_before(std::int64_t time_ns) {
  while (!past_pods_.empty() && past_pods_.front().gone_ns < time_ns) past_pods_.pop_front();
  while (!past_nodes_.empty() && past_nodes_.front().until_ns < time_ns) past_nodes_.pop_front();
}

PodState* Cluster::find_pod(std::string_view ns, std::string_view name) {
  const auto found = pods_.find(key_of(ns, name));
  return found == pods_.end() ? nullptr : &found->second;
}

const NodeState* Cluster::find_node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> Cluster::gone_since_ns(const std::string& node) const {
  const auto found = gone_nodes_.find(node);
  return found == gone_nodes_.end() ? std::nullopt : std::optional(found->second);
}

const PodSet& Cluster::pods_on(const std::string& node) const {
  const auto found = on_node_.find(node);
  return found == on_node_.end() ? k_no_pods : found->second;
}

Amount Cluster::used_on(const std::string& node) const {
  Amount out;
  for (const PodState* const pod : pods_on(node)) out += pod->wants;
  return out;
}

std::vector<const Labels*> Cluster::labels_since(const std::string& node, std::int64_t since_ns) const {
  std::vector<const Labels*> out;
  if (const NodeState* const now = find_node(node)) out.push_back(&now->labels);
  for (const NodeState& past : past_nodes_)
    if (past.name == node && past.until_ns >= since_ns) out.push_back(&past.labels);
  return out;
}

bool Cluster::always_together(const std::string& a, const std::string& b, const std::string& key,
                              std::int64_t since_ns) const {
  const auto all = labels_since(a, since_ns), others = labels_since(b, since_ns);
  return !all.empty() && !others.empty() && std::all_of(all.begin(), all.end(), [&](const Labels* one) {
    return std::all_of(others.begin(), others.end(),
                       [&](const Labels* other) { return same_domain(*one, *other, key); });
  });
}

bool Cluster::once_together(const std::string& a, const std::string& b, const std::string& key,
                            std::int64_t since_ns) const {
  const auto all = labels_since(a, since_ns), others = labels_since(b, since_ns);
  return std::any_of(all.begin(), all.end(), [&](const Labels* one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Labels* other) { return same_domain(*one, *other, key); });
  });
}

bool Cluster::can_reach_volumes(const PodState& pod, const NodeState& node) const {
  return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const std::string& claim) {
    const auto volume = claims_.find(key_of(pod.ns, claim));
    if (volume == claims_.end()) return false;
    const auto terms = volumes_.find(volume->second);
    return terms != volumes_.end() && one_holds(terms->second, node.labels);
  });
}

std::optional<std::string> Cluster::refusal_since(const PodState& pod, const std::string& node,
                                                  std::int64_t since_ns) const {
  const auto refusal_of = [&](const NodeState& version) {
    std::optional<std::string> refusal = refusal_of_node(pod, version);
    if (!refusal && !can_reach_volumes(pod, version)) refusal = "its volumes are elsewhere";
    return refusal;
  };
  const NodeState* const now = find_node(node);
  std::optional<std::string> why = now == nullptr ? std::nullopt : refusal_of(*now);
  if (!why) return std::nullopt;
  const bool was_one = std::any_of(past_nodes_.begin(), past_nodes_.end(), [&](const NodeState& past) {
    return past.name == node && past.until_ns >= since_ns && !refusal_of(past);
  });
  return was_one ? std::nullopt : why;
}

template <typename Do>
void Cluster::each_placed(Do&& then) const {
  for (const auto& [node, pods] : on_node_)
    for (const PodState* const pod : pods) then(*pod);
  for (const PodState& pod : past_pods_)
    if (!pod.node.empty()) then(pod);
}

std::optional<std::string> Cluster::refusal_of_spread(const PodState& pod, const NodeState& node,
                                                      const SpreadTerm& term, const Knowledge& knowledge) const {
  const std::string* const own = value_of(node.labels, term.topology_key);
  if (own == nullptr) return fmt::format("it has no {}", term.topology_key);
  if (node.from_ns > knowledge.nodes_known_until_ns) return std::nullopt;
  Count most;  // of each domain that is certainly known
  for (const auto& [name, other] : nodes_)
    if (const std::string* const domain = value_of(other.labels, term.topology_key);
        domain != nullptr && other.from_ns <= knowledge.nodes_known_until_ns && is_eligible(pod, other))
      most.emplace(*domain, 0);
  std::int64_t here = 0;
  each_placed([&](const PodState& other) {
    if (other.uid == pod.uid || other.ns != pod.ns || !all_hold(term.selector, other.labels)) return;
    const NodeState* const on = find_node(other.node);
    if (on == nullptr || on->from_ns > knowledge.nodes_known_until_ns) {  // it may have been anywhere
      if (knowledge.nodes_known_until_ns != k_not_yet && knowledge.perhaps_there(other))
        for (auto& [domain, count] : most) ++count;
      return;
    }
    if (!is_eligible(pod, *on)) return;
    const std::string* const domain = value_of(on->labels, term.topology_key);
    if (domain == nullptr) return;
    if (*domain == *own && !other.is_leaving && knowledge.certainly_there(other)) ++here;
    if (const auto counted = most.find(*domain); counted != most.end() && knowledge.perhaps_there(other))
      ++counted->second;
  });
  if (most.empty()) return std::nullopt;
  const std::int64_t least = std::min_element(most.begin(), most.end(), [](const auto& a, const auto& b) {
                               return a.second < b.second;
                             })->second;
  const std::int64_t skew = here + (all_hold(term.selector, pod.labels) ? 1 : 0) - least;
  if (skew <= term.max_skew) return std::nullopt;
  return fmt::format("{}={} would have {} more such pods than another, and {} is the most", term.topology_key, *own,
                     skew, term.max_skew);
}

std::optional<std::string> Cluster::refusal_of_pods(const PodState& pod, const NodeState& node,
                                                    const Knowledge& knowledge) const {
  std::optional<std::string> why;
  const std::int64_t since_ns = knowledge.nodes_known_until_ns;
  const auto is_here = [&](const PodState& other, const PodTerm& term) {
    return always_together(other.node, node.name, term.topology_key, since_ns);
  };
  if (!pod.apart.empty() || !pod.labels.empty())
    each_placed([&](const PodState& other) {
      if (why || other.uid == pod.uid || other.ns != pod.ns || (pod.apart.empty() && other.apart.empty())) return;
      const bool is_refused =
          std::any_of(
              pod.apart.begin(), pod.apart.end(),
              [&](const PodTerm& term) { return all_hold(term.selector, other.labels) && is_here(other, term); }) ||
          std::any_of(other.apart.begin(), other.apart.end(),
                      [&](const PodTerm& term) { return all_hold(term.selector, pod.labels) && is_here(other, term); });
      if (is_refused && knowledge.certainly_there(other))
        why = fmt::format("{} on {} and it must be apart", other.name, other.node);
    });
  if (why) return why;
  for (const SpreadTerm& term : pod.spread)
    if (std::optional<std::string> refusal = refusal_of_spread(pod, node, term, knowledge)) return refusal;
  return std::nullopt;
}

const PodTerm* Cluster::unmet_near(const PodState& pod, const NodeState& node, const Knowledge& knowledge) const {
  const auto may_be_here = [&](const PodState& other, const PodTerm& term) {
    return once_together(other.node, node.name, term.topology_key, knowledge.nodes_known_until_ns);
  };
  for (const PodTerm& term : pod.near) {
    bool is_met = false, is_elsewhere = false;
    each_placed([&](const PodState& other) {
      if (other.uid == pod.uid || other.ns != pod.ns || !all_hold(term.selector, other.labels)) return;
      is_met = is_met || (may_be_here(other, term) && knowledge.perhaps_there(other));
      is_elsewhere = is_elsewhere || knowledge.certainly_there(other);
    });
    // The first of those that want each other may be anywhere.
    if (!is_met && (is_elsewhere || !all_hold(term.selector, pod.labels))) return &term;
  }
  return nullptr;
}

bool Cluster::fits(const PodState& pod, const NodeState& node, const PodSet& without, bool with_nominated) const {
  Amount all = used_on(node.name);
  all += pod.wants;
  for (const PodState* const gone : without)
    if (gone->node == node.name && !gone->is_over) all -= gone->wants;
  if (with_nominated)
    for (const auto& [key, other] : pods_)
      if (other.nominated == node.name && other.node.empty() && !other.is_over && other.uid != pod.uid &&
          other.priority >= pod.priority)
        all += other.wants;
  if (!all.fits_into(node.has) || refusal_of_node(pod, node) || !can_reach_volumes(pod, node)) return false;
  const auto is_there = [&](const PodState& other) {
    return other.gone_ns == k_not_yet && !other.is_over && !without.contains(&other);
  };
  const Knowledge knowledge{is_there, is_there, k_not_yet};
  return !refusal_of_pods(pod, node, knowledge) && unmet_near(pod, node, knowledge) == nullptr;
}

bool Cluster::fits_somewhere(const PodState& pod) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) { return fits(pod, one.second, {}, true); });
}

}  // namespace berth::simulation
