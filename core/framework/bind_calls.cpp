// SPDX-License-Identifier: Apache-2.0
#include "framework/bind_calls.hpp"

#include <utility>

#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"
#include "observe/log.hpp"

namespace berth::framework {

BindCalls::~BindCalls() {
  const Lock lock(mutex_);
  if (!has_given_up_) return;
  static Mutex kept_mutex;
  static auto* const kept = new std::vector<std::unique_ptr<std::deque<Call>>>();  // as long as the process
  const Lock keeping(kept_mutex);
  kept->push_back(std::move(calls_));
}

std::size_t BindCalls::give_up() {
  std::vector<Call*> open;
  {
    const Lock lock(mutex_);
    for (Call& call : *calls_)
      if (call.is_open() && call.stay()) open.push_back(&call);
    has_given_up_ = has_given_up_ || !open.empty();
  }
  std::size_t given_up = 0;
  for (Call* const call : open) {
    const std::string pod = call->pod != nullptr ? call->pod->key() : std::string();
    const PluginInstance& plugin = *call->plugin;
    call->given_up = true;
    // The plugin may answer at this moment, after all.
    if (call->answer({Code::error,
                      plugin.index(),
                      {fmt::format("plugin {} has not answered {} for pod {}", plugin.name(), call->point, pod)}})) {
      ++given_up;
      observe::error("A binding is given up at the end of the process: its plugin has not answered",
                     {{"plugin", plugin.name()}, {"point", call->point}, {"pod", pod}});
    }
    call->leave();
  }
  return given_up;
}

bool BindCalls::Call::answer(Verdict verdict) {
  if (answered.exchange(true, std::memory_order_acq_rel)) {
    if (given_up) return false;
    log_misuse(*plugin, Misuse::second_answer,
               fmt::format("{} was completed twice; the second answer is ignored", point));
    return false;
  }
  const BindDone then = std::exchange(done, {});
  leave();
  then(std::move(verdict));
  return true;
}

void BindCalls::Call::begin() { answered.store(false, std::memory_order_release); }

bool BindCalls::Call::stay() noexcept {
  std::uint32_t count = users.load(std::memory_order_acquire);
  while (count != 0 && !users.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) {
  }
  return count != 0;
}

void BindCalls::Call::leave() {
  if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) owner->rest(*this);
}

BindCalls::Call& BindCalls::take() {
  Call* call = nullptr;
  {
    const Lock lock(mutex_);
    if (resting_.size() >= k_resting) {
      call = resting_.front();
      resting_.pop_front();
    } else {
      call = &calls_->emplace_back();
    }
  }
  call->owner = this;
  call->users = 2;
  call->given_up = false;
  return *call;
}

void BindCalls::rest(Call& call) {
  if (call.given_up) return;  // its plugin may still ask about the pod, and answer: it serves no other
  call.pod.reset();
  call.cancelled.reset();
  const Lock lock(mutex_);
  resting_.push_back(&call);
}

std::size_t BindCalls::size() const {
  const Lock lock(mutex_);
  return calls_->size();
}

}  // namespace berth::framework
