// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "framework/profile_runtime.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// One run of an extension point, over all its plugins and all nodes: how long it took, from construction to the end of
/// the scope, and what came of it. Costs two reads of the cycle counter. Upstream's
/// scheduler_framework_extension_point_duration_seconds.
class PointRun {
 public:
  PointRun(const ProfileRuntime& profile, observe::Point point) noexcept
      : profile_(profile), point_(point), began_(observe::ticks()) {}
  PointRun(const PointRun&) = delete;
  PointRun& operator=(const PointRun&) = delete;
  ~PointRun() {
    if (profile_.counters == nullptr) return;
    profile_.counters->add(profile_.runs[static_cast<std::size_t>(point_)], observe::ticks() - began_,
                           static_cast<std::uint32_t>(code_));
  }
  void ended(Code code) noexcept { code_ = code; }

 private:
  const ProfileRuntime& profile_;
  const observe::Point point_;
  const std::uint64_t began_;
  Code code_ = Code::success;
};

}  // namespace berth::framework
