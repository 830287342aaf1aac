// SPDX-License-Identifier: Apache-2.0
#include "binding/explained_events.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "observe/log.hpp"

namespace berth::binding {
namespace {

constexpr std::size_t k_event_bytes_max = 1024;
constexpr std::size_t k_line_bytes_least = 64;  // with less room an event has no line

}  // namespace

ExplainedEvents::ExplainedEvents(std::int64_t explain_after_ns, FitLine fit_line, queue::PodLookup lookup,
                                 const Clock& clock)
    : explain_after_ns_(explain_after_ns), fit_line_(std::move(fit_line)), lookup_(std::move(lookup)), clock_(clock) {}

ExplainedEvents::Note ExplainedEvents::note(const model::PodPtr& pod, std::string message, std::int64_t waited_ns) {
  const std::int64_t now_ns = clock_.monotonic_ns();
  std::string line;
  {
    const Lock lock(mutex_);
    const auto known = pods_.find(pod->uid.text());
    bool is_fresh = false;
    if (known != pods_.end() && known->second.found_ns) {
      const std::int64_t age_ns = now_ns - *known->second.found_ns;
      is_fresh = age_ns < k_fresh_ns;
      if (age_ns < k_stale_ns && waited_ns >= explain_after_ns_) line = known->second.line;
    }
    if (!is_fresh) want(pod, now_ns + std::max<std::int64_t>(explain_after_ns_ - waited_ns, 0));
  }
  const std::size_t room = k_event_bytes_max - std::min(message.size() + 1, k_event_bytes_max);
  if (line.empty() || room < std::min(line.size(), k_line_bytes_least)) return {std::move(message), false};
  return {std::move(message) + '\n' + excerpt(line, room), true};
}

/// A search that is wanted already stays as it is: a pod that fails more often is not explained sooner.
void ExplainedEvents::want(const model::PodPtr& pod, std::int64_t due_ns) {
  auto known = pods_.find(pod->uid.text());
  if (known == pods_.end()) {
    if (pods_.size() >= k_pods_max && !make_room()) {
      ++counts_.dropped;
      if (!sweep_ns_) sweep_ns_ = swept_ns_ + k_sweep_period_ns;
      changed_.notify_all();
      return;
    }
    known = pods_.try_emplace(pod->uid.text()).first;
  }
  known->second.pod = pod;
  if (known->second.due_ns) return;
  if (known->second.found_ns) found_.erase({*known->second.found_ns, known->first});
  known->second.due_ns = due_ns;
  due_.emplace(due_ns, known->first);
  changed_.notify_all();
}

bool ExplainedEvents::make_room() {
  if (found_.empty()) return false;
  erase(pods_.find(found_.begin()->second));
  return true;
}

void ExplainedEvents::erase(Pods::iterator pod) {
  if (pod == pods_.end()) return;
  if (pod->second.due_ns) due_.erase({*pod->second.due_ns, pod->first});
  if (pod->second.found_ns) found_.erase({*pod->second.found_ns, pod->first});
  pods_.erase(pod);
}

std::optional<std::int64_t> ExplainedEvents::next_ns() const {
  std::optional<std::int64_t> next = sweep_ns_;
  if (!due_.empty()) {
    const std::int64_t due_ns = std::max(due_.begin()->first, rests_until_ns_);
    next = std::min(next.value_or(due_ns), due_ns);
  }
  return next;
}

/// The pod that is next, which wants no search any more; null: none is due.
model::PodPtr ExplainedEvents::take_due() {
  const Lock lock(mutex_);
  if (due_.empty() || std::max(due_.begin()->first, rests_until_ns_) > clock_.monotonic_ns()) return nullptr;
  const auto known = pods_.find(due_.begin()->second);
  due_.erase(due_.begin());
  known->second.due_ns.reset();
  if (known->second.found_ns) found_.emplace(*known->second.found_ns, known->first);
  return std::exchange(known->second.pod, nullptr);
}

model::PodPtr ExplainedEvents::pending(const model::Pod& pod) const {
  model::PodPtr now = lookup_(pod);
  const bool waits = now != nullptr && now->uid == pod.uid && now->node_name == k_no_symbol && !now->deleting;
  return waits ? now : nullptr;
}

bool ExplainedEvents::sweep() {
  std::vector<model::PodPtr> waiting;
  {
    const Lock lock(mutex_);
    if (!sweep_ns_ || *sweep_ns_ > clock_.monotonic_ns()) return false;
    sweep_ns_.reset();
    swept_ns_ = clock_.monotonic_ns();
    for (const auto& [due, uid] : due_) waiting.push_back(pods_.find(uid)->second.pod);
  }
  std::erase_if(waiting, [this](const model::PodPtr& pod) { return pending(*pod) != nullptr; });
  const Lock lock(mutex_);
  counts_.gone += waiting.size();
  for (const model::PodPtr& gone : waiting) erase(pods_.find(gone->uid.text()));
  return true;
}

void ExplainedEvents::keep(const model::Pod& pod, std::string line) {
  const bool waits = pending(pod) != nullptr;
  const Lock lock(mutex_);
  ++(waits ? line.empty() ? counts_.nothing : counts_.found : counts_.gone);
  auto known = pods_.find(pod.uid.text());
  if (!waits || (line.empty() && known != pods_.end() && !known->second.due_ns)) return erase(known);
  if (known == pods_.end()) return;  // it made room for another one
  if (known->second.found_ns) found_.erase({*known->second.found_ns, known->first});
  known->second.line = std::move(line);
  known->second.found_ns = clock_.monotonic_ns();
  if (!known->second.due_ns) found_.emplace(*known->second.found_ns, known->first);
}

bool ExplainedEvents::search_next() {
  if (sweep()) return true;
  const model::PodPtr asked = take_due();
  if (asked == nullptr) return false;
  const model::PodPtr pod = pending(*asked);
  if (pod == nullptr) {
    keep(*asked, {});
    return true;
  }
  const std::int64_t began_ns = clock_.monotonic_ns();
  const GoesOn goes_on = [&] { return !stopped_ && clock_.monotonic_ns() - began_ns < k_search_ns; };
  std::string line;
  bool has_failed = false;
  try {
    line = excerpt(fit_line_(pod, goes_on), k_line_bytes_max);
  } catch (const std::exception& error) {
    has_failed = true;
    observe::error("The search of what would make a pod fit failed", {{"pod", *pod}, {"err", excerpt(error.what())}});
  } catch (...) {
    has_failed = true;
    observe::error("The search of what would make a pod fit failed", {{"pod", *pod}});
  }
  {
    const Lock lock(mutex_);
    const std::int64_t took_ns = clock_.monotonic_ns() - began_ns;
    rests_until_ns_ = began_ns + took_ns + std::min(took_ns * k_rest_factor, k_rest_ns_max);
    counts_.seconds += static_cast<double>(took_ns) / 1e9;
    if (has_failed) {
      ++counts_.failed;
      if (const auto known = pods_.find(pod->uid.text()); known != pods_.end() && !known->second.due_ns) erase(known);
    }
  }
  if (!has_failed) keep(*pod, std::move(line));
  return true;
}

void ExplainedEvents::run() {
  while (!stopped_) {
    if (search_next()) continue;
    UniqueLock lock(mutex_);
    if (stopped_) return;
    const std::optional<std::int64_t> next = next_ns();
    if (!next) {
      changed_.wait(lock);
      continue;
    }
    const std::int64_t wait_ns = *next - clock_.monotonic_ns();
    if (wait_ns > 0) changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
  }
}

void ExplainedEvents::stop() noexcept {
  const Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

ExplainedCounts ExplainedEvents::counts() const {
  const Lock lock(mutex_);
  ExplainedCounts out = counts_;
  out.pods = pods_.size();
  return out;
}

}  // namespace berth::binding
