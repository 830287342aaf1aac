// SPDX-License-Identifier: Apache-2.0
#include "binding/binder.hpp"

#include <utility>

#include "base/guarded.hpp"
#include "binding/binding_cycle.hpp"
#include "observe/log.hpp"

namespace berth::binding {

Binder::Binder(BinderOptions options, const BinderParts& parts)
    : options_(options), parts_(parts), extenders_(parts.extenders, parts.gate) {}

Binder::~Binder() {
  const Lock lock(mutex_);
  BERTH_CHECK(open_.empty(), "{} bindings are open at the end; drain() comes first", open_.size());
}

void Binder::start(queue::Ticket ticket, cycle::Placement placement, PlacedAttempt attempt) {
  BERTH_CHECK(ticket && placement.assumption.active() && placement.reservation.active(),
              "an incomplete placement is to be bound");
  const auto cycle = std::make_shared<BindingCycle>(*this, std::move(ticket), std::move(placement), std::move(attempt));
  if (parts_.gate != nullptr) parts_.gate->placed(cycle->pod()->uid, cycle->node());
  {
    const Lock lock(mutex_);
    open_.emplace(cycle.get(), cycle);
  }
  cycle->start();
}

bool Binder::preempt(std::string_view uid, model::PluginIndex by, const std::string& cause) {
  if (parts_.waiting.preempt(uid, by, cause)) return true;
  std::shared_ptr<BindingCycle> found;
  {
    const Lock lock(mutex_);
    for (const auto& [key, weak] : open_)
      if (std::shared_ptr<BindingCycle> cycle = weak.lock(); cycle != nullptr && cycle->pod()->uid == uid)
        found = cycle;
  }
  return found != nullptr && found->cancel(cause);
}

bool Binder::drain(std::chrono::milliseconds limit) {
  parts_.waiting.reject_all("berth is shutting down");
  if (parts_.gate != nullptr) parts_.gate->stop();
  std::vector<std::shared_ptr<BindingCycle>> cycles;
  UniqueLock lock(mutex_);
  for (const auto& [key, weak] : open_)
    if (std::shared_ptr<BindingCycle> cycle = weak.lock()) cycles.push_back(std::move(cycle));
  for (const auto& cycle : cycles) cycle->cancel_wait();
  lock.unlock();
  cycles.clear();  // the last owner of a cycle must not be this function, holding the lock
  lock.lock();
  const bool idle = idle_.wait_for(lock, limit, [&]() REQUIRES(mutex_) { return open_.empty(); });
  if (!idle) observe::error("Bindings did not end in time", {{"bindings", open_.size()}, {"limitMs", limit.count()}});
  return idle;
}

bool Binder::wait_for_room(std::chrono::milliseconds limit) {
  const std::size_t most = options_.in_flight_max;
  if (most == 0) return true;
  UniqueLock lock(mutex_);
  bool is_full = false;
  const auto has_room = [&]() REQUIRES(mutex_) {
    if (waits_no_more_) return true;
    if (settling_ != 0) return false;
    if (!is_full && in_flight_ < most) return true;
    if (!std::exchange(is_full, true)) ++room_waits_;
    // A quarter at a time: to wake this thread for each binding would cost more than the decision.
    return in_flight_ <= room_mark();
  };
  const bool came = room_.wait_for(lock, limit, has_room);
  if (!came)
    observe::warning("Bindings do not end: decisions go on without waiting for them",
                     {{"bindings", in_flight_}, {"limitMs", limit.count()}});
  return came && !waits_no_more_;
}

void Binder::stop_waiting() {
  const Lock lock(mutex_);
  waits_no_more_ = true;
  room_.notify_all();
}

void Binder::took_off(std::size_t pods) noexcept {
  const Lock lock(mutex_);
  in_flight_ += pods;
}

void Binder::landed() noexcept {
  const Lock lock(mutex_);
  if (--in_flight_ == room_mark()) room_.notify_all();
}

void Binder::settles() noexcept {
  const Lock lock(mutex_);
  ++settling_;
}

void Binder::settled() noexcept {
  const Lock lock(mutex_);
  if (--settling_ == 0) room_.notify_all();
}

void Binder::ended(const BindingCycle& cycle, bool bound) noexcept {
  const Lock lock(mutex_);
  open_.erase(&cycle);
  ++(bound ? bound_ : failed_);
  if (open_.empty()) idle_.notify_all();
}

std::vector<OpenBinding> Binder::open_bindings() const {
  std::vector<std::shared_ptr<BindingCycle>> cycles;
  {
    const Lock lock(mutex_);
    for (const auto& [key, weak] : open_)
      if (std::shared_ptr<BindingCycle> cycle = weak.lock()) cycles.push_back(std::move(cycle));
  }
  std::vector<OpenBinding> result;
  for (const auto& cycle : cycles) result.push_back(cycle->report());
  return result;
}

BindingCounts Binder::counts() const {
  const Lock lock(mutex_);
  return {open_.size(), in_flight_, room_waits_, bound_, failed_};
}

}  // namespace berth::binding
