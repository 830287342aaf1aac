// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "framework/verdict.hpp"

namespace berth::binding {

/// The answer to one call that may end later. Copyable: all copies stand for the same call.
///
/// Threads: any. Failure: a second answer is reported in the log and ignored; when the last copy goes without
/// an answer, the call has failed.
class Completion {
 public:
  using Then = std::function<void(framework::Verdict)>;

  using Flag = std::shared_ptr<const std::atomic<bool>>;

  /// `what` names plugin, point and pod for the log.
  Completion(std::string what, Flag cancelled, Then then);

  void operator()(framework::Verdict verdict) const;
  /// True when the outcome no longer matters: an early end is welcome.
  bool cancelled() const noexcept;

 private:
  struct Call;
  std::shared_ptr<Call> call_;
};

}  // namespace berth::binding
