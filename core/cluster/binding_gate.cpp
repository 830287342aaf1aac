// SPDX-License-Identifier: Apache-2.0
#include "cluster/binding_gate.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "observe/log.hpp"

namespace berth::cluster {
namespace {

Error waits_no_more() {
  return {"the binding waited for the watch of nodes, and berth binds nothing any more", ErrorCode::stopped};
}

/// One that fails must not keep the others from being told.
void tell(const BindingGate::Then& then, Status status) noexcept {
  try {
    then(std::move(status));
  } catch (const std::exception& error) {
    observe::error("A binding that waited for the watch of nodes cannot go on", {{"err", error.what()}});
  }
}

}  // namespace

void BindingGate::node_present(std::string_view name, std::string_view uid) {
  const Lock lock(mutex_);
  if (const auto known = nodes_.find(name); known == nodes_.end())
    nodes_.emplace(name, uid);
  else if (known->second != uid)
    known->second = uid;
}

void BindingGate::node_absent(std::string_view name, std::string_view uid) {
  const Lock lock(mutex_);
  const auto known = nodes_.find(name);
  if (known != nodes_.end() && (uid.empty() || known->second == uid)) nodes_.erase(known);
}

void BindingGate::placed(const model::Uid& pod, PlacedNode node) {
  const Lock lock(mutex_);
  placed_[pod] = std::move(node);
}

void BindingGate::ended(const model::Uid& pod) noexcept {
  const Lock lock(mutex_);
  placed_.erase(pod);
}

std::optional<PlacedNode> BindingGate::node_of(const model::Uid& pod, std::string_view node_name) const {
  const Lock lock(mutex_);
  const auto found = placed_.find(pod);
  if (found == placed_.end() || found->second.name != node_name) return std::nullopt;
  return found->second;
}

Error BindingGate::withhold(WithheldReason reason, std::string message) {
  withheld_.at(static_cast<std::size_t>(reason)).fetch_add(1, std::memory_order_relaxed);
  return {std::move(message), ErrorCode::withheld};
}

Status BindingGate::admit(const PlacedNode& node) {
  const Lock lock(mutex_);
  // What is known to be gone does not come back, whatever the watch has still to tell.
  const auto now = nodes_.find(node.name);
  if (now == nodes_.end())
    return withhold(WithheldReason::node_gone,
                    fmt::format("the binding was not sent: node \"{}\" was deleted after the decision", node.name));
  if (!node.uid.empty() && now->second != node.uid)
    return withhold(
        WithheldReason::node_replaced,
        fmt::format("the binding was not sent: node \"{}\" was replaced after the decision (uid {} instead of {})",
                    node.name, now->second, node.uid));
  if (in_step_) return Unit{};
  return Error{
      fmt::format("the watch of nodes is down, so that it is not known whether node \"{}\" is there", node.name),
      ErrorCode::nodes_unknown};
}

void BindingGate::when_in_step(std::int64_t until_ns, Then then) {
  std::int64_t due_ns = 0;
  Status outcome = Unit{};
  {
    const Lock lock(mutex_);
    if (stopped_ && !in_step_) {
      outcome = waits_no_more();
    } else if (!in_step_) {
      waiting_.emplace(until_ns, std::move(then));
      then = nullptr;
      if (until_ns < watched_ns_) watched_ns_ = due_ns = until_ns;
    }
  }
  if (then) return tell(then, std::move(outcome));
  if (due_ns != 0) watch_until(due_ns);
}

void BindingGate::watch_until(std::int64_t due_ns) {
  options_.after(std::max<std::int64_t>(due_ns - clock_.monotonic_ns(), 0), [gate = weak_from_this(), due_ns] {
    if (const std::shared_ptr<BindingGate> self = gate.lock()) self->expire(due_ns);
  });
}

void BindingGate::expire(std::int64_t due_ns) {
  std::vector<Then> late;
  std::int64_t next_ns = 0;
  {
    const Lock lock(mutex_);
    const auto first_in_time = waiting_.upper_bound(clock_.monotonic_ns());
    for (auto at = waiting_.begin(); at != first_in_time; ++at) late.push_back(std::move(at->second));
    waiting_.erase(waiting_.begin(), first_in_time);
    // An earlier call was asked for meanwhile: that one sees to the rest.
    if (watched_ns_ == due_ns) {
      watched_ns_ = waiting_.empty() ? k_never_ns : waiting_.begin()->first;
      if (!waiting_.empty()) next_ns = watched_ns_;
    }
  }
  if (next_ns != 0) watch_until(next_ns);
  for (const Then& then : late)
    tell(then,
         withhold(WithheldReason::watch_down,
                  fmt::format("the binding was not sent: the watch of nodes was down for {} ms, so that it is not "
                              "known whether the node is there; look for \"Failed to list or watch\" in the log",
                              options_.wait_max_ns / 1'000'000)));
}

void BindingGate::watch_in_step(bool in_step) {
  Waiting free;
  {
    const Lock lock(mutex_);
    in_step_ = in_step;
    if (in_step) free.swap(waiting_);
  }
  for (const auto& [until_ns, then] : free) tell(then, Unit{});
}

void BindingGate::stop() {
  Waiting ended;
  {
    const Lock lock(mutex_);
    stopped_ = true;
    ended.swap(waiting_);
  }
  for (const auto& [until_ns, then] : ended) tell(then, waits_no_more());
}

std::size_t BindingGate::waiting() const {
  const Lock lock(mutex_);
  return waiting_.size();
}

}  // namespace berth::cluster
