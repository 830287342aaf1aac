// SPDX-License-Identifier: Apache-2.0
#include "framework/points/bind_calls.hpp"

#include <utility>

#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"

namespace berth::framework {

bool BindCalls::Call::answer(Verdict verdict) {
  if (answered.exchange(true, std::memory_order_acq_rel)) {
    write_log(*plugin, BERTH_LOG_ERROR, fmt::format("{} was completed twice; the second answer is ignored", point));
    return false;
  }
  const BindDone then = std::exchange(done, {});
  leave();
  then(std::move(verdict));
  return true;
}

void BindCalls::Call::leave() {
  if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) owner->rest(*this);
}

BindCalls::Call& BindCalls::open() {
  Call* call = nullptr;
  {
    const Lock lock(mutex_);
    if (resting_.size() >= k_resting) {
      call = resting_.front();
      resting_.pop_front();
    } else {
      call = &calls_.emplace_back();
    }
  }
  call->owner = this;
  call->users = 2;
  call->answered.store(false, std::memory_order_release);
  return *call;
}

void BindCalls::rest(Call& call) {
  call.pod.reset();
  call.cancelled.reset();
  const Lock lock(mutex_);
  resting_.push_back(&call);
}

std::size_t BindCalls::size() const {
  const Lock lock(mutex_);
  return calls_.size();
}

}  // namespace berth::framework
