// SPDX-License-Identifier: Apache-2.0
#include "binding/completion.hpp"

#include "observe/log.hpp"

namespace berth::binding {

struct Completion::Call {
  Call(std::string what_, Flag cancelled_, Then then_)
      : what(std::move(what_)), cancelled(std::move(cancelled_)), then(std::move(then_)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (!answered.load(std::memory_order_acquire))
      then({framework::Code::error, model::k_no_plugin, {"the call was given up without an answer"}});
  }

  const std::string what;
  const Flag cancelled;
  Then then;
  std::atomic<bool> answered{false};
};

Completion::Completion(std::string what, Flag cancelled, Then then)
    : call_(std::make_shared<Call>(std::move(what), std::move(cancelled), std::move(then))) {}

void Completion::operator()(framework::Verdict verdict) const {
  if (call_->answered.exchange(true, std::memory_order_acq_rel)) {
    observe::error("A call was completed twice; the second answer is ignored",
                   {{"call", call_->what}, {"answer", framework::code_name(verdict.code)}});
    return;
  }
  const Then then = std::move(call_->then);
  then(std::move(verdict));
}

bool Completion::cancelled() const noexcept { return call_->cancelled->load(std::memory_order_acquire); }

}  // namespace berth::binding
