// SPDX-License-Identifier: Apache-2.0
#include "binding/timers.hpp"

#include <algorithm>
#include <chrono>

#include "base/guarded.hpp"

namespace berth::binding {

Timers::Id Timers::start(std::int64_t delay_ns, std::function<void()> callback) {
  const std::int64_t due_ns = clock_.monotonic_ns() + delay_ns;
  const Lock lock(mutex_);
  const Id id = next_id_++;
  timers_.emplace(std::pair(due_ns, id), std::move(callback));
  due_.emplace(id, due_ns);
  changed_.notify_one();
  return id;
}

void Timers::cancel(Id id) {
  const Lock lock(mutex_);
  const auto it = due_.find(id);
  if (it == due_.end()) return;
  timers_.erase({it->second, id});
  due_.erase(it);
}

std::function<void()> Timers::take_due() {
  const Lock lock(mutex_);
  if (timers_.empty() || timers_.begin()->first.first > clock_.monotonic_ns()) return {};
  auto node = timers_.extract(timers_.begin());
  due_.erase(node.key().second);
  return std::move(node.mapped());
}

std::size_t Timers::run_due() {
  std::size_t count = 0;
  while (const std::function<void()> callback = take_due()) {
    callback();
    ++count;
  }
  return count;
}

std::optional<std::int64_t> Timers::next_ns() const {
  const Lock lock(mutex_);
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

void Timers::run_until_stopped() {
  for (;;) {
    run_due();
    UniqueLock lock(mutex_);
    if (stopped_) return;
    if (timers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::int64_t wait_ns = timers_.begin()->first.first - clock_.monotonic_ns();
    if (wait_ns > 0) changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
  }
}

void Timers::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace berth::binding
