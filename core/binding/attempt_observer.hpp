// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {
struct ProfileRuntime;
}

namespace berth::binding {

enum class AttemptResult : std::uint8_t { scheduled, unschedulable, error };

/// One attempt that came to its end.
struct AttemptEnd {
  std::string_view profile;  // scheduler name
  AttemptResult result = AttemptResult::scheduled;
  std::uint32_t attempts = 0;               // pops of this pod so far
  std::int64_t since_first_attempt_ns = 0;  // since the pod first entered the active queue
  std::int64_t duration_ns = 0;             // since the cycle began
  bool after_flush = false;                 // as the ticket says
};

/// Extension points that end some time after they began.
enum class AsyncPoint : std::uint8_t { pre_bind_check, pre_bind, bind };

/// Hears of every attempt. Threads: any, concurrently.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  virtual void attempt_ended(const AttemptEnd& end) noexcept = 0;
  /// All plugins of the point have answered for one pod, or one of them ended it.
  virtual void point_ended(const framework::ProfileRuntime&, AsyncPoint, framework::Code,
                           std::int64_t /*duration_ns*/) noexcept {}
  /// A pod that was told to wait waits no more.
  virtual void permit_waited(framework::Code, std::int64_t /*duration_ns*/) noexcept {}
};

/// Counts attempts by profile and result, for metrics.
class AttemptCounts final : public AttemptObserver {
 public:
  void attempt_ended(const AttemptEnd& end) noexcept override {
    const Lock lock(mutex_);
    auto it = counts_.find(end.profile);
    if (it == counts_.end()) it = counts_.emplace(std::string(end.profile), ByResult{}).first;
    ++it->second[static_cast<std::size_t>(end.result)];
    if (end.after_flush && end.result == AttemptResult::scheduled) ++scheduled_after_flush_;
  }
  std::uint64_t scheduled_after_flush() const {
    const Lock lock(mutex_);
    return scheduled_after_flush_;
  }
  std::uint64_t count(std::string_view profile, AttemptResult result) const {
    const Lock lock(mutex_);
    const auto it = counts_.find(profile);
    return it == counts_.end() ? 0 : it->second[static_cast<std::size_t>(result)];
  }

 private:
  using ByResult = std::array<std::uint64_t, 3>;
  mutable Mutex mutex_;
  std::map<std::string, ByResult, std::less<>> counts_ GUARDED_BY(mutex_);
  std::uint64_t scheduled_after_flush_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::binding
