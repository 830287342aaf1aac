// SPDX-License-Identifier: Apache-2.0
#include "binding/group_barrier.hpp"

#include <utility>

#include "base/guarded.hpp"

namespace berth::binding {

GroupBarrier::Pass GroupBarrier::arrive(const model::PodPtr& pod, Symbol node_name,
                                        const std::function<void(std::size_t)>& lets_go) {
  WaitingPods::Calls calls;
  {
    const Lock lock(mutex_);
    if (state_ == State::released) return Pass::released;
    if (state_ == State::open) return Pass::go;
    // A member that was rejected does not count, also when its binding cycle has not come to left() yet.
    auto others = waiting_.allow_together(parked_, wait_.plugin, needed_ - 1);
    if (!others) {
      waiting_.park(pod, node_name, {wait_});
      parked_.push_back(pod->uid);
      return Pass::parked;
    }
    state_ = State::open;
    if (lets_go) lets_go(parked_.size());  // one that does not listen yet hears of it when it does
    parked_.clear();
    calls = std::move(*others);
  }
  for (const auto& call : calls) call();
  return Pass::go;
}

void GroupBarrier::left(std::string_view uid) {
  const Lock lock(mutex_);
  std::erase(parked_, uid);
}

void GroupBarrier::release(std::string_view message) {
  std::vector<std::string> parked;
  {
    const Lock lock(mutex_);
    if (state_ != State::closed) return;
    state_ = State::released;
    message_ = message;
    parked = std::exchange(parked_, {});
  }
  for (const std::string& uid : parked) waiting_.reject(uid, wait_.plugin, message);
}

void GroupBarrier::renew() {
  const Lock lock(mutex_);
  if (state_ == State::released) state_ = State::closed;
}

bool GroupBarrier::is_open() const {
  const Lock lock(mutex_);
  return state_ == State::open;
}

std::string GroupBarrier::message() const {
  const Lock lock(mutex_);
  return message_;
}

}  // namespace berth::binding
