// SPDX-License-Identifier: Apache-2.0
#include "binding/waiting_pods.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/guarded.hpp"
#include "binding/duration_text.hpp"

namespace berth::binding {

WaitingPods::~WaitingPods() {
  for (const auto& [uid, waiting] : waiting_)
    for (const auto& [plugin, timer] : waiting.plugins) timers_.cancel(timer);
}

void WaitingPods::park(model::PodPtr pod, Symbol node_name, const std::vector<PermitWait>& waits) {
  BERTH_CHECK(!waits.empty(), "pod {} waits for no plugin", pod->key());
  const Lock lock(mutex_);
  const std::string uid = pod->uid;
  const auto [it, parked] = waiting_.try_emplace(uid);
  BERTH_CHECK(parked, "pod {} waits already", pod->key());
  Waiting& waiting = it->second;
  waiting.pod = std::move(pod);
  waiting.node_name = node_name;
  waiting.turn = next_turn_++;
  for (PermitWait wait : waits) {
    wait.timeout_ns = std::clamp<std::int64_t>(wait.timeout_ns, 0, framework::k_permit_wait_max_ns);
    const Timers::Id timer =
        timers_.start(wait.timeout_ns, [this, uid, turn = waiting.turn, wait] { time_out(uid, turn, wait); });
    waiting.plugins.emplace_back(wait.plugin, timer);
  }
}

void WaitingPods::time_out(const std::string& uid, std::uint64_t turn, const PermitWait& wait) {
  std::function<void()> call;
  {
    const Lock lock(mutex_);
    const auto it = waiting_.find(uid);
    if (it == waiting_.end() || it->second.turn != turn || it->second.decision) return;
    call = settle(it, {PermitDecision::Kind::rejected, wait.plugin,
                       fmt::format("rejected due to timeout after waiting {} at plugin {}",
                                   duration_text(wait.timeout_ns), wait.plugin_name)});
  }
  if (call) call();
}

void WaitingPods::when_decided(std::string_view uid, Continuation then) {
  PermitDecision decision;
  {
    const Lock lock(mutex_);
    const auto it = waiting_.find(uid);
    BERTH_CHECK(it != waiting_.end(), "pod {} does not wait", uid);
    if (!it->second.decision) {
      it->second.then = std::move(then);
      return;
    }
    decision = std::move(*it->second.decision);
    waiting_.erase(it);
  }
  then(std::move(decision));
}

std::function<void()> WaitingPods::settle(Map::iterator it, PermitDecision decision) {
  for (const auto& [plugin, timer] : it->second.plugins) timers_.cancel(timer);
  it->second.plugins.clear();
  if (!it->second.then) {
    it->second.decision = std::move(decision);
    return {};
  }
  Continuation then = std::move(it->second.then);
  waiting_.erase(it);
  return [then = std::move(then), decision = std::move(decision)] { then(decision); };
}

bool WaitingPods::decide(std::string_view uid, PermitDecision decision) {
  std::function<void()> call;
  {
    const Lock lock(mutex_);
    const auto it = waiting_.find(uid);
    if (it == waiting_.end() || it->second.decision) return false;
    call = settle(it, std::move(decision));
  }
  if (call) call();
  return true;
}

bool WaitingPods::allow(std::string_view uid, model::PluginIndex plugin) {
  std::function<void()> call;
  {
    const Lock lock(mutex_);
    const auto it = waiting_.find(uid);
    if (it == waiting_.end()) return false;
    std::erase_if(it->second.plugins, [&](const auto& waited) {
      if (waited.first != plugin) return false;
      timers_.cancel(waited.second);
      return true;
    });
    if (!it->second.plugins.empty() || it->second.decision) return true;
    call = settle(it, {});
  }
  if (call) call();
  return true;
}

std::optional<WaitingPods::Calls> WaitingPods::allow_together(std::vector<std::string>& uids, model::PluginIndex plugin,
                                                              std::size_t enough) {
  const Lock lock(mutex_);
  std::erase_if(uids, [&](const std::string& uid) REQUIRES(mutex_) {
    const auto it = waiting_.find(uid);
    return it == waiting_.end() || it->second.plugins.size() != 1 || it->second.plugins.front().first != plugin;
  });
  if (uids.size() < enough) return std::nullopt;
  Calls calls;
  for (const std::string& uid : uids)
    if (auto call = settle(waiting_.find(uid), {})) calls.push_back(std::move(call));
  return calls;
}

bool WaitingPods::reject(std::string_view uid, model::PluginIndex plugin, std::string_view message) {
  return decide(uid, {PermitDecision::Kind::rejected, plugin, std::string(message)});
}

bool WaitingPods::preempt(std::string_view uid, model::PluginIndex plugin, std::string_view message) {
  return decide(uid, {PermitDecision::Kind::preempted, plugin, std::string(message)});
}

bool WaitingPods::reject_removed(std::string_view uid) { return reject(uid, k_outsider, "removed"); }

void WaitingPods::reject_all(std::string_view message) {
  std::vector<std::string> uids;
  {
    const Lock lock(mutex_);
    for (const auto& [uid, waiting] : waiting_) uids.push_back(uid);
  }
  for (const std::string& uid : uids) preempt(uid, k_outsider, message);
}

void WaitingPods::each(const std::function<bool(const model::Pod& pod, Symbol node_name)>& visit) {
  std::vector<std::pair<model::PodPtr, Symbol>> copy;
  {
    const Lock lock(mutex_);
    for (const auto& [uid, waiting] : waiting_) copy.emplace_back(waiting.pod, waiting.node_name);
  }
  for (const auto& [pod, node_name] : copy)
    if (!visit(*pod, node_name)) return;
}

bool WaitingPods::waiting(std::string_view uid) const {
  const Lock lock(mutex_);
  return waiting_.find(uid) != waiting_.end();
}

std::size_t WaitingPods::size() const {
  const Lock lock(mutex_);
  return waiting_.size();
}

}  // namespace berth::binding
