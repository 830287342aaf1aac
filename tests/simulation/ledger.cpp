// SPDX-License-Identifier: Apache-2.0
#include "simulation/ledger.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace berth::simulation {
namespace {

namespace json = boost::json;
using tests::text_at;

constexpr std::int64_t k_s = 1'000'000'000;
// A binding that was on its way for longer is not what its sender still counts on.
constexpr std::int64_t k_late_ns = 25 * k_s;
// How long what happened to a node, or to the lease, excuses that a decision did not know of it.
constexpr std::int64_t k_excuse_ns = 120 * k_s;

std::int64_t number_of(const std::string& text) { return text.empty() ? 0 : std::stoll(text); }

/// As the world writes them: "500m", "2048Mi", "110".
Amount amount_at(const json::value& object, const std::string& pointer) {
  Amount out;
  std::string cpu = text_at(object, pointer + "/cpu"), memory = text_at(object, pointer + "/memory");
  if (!cpu.empty() && cpu.back() == 'm') cpu.pop_back();
  if (memory.ends_with("Mi")) memory.resize(memory.size() - 2);
  out.cpu_m = number_of(cpu);
  out.memory_mi = number_of(memory);
  out.pods = number_of(text_at(object, pointer + "/pods"));
  return out;
}

bool has(const json::value& object, std::string_view pointer) {
  boost::system::error_code missing;
  const json::value* const found = object.find_pointer(pointer, missing);
  return found != nullptr && !found->is_null();
}

std::int64_t world_ns(std::int64_t wall_ns) {
  Kernel& kernel = Kernel::the();
  return wall_ns - (kernel.wall_ns(kernel.world()) - kernel.now_ns());
}

}  // namespace

Amount& Amount::operator+=(const Amount& more) noexcept {
  cpu_m += more.cpu_m;
  memory_mi += more.memory_mi;
  pods += more.pods;
  return *this;
}

bool Amount::fits_into(const Amount& room) const noexcept {
  return cpu_m <= room.cpu_m && memory_mi <= room.memory_mi && pods <= room.pods;
}

Ledger::Ledger(tests::ApiStore& store, std::function<void(const std::string&, const std::string&)> report,
               std::function<void(const std::string&)> tell)
    : store_(store), report_(std::move(report)), tell_(std::move(tell)) {}

void Ledger::catch_up() {
  struct One {
    const tests::ApiResource* resource;
    tests::Change change;
  };
  std::vector<One> all;
  const std::uint64_t until = store_.version();
  for (const auto& [group, plural] :
       {std::pair("", "nodes"), std::pair("", "pods"), std::pair("coordination.k8s.io", "leases")}) {
    const tests::ApiResource& resource = *store_.find(group, "v1", plural);
    auto changes = store_.changes_after(resource, version_, 1'000'000);
    if (!changes) {
      report_("the simulation itself", "history was forgotten before it was read");
      return;
    }
    for (tests::Change& change : *changes)
      if (change.version <= until) all.push_back({&resource, std::move(change)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const One& a, const One& b) { return a.change.version < b.change.version; });
  version_ = until;
  for (const One& one : all) {
    // Bindings that were sent before this change are judged by what was true then.
    const std::int64_t now_ns = world_ns(one.change.wall_ns);
    while (!sent_.empty() && sent_.front().sent_ns < now_ns) {
      judge_sent(sent_.front());
      sent_.pop_front();
    }
    take(*one.resource, one.change);
  }
}

void Ledger::take(const tests::ApiResource& resource, const tests::Change& change) {
  const std::int64_t now_ns = world_ns(change.wall_ns);
  if (resource.plural == "pods")
    take_pod(change, now_ns);
  else if (resource.plural == "nodes")
    take_node(change, now_ns);
  else
    take_lease(change, now_ns);
}

void Ledger::take_node(const tests::Change& change, std::int64_t now_ns) {
  const std::string& name = (change.after ? change.after : change.before)->name;
  if (!change.after) {
    nodes_.erase(name);
    gone_nodes_[name] = now_ns;
    tell_(fmt::format("node {} is gone", name));
    return;
  }
  const json::value object = json::parse(change.after->text);
  NodeState& node = nodes_[name];
  const Amount has_now = amount_at(object, "/status/allocatable");
  const bool is_closed = has(object, "/spec/unschedulable");
  if (!change.before || !node.has.fits_into(has_now) || is_closed != node.is_closed) node.changed_ns = now_ns;
  node.name = name;
  node.zone = text_at(object, "/metadata/labels/zone");
  node.has = has_now;
  node.is_closed = is_closed;
  tell_(fmt::format("node {} has {}m CPU, {} Mi, {} pods{}", name, node.has.cpu_m, node.has.memory_mi, node.has.pods,
                    node.is_closed ? ", closed" : ""));
}

void Ledger::take_lease(const tests::Change& change, std::int64_t now_ns) {
  const json::value object = change.after ? json::parse(change.after->text) : json::value(json::object());
  const std::string holder = text_at(object, "/spec/holderIdentity");
  boost::system::error_code missing;
  if (const json::value* const length = object.find_pointer("/spec/leaseDurationSeconds", missing);
      length != nullptr && length->is_int64())
    lease_length_ns_ = length->get_int64() * k_s;
  if (holder != holder_) {
    if (!reigns_.empty() && reigns_.back().until_ns == k_never) reigns_.back().until_ns = now_ns;
    if (!holder.empty()) reigns_.push_back({holder, now_ns, now_ns});
    tell_(fmt::format("the lease is {}", holder.empty() ? "given back" : holder + "'s"));
    holder_ = holder;
  } else if (!reigns_.empty()) {
    reigns_.back().renewed_ns = now_ns;
  }
}

void Ledger::take_pod(const tests::Change& change, std::int64_t now_ns) {
  const std::string& name = (change.after ? change.after : change.before)->name;
  if (!change.after) {
    pods_.erase(name);
    return;
  }
  const json::value object = json::parse(change.after->text);
  const auto known = pods_.find(name);
  PodState pod = known == pods_.end() ? PodState{} : known->second;
  if (known == pods_.end()) {
    pod.name = name;
    pod.uid = change.after->uid;
    pod.created_ns = now_ns;
    pod.wants = amount_at(object, "/spec/containers/0/resources/requests");
    pod.wants.pods = 1;
    pod.zone = text_at(object, "/spec/nodeSelector/zone");
    boost::system::error_code missing;
    if (const json::value* const priority = object.find_pointer("/spec/priority", missing);
        priority != nullptr && priority->is_int64())
      pod.priority = static_cast<std::int32_t>(priority->get_int64());
  }
  pod.is_over = change.after->phase == "Succeeded" || change.after->phase == "Failed";
  pod.is_running = change.after->phase == "Running";
  pod.is_leaving = has(object, "/metadata/deletionTimestamp");
  const bool is_bound_now = pod.node.empty() && !change.after->node.empty();
  if (!pod.node.empty() && change.after->node != pod.node)
    report_("a pod is bound once", fmt::format("{} was on {}, and is on {} now", name, pod.node, change.after->node));
  pod.node = change.after->node;
  if (is_bound_now) pod.bound_ns = now_ns;
  const PodState& stored = pods_[name] = std::move(pod);
  if (is_bound_now) judge_binding(stored, now_ns);
}

Amount Ledger::used_on(const std::string& node, const std::string& but_for) const {
  Amount out;
  for (const auto& [name, pod] : pods_)
    if (pod.node == node && !pod.is_over && name != but_for) out += pod.wants;
  return out;
}

void Ledger::judge_binding(const PodState& pod, std::int64_t now_ns) {
  ++bound_count_;
  const auto sent = sent_for_.find(pod.name);
  const SentBinding* by = nullptr;
  if (sent != sent_for_.end())
    for (const SentBinding& one : sent->second)
      if (one.node == pod.node && one.sent_ns <= now_ns) by = &one;
  if (by == nullptr) {
    report_("the simulation itself", fmt::format("{} was bound to {} by none of the replicas", pod.name, pod.node));
    return;
  }
  const bool is_late = now_ns - by->sent_ns > k_late_ns;
  auto& last = on_node_[pod.node];
  std::erase_if(last, [&](const auto& one) { return one.first.sent_ns < now_ns - 2 * k_excuse_ns; });
  last.emplace_back(*by, is_late);
  tell_(fmt::format("{} is bound to {} by {}{}", pod.name, pod.node, by->by->name, is_late ? ", late" : ""));

  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end()) {
    const auto gone = gone_nodes_.find(pod.node);
    if (gone == gone_nodes_.end())
      report_("nodes exist", fmt::format("{} is bound to {}, which never was", pod.name, pod.node));
    else if (by->sent_ns - gone->second > k_excuse_ns)
      report_("none is bound to a deleted node",
              fmt::format("{} is bound to {}, which was deleted {} s before that was sent", pod.name, pod.node,
                          (by->sent_ns - gone->second) / k_s));
    return;
  }
  if (!pod.zone.empty() && pod.zone != node->second.zone && node->second.changed_ns < by->sent_ns - k_excuse_ns)
    report_("what a pod asks for is met",
            fmt::format("{} wants zone {} and is on {} in {}", pod.name, pod.zone, pod.node, node->second.zone));
  if (used_on(pod.node).fits_into(node->second.has)) return;
  // The sender may not have known of what another sent last, of a node that has just become smaller, or of what
  // arrived when it was given up.
  const bool is_excused =
      node->second.changed_ns > by->sent_ns - k_excuse_ns ||
      std::any_of(last.begin(), last.end(), [&](const auto& one) {
        return one.second || (one.first.by != by->by && one.first.sent_ns > by->sent_ns - k_excuse_ns);
      });
  if (is_excused) return;
  const Amount used = used_on(pod.node);
  report_("no node is over-committed",
          fmt::format("{} has {}m CPU, {} Mi, {} pods; with {} its pods want {}m, {} Mi, {}", pod.node,
                      node->second.has.cpu_m, node->second.has.memory_mi, node->second.has.pods, pod.name, used.cpu_m,
                      used.memory_mi, used.pods));
}

void Ledger::sending(const Machine& machine, std::string_view request) {
  constexpr std::string_view k_before = "POST /api/v1/namespaces/default/pods/", k_after = "/binding HTTP/1.1\r\n";
  if (!request.starts_with(k_before)) return;
  const std::size_t end = request.find(k_after);
  if (end == std::string_view::npos) return;
  SentBinding sent;
  sent.by = &machine;
  sent.sent_ns = Kernel::the().now_ns();
  sent.pod = request.substr(k_before.size(), end - k_before.size());
  const std::size_t body = request.find("\r\n\r\n");
  boost::system::error_code wrong;
  const json::value binding = json::parse(std::string(request.substr(body + 4)), wrong);
  if (!wrong) sent.node = text_at(binding, "/target/name");
  sent_for_[sent.pod].push_back(sent);
  sent_.push_back(std::move(sent));
}

/// By what was true when it was sent.
void Ledger::judge_sent(const SentBinding& sent) {
  const Reign* own = nullptr;
  for (const Reign& reign : reigns_)
    if (reign.holder.starts_with(sent.by->name + "_")) own = &reign;
  if (own == nullptr)
    return report_("only the leader binds",
                   fmt::format("{} sent a binding of {} and never led", sent.by->name, sent.pod));
  const std::int64_t end_ns = std::min(own->until_ns, own->renewed_ns + lease_length_ns_);
  if (sent.sent_ns > end_ns)
    report_("only the leader binds", fmt::format("{} sent a binding of {} {} ms after its term", sent.by->name,
                                                 sent.pod, (sent.sent_ns - end_ns) / 1'000'000));
  // What was bound before a replica led was known to it when it began.
  if (const auto pod = pods_.find(sent.pod); pod != pods_.end() && !pod->second.node.empty() &&
                                             pod->second.node != sent.node && pod->second.bound_ns < own->from_ns)
    report_("a leader knows what the one before it wrote",
            fmt::format("{} sent a binding of {} to {}, which had been on {} since {} ms before it led", sent.by->name,
                        sent.pod, sent.node, pod->second.node, (own->from_ns - pod->second.bound_ns) / 1'000'000));
}

std::size_t Ledger::waiting_count() const {
  return static_cast<std::size_t>(std::count_if(pods_.begin(), pods_.end(), [](const auto& one) {
    return one.second.node.empty() && !one.second.is_over && !one.second.is_leaving;
  }));
}

bool Ledger::has_room_for(const PodState& pod) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
    const NodeState& node = one.second;
    if (node.is_closed || (!pod.zone.empty() && pod.zone != node.zone)) return false;
    Amount all = used_on(node.name);
    all += pod.wants;
    return all.fits_into(node.has);
  });
}

void Ledger::judge_liveness(std::int64_t patience_ns) {
  const std::int64_t now_ns = Kernel::the().now_ns();
  for (const auto& [name, pod] : pods_)
    if (pod.node.empty() && !pod.is_over && !pod.is_leaving && now_ns - pod.created_ns > patience_ns &&
        has_room_for(pod))
      report_("a pod that fits is bound in time",
              fmt::format("{} has waited for {} s, and there is room for it", name, (now_ns - pod.created_ns) / k_s));
}

}  // namespace berth::simulation
