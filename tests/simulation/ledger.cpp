// SPDX-License-Identifier: Apache-2.0
#include "simulation/ledger.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "support/api_server/api_objects.hpp"

namespace berth::simulation {
namespace {

namespace json = boost::json;
using tests::text_at;

constexpr std::int64_t k_s = 1'000'000'000;
// A binding that was on its way for longer is not what its sender still counts on.
constexpr std::int64_t k_late_ns = 25 * k_s;
// How long what happened excuses that a decision did not know of it: while things go wrong, and when it is quiet.
constexpr std::int64_t k_excuse_ns = 120 * k_s, k_quiet_excuse_ns = 5 * k_s;
// When nothing that went wrong has an effect any more.
constexpr std::int64_t k_settled_ns = 240 * k_s;
// A pod that fits all the time is bound within that.
constexpr std::int64_t k_patience_ns = 60 * k_s;
constexpr std::int64_t k_together_ns = 3 * k_s;  // evictions for one pod

}  // namespace

std::optional<SentWrite> read_write(std::string_view method, std::string_view path, std::string_view body) {
  constexpr std::string_view k_before = "/api/v1/namespaces/", k_pods = "/pods/", k_binding = "/binding";
  path = path.substr(0, path.find('?'));
  if (!path.starts_with(k_before)) return std::nullopt;
  path.remove_prefix(k_before.size());
  const std::size_t pods = path.find(k_pods);
  if (pods == std::string_view::npos) return std::nullopt;
  SentWrite sent;
  sent.ns = path.substr(0, pods);
  path.remove_prefix(pods + k_pods.size());
  if (method == "POST" && path.ends_with(k_binding)) {
    path.remove_suffix(k_binding.size());
    boost::system::error_code wrong;
    const json::value binding = json::parse({body.data(), body.size()}, wrong);
    if (!wrong) sent.node = text_at(binding, "/target/name");
    if (!wrong) sent.uid = text_at(binding, "/metadata/uid");
  } else if (method == "DELETE" && path.find('/') == std::string_view::npos) {
    sent.kind = SentWrite::Kind::eviction;
  } else {
    return std::nullopt;
  }
  sent.pod = path;
  return sent;
}

Ledger::Ledger(std::function<void(const std::string&, const std::string&)> report,
               std::function<void(const std::string&)> tell, Leaders leaders)
    : report_(std::move(report)), tell_(std::move(tell)), leaders_(leaders) {}

bool Ledger::is_quiet(std::int64_t now_ns) const noexcept {
  return quiet_since_ns_ != k_not_yet && now_ns - quiet_since_ns_ > k_settled_ns;
}

std::int64_t Ledger::excuse_ns(std::int64_t now_ns) const noexcept {
  return is_quiet(now_ns) ? k_quiet_excuse_ns : k_excuse_ns;
}

void Ledger::take(std::string_view plural, std::string_view ns, std::string_view name, const json::value* object,
                  std::int64_t now_ns) {
  // What was sent before this change is judged by what was true then.
  while (!sent_.empty() && sent_.front().sent_ns < now_ns) {
    const SentWrite sent = std::move(sent_.front());
    sent_.pop_front();
    judge_sent(sent);
  }
  finish_evictions(now_ns);
  cluster_.forget_before(now_ns - Cluster::k_remembered_ns);
  if (plural == "pods")
    take_pod(ns, name, object, now_ns);
  else if (plural == "nodes")
    take_node(name, object, now_ns);
  else if (plural == "leases")
    take_lease(object, now_ns);
  else if (plural == "poddisruptionbudgets")
    take_budget(ns, name, object);
  else if (plural == "persistentvolumes" && object != nullptr)
    cluster_.put_volume(std::string(name), read_volume(*object));
  else if (plural == "persistentvolumeclaims" && object != nullptr)
    cluster_.put_claim(std::string(ns), std::string(name), text_at(*object, "/spec/volumeName"));
}

void Ledger::placed_before(std::string_view ns, std::string_view name, const std::string& node) {
  PodState pod = *cluster_.find_pod(ns, name);
  pod.node = node;
  pod.bound_ns = 0;
  cluster_.put_pod(std::move(pod));
}

void Ledger::take_node(std::string_view name, const json::value* object, std::int64_t now_ns) {
  if (object == nullptr) {
    cluster_.remove_node(std::string(name), now_ns);
    tell_(fmt::format("node {} is gone", name));
    return;
  }
  NodeState node = read_node(*object);
  const NodeState* const before = cluster_.find_node(node.name);
  const bool was_another = before == nullptr && cluster_.gone_since_ns(node.name);
  const bool is_other_size = before != nullptr && !(before->has.fits_into(node.has) && node.has.fits_into(before->has));
  if (was_another || is_other_size || (before != nullptr && before->is_closed != node.is_closed))
    shrunk_ns_[node.name] = now_ns;
  std::string labels, taints;
  for (const auto& [key, value] : node.labels) labels += fmt::format(" {}={}", key, value);
  for (const Taint& taint : node.taints) taints += fmt::format(", taint {}={}", taint.key, taint.value);
  tell_(fmt::format("node {} has {}{},{}{}", name, node.has.text(), node.is_closed ? ", closed" : "", labels, taints));
  cluster_.put_node(std::move(node), now_ns);
}

void Ledger::take_budget(std::string_view ns, std::string_view name, const json::value* object) {
  if (object == nullptr) {
    budgets_.erase(key_of(ns, name));
    return;
  }
  budgets_[key_of(ns, name)] = read_budget(*object);
}

void Ledger::take_lease(const json::value* object, std::int64_t now_ns) {
  const json::value none = json::object();
  const json::value& lease = object != nullptr ? *object : none;
  const std::string holder = text_at(lease, "/spec/holderIdentity");
  boost::system::error_code missing;
  if (const json::value* const length = lease.find_pointer("/spec/leaseDurationSeconds", missing);
      length != nullptr && length->is_int64())
    lease_length_ns_ = length->get_int64() * k_s;
  if (holder != holder_) {
    if (!reigns_.empty() && reigns_.back().until_ns == k_not_yet) reigns_.back().until_ns = now_ns;
    if (!holder.empty()) reigns_.push_back({holder, now_ns, now_ns});
    tell_(fmt::format("the lease is {}", holder.empty() ? "given back" : holder + "'s"));
    holder_ = holder;
  } else if (!reigns_.empty()) {
    reigns_.back().renewed_ns = now_ns;
  }
}

void Ledger::take_pod(std::string_view ns, std::string_view name, const json::value* object, std::int64_t now_ns) {
  const PodState* const known = cluster_.find_pod(ns, name);
  if (object == nullptr) {
    if (known != nullptr && !known->node.empty() && !known->is_over) tell_(fmt::format("{} is gone", name));
    sent_for_.erase(key_of(ns, name));
    cluster_.remove_pod(std::string(ns), std::string(name), now_ns);
    return;
  }
  PodState pod = read_pod(*object);
  pod.created_ns = now_ns;
  if (known != nullptr && known->uid == pod.uid) {
    pod.created_ns = known->created_ns;
    pod.sent_ns = known->sent_ns;
    pod.bound_ns = known->bound_ns;
    pod.bound_by = known->bound_by;
    pod.came_late = known->came_late;
    pod.leaving_ns = known->leaving_ns;
    pod.gone_ns = known->gone_ns;
    pod.fits_since_ns = known->fits_since_ns;
    if (!known->node.empty() && pod.node != known->node)
      report_("a pod is bound once", fmt::format("{} was on {}, and is on {} now", name, known->node, pod.node));
    if (known->is_gated && !pod.is_gated) tell_(fmt::format("{} has no gate any more", name));
  }
  if (pod.is_over) pod.gone_ns = std::min(pod.gone_ns, now_ns);
  if (pod.is_leaving) pod.leaving_ns = std::min(pod.leaving_ns, now_ns);
  const bool is_bound_now = !pod.node.empty() && (known == nullptr || known->uid != pod.uid || known->node.empty());
  if (is_bound_now) pod.bound_ns = now_ns;
  PodState& stored = cluster_.put_pod(std::move(pod));
  if (is_bound_now) judge_binding(stored, now_ns);
}

void Ledger::judge_binding(PodState& pod, std::int64_t now_ns) {
  ++bound_count_;
  const auto sent = sent_for_.find(key_of(pod.ns, pod.name));
  const SentWrite* by = nullptr;
  if (sent != sent_for_.end())
    for (const SentWrite& one : sent->second)
      if (one.node == pod.node && one.sent_ns <= now_ns) by = &one;
  if (by == nullptr) {
    report_("only schedulers bind", fmt::format("{} was bound to {} by none of the replicas", pod.name, pod.node));
    return;
  }
  pod.sent_ns = by->sent_ns;
  pod.bound_by = by->by;
  pod.came_late = now_ns - by->sent_ns > k_late_ns;
  auto& last = on_node_[pod.node];
  std::erase_if(last, [&](const auto& one) { return one.first.sent_ns < now_ns - 2 * k_excuse_ns; });
  last.emplace_back(*by, pod.came_late);
  tell_(fmt::format("{} is bound to {} by {}{}", pod.name, pod.node, by->by, pod.came_late ? ", late" : ""));
  judge_place(pod, *by);
}

void Ledger::judge_place(const PodState& pod, const SentWrite& by) {
  const std::int64_t unknown_from_ns = by.sent_ns - excuse_ns(by.sent_ns);
  const NodeState* const node = cluster_.find_node(pod.node);
  if (node == nullptr) {
    const std::optional<std::int64_t> gone_ns = cluster_.gone_since_ns(pod.node);
    if (!gone_ns)
      report_("nodes exist", fmt::format("{} is bound to {}, which never was", pod.name, pod.node));
    else if (*gone_ns < unknown_from_ns)
      report_("none is bound to a deleted node",
              fmt::format("{} is bound to {}, which was deleted {} s before that was sent", pod.name, pod.node,
                          (by.sent_ns - *gone_ns) / k_s));
    return;
  }
  if (const auto why = cluster_.refusal_since(pod, pod.node, unknown_from_ns))
    report_("what a pod asks for is met", fmt::format("{} is on {}, and {}", pod.name, pod.node, *why));
  // What the same one sent shortly before it had decided before, or a moment later: for those that are to be apart,
  // with this one in mind.
  const std::int64_t own_from_ns = by.sent_ns - (is_quiet(by.sent_ns) ? k_s : 30 * k_s);
  const bool is_pair = pod.spread.empty() && pod.near.empty();
  const auto certainly = [&](const PodState& other) {
    if (other.gone_ns <= by.sent_ns || other.bound_ns == k_not_yet) return false;
    if (other.bound_ns < unknown_from_ns) return true;
    return other.bound_by == by.by && !other.came_late && other.sent_ns < (is_pair ? by.sent_ns : own_from_ns);
  };
  const auto perhaps = [&](const PodState& other) {
    return other.gone_ns >= unknown_from_ns && other.sent_ns <= by.sent_ns + k_s;
  };
  const Knowledge knowledge{certainly, perhaps, unknown_from_ns};
  if (const auto why = cluster_.refusal_of_pods(pod, *node, knowledge))
    report_("what a pod asks of the pods around it is met",
            fmt::format("{} is on {}, and {}", pod.name, pod.node, *why));
  if (const PodTerm* const unmet = cluster_.unmet_near(pod, *node, knowledge);
      unmet != nullptr && !may_have_placed(by, *unmet))
    report_("what a pod asks of the pods around it is met",
            fmt::format("{} is on {}, and no pod that it must be near is in the same {}", pod.name, pod.node,
                        unmet->topology_key));
  judge_room(pod, by);
}

/// Whether its sender may have counted on another that it had placed itself, and of which the binding arrives later or
/// never.
bool Ledger::may_have_placed(const SentWrite& by, const PodTerm& near) const {
  const auto may_be_one = [&](const PodState& other) {
    return other.ns == by.ns && other.name != by.pod && all_hold(near.selector, other.labels) &&
           other.created_ns < by.sent_ns && other.bound_ns > by.sent_ns - k_late_ns &&
           other.gone_ns > by.sent_ns - excuse_ns(by.sent_ns);
  };
  return std::any_of(pods().begin(), pods().end(), [&](const auto& one) { return may_be_one(one.second); }) ||
         std::any_of(cluster_.past_pods().begin(), cluster_.past_pods().end(), may_be_one);
}

void Ledger::judge_room(const PodState& pod, const SentWrite& by) {
  const NodeState& node = *cluster_.find_node(pod.node);
  const Amount used = cluster_.used_on(pod.node);
  if (used.fits_into(node.has)) return;
  // The sender may not have known of what another sent last, of a node that has just become smaller, or of what
  // arrived when it was given up.
  const std::int64_t unknown_from_ns = by.sent_ns - excuse_ns(by.sent_ns);
  const auto& last = on_node_[pod.node];
  const bool is_excused =
      shrunk_ns_[pod.node] > unknown_from_ns || std::any_of(last.begin(), last.end(), [&](const auto& one) {
        return one.second || (one.first.by != by.by && one.first.sent_ns > unknown_from_ns);
      });
  if (is_excused) return;
  for (const PodState* const other : cluster_.pods_on(pod.node))
    tell_(fmt::format("on {}: {} wants {}{}", pod.node, other->name, other->wants.text(),
                      other->leaving_ns == k_not_yet ? "" : ", is deleted and not gone"));
  report_("no node is over-committed",
          fmt::format("{} has {}; with {} its pods want {}", pod.node, node.has.text(), pod.name, used.text()));
}

void Ledger::judge_sent(const SentWrite& sent) {
  if (leaders_ == Leaders::known_from_the_start || !reigns_.empty()) judge_sender(sent);
  if (sent.kind == SentWrite::Kind::eviction) return judge_eviction(sent);
  sent_for_[key_of(sent.ns, sent.pod)].push_back(sent);
  const PodState* const pod = cluster_.find_pod(sent.ns, sent.pod);
  if (pod == nullptr) return;
  // Of one that had that name before: the server does not take it for this one.
  if (!sent.uid.empty() && sent.uid != pod->uid) return;
  if (pod->node.empty()) cluster_.attempted(*pod, sent.node, sent.sent_ns);
  if (pod->is_strange)
    report_("what cannot be read is not bound", fmt::format("{} sent a binding of {}", sent.by, sent.pod));
  if (pod->is_gated)
    report_("a pod with a gate waits", fmt::format("{} sent a binding of {}, which has a gate", sent.by, sent.pod));
}

/// By what was true when it was sent.
void Ledger::judge_sender(const SentWrite& sent) {
  const char* const what = sent.kind == SentWrite::Kind::binding ? "a binding" : "an eviction";
  const Reign* own = nullptr;
  for (const Reign& reign : reigns_)
    if (reign.holder.starts_with(sent.by + "_")) own = &reign;
  if (own == nullptr)
    return report_("only the leader binds", fmt::format("{} sent {} of {} and never led", sent.by, what, sent.pod));
  const std::int64_t end_ns = std::min(own->until_ns, own->renewed_ns + lease_length_ns_);
  if (sent.sent_ns > end_ns)
    report_("only the leader binds", fmt::format("{} sent {} of {} {} ms after its term", sent.by, what, sent.pod,
                                                 (sent.sent_ns - end_ns) / 1'000'000));
  if (sent.kind != SentWrite::Kind::binding) return;
  // What was bound before a replica led was known to it when it began. But a watch that was down then tells later of a pod
  // that came and was bound meanwhile: in one event, and in the next. What is sent between the two the server refuses.
  const PodState* const pod = cluster_.find_pod(sent.ns, sent.pod);
  if (pod == nullptr || pod->node.empty() || pod->node == sent.node || pod->bound_ns >= own->from_ns) return;
  const bool may_come_in_two_events =
      pod->bound_ns - pod->created_ns < k_s && pod->created_ns > own->from_ns - excuse_ns(own->from_ns);
  if (!may_come_in_two_events)
    report_("a leader knows what the one before it wrote",
            fmt::format("{} sent a binding of {} to {}, which had been on {} since {} ms before it led", sent.by,
                        sent.pod, sent.node, pod->node, (own->from_ns - pod->bound_ns) / 1'000'000));
}

void Ledger::judge_eviction(const SentWrite& sent) {
  const PodState* const victim = cluster_.find_pod(sent.ns, sent.pod);
  if (victim == nullptr) return;  // it went by itself
  ++evicted_count_;
  // Its binding may be on its way.
  tell_(fmt::format("{} evicts {} from {}", sent.by, sent.pod,
                    victim->node.empty() ? "where it is to be" : victim->node));
  const std::int64_t unknown_from_ns = sent.sent_ns - excuse_ns(sent.sent_ns);
  const auto may_be_for = [&](const PodState& pod) {
    return pod.priority > victim->priority && pod.may_preempt && !pod.is_gated && pod.bound_ns >= unknown_from_ns &&
           pod.gone_ns >= unknown_from_ns;
  };
  Evictions now{sent.by, victim->node, sent.sent_ns, {victim->uid}, {}, {}};
  for (const auto& [key, pod] : cluster_.pods())
    if (may_be_for(pod)) now.waiting.push_back(pod);
  const bool had_one = std::any_of(cluster_.past_pods().begin(), cluster_.past_pods().end(), may_be_for);
  if (now.waiting.empty() && !had_one)
    return report_(
        "nothing is evicted for no one",
        fmt::format("{} evicts {} of priority {}, and no pod above it waits", sent.by, sent.pod, victim->priority));
  if (!is_quiet(sent.sent_ns) || victim->node.empty()) return;
  const auto known = std::find_if(evictions_.begin(), evictions_.end(), [&](const Evictions& one) {
    return one.by == sent.by && one.node == victim->node && one.first_ns > sent.sent_ns - k_together_ns;
  });
  if (known == evictions_.end()) {
    for (const PodState* const pod : cluster_.pods_on(victim->node)) now.there.push_back(*pod);
    if (!had_one) evictions_.push_back(std::move(now));
  } else {
    known->victims.push_back(victim->uid);
    // Another pod may be what it is for.
    if (now.waiting.size() != 1 || known->waiting.size() != 1 || now.waiting.front().uid != known->waiting.front().uid)
      known->waiting.clear();
  }
}

void Ledger::finish_evictions(std::int64_t now_ns) {
  while (!evictions_.empty() && evictions_.front().first_ns <= now_ns - k_together_ns) {
    const Evictions done = std::move(evictions_.front());
    evictions_.erase(evictions_.begin());
    judge_evictions(done);
  }
}

/// Each victim makes the difference: with all others gone, and that one back, the pod does not fit. Judged where it is
/// clear for what pod that was.
void Ledger::judge_evictions(const Evictions& evictions) {
  if (evictions.waiting.size() != 1) return;
  const PodState& pod = evictions.waiting.front();
  if (!pod.is_plain() || pod.is_strange) return;
  const NodeState* const node = cluster_.find_node(evictions.node);
  if (node == nullptr || node->from_ns > evictions.first_ns - k_quiet_excuse_ns) return;
  Amount free = node->has;
  free -= pod.wants;
  for (const PodState& other : evictions.there) {
    // One that had come or was about to go a moment before makes it unclear what was known.
    if (other.bound_ns > evictions.first_ns - k_quiet_excuse_ns || other.leaving_ns < evictions.first_ns) return;
    if (std::find(evictions.victims.begin(), evictions.victims.end(), other.uid) == evictions.victims.end())
      free -= other.wants;
  }
  if (!Amount{}.fits_into(free)) return;  // a nomination or another pod took part in it
  for (const PodState& other : evictions.there) {
    const bool is_victim =
        std::find(evictions.victims.begin(), evictions.victims.end(), other.uid) != evictions.victims.end();
    if (is_victim && other.apart.empty() && other.wants.fits_into(free))
      report_("no eviction that is not needed", fmt::format("{} is evicted from {} for {}, and there would be room "
                                                            "for both",
                                                            other.name, evictions.node, pod.name));
  }
  if (pod.fits_since_ns < evictions.first_ns - k_quiet_excuse_ns)
    report_("no eviction that is not needed",
            fmt::format("{} is evicted for {}, which fitted without that", evictions.there.front().name, pod.name));
}

std::size_t Ledger::waiting_count() const {
  return static_cast<std::size_t>(std::count_if(pods().begin(), pods().end(), [](const auto& one) {
    return one.second.node.empty() && !one.second.is_over && !one.second.is_leaving;
  }));
}

void Ledger::look_at_waiting(std::int64_t now_ns) {
  if (!is_quiet(now_ns)) return;
  for (const auto& [key, waiting] : pods()) {
    if (!waiting.node.empty() || waiting.is_over || waiting.is_leaving) continue;
    PodState& pod = *cluster_.find_pod(waiting.ns, waiting.name);
    if (pod.is_gated || pod.is_strange || !cluster_.fits_somewhere(pod)) {
      pod.fits_since_ns = k_not_yet;
      continue;
    }
    pod.fits_since_ns = std::min(pod.fits_since_ns, now_ns);
    if (now_ns - pod.fits_since_ns > k_patience_ns)
      report_("a pod that fits is bound in time",
              fmt::format("there has been room for {} for {} s", pod.name, (now_ns - pod.fits_since_ns) / k_s));
  }
}

}  // namespace berth::simulation
