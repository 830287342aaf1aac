// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace berth::cluster::kube {

/// How long to wait before the next try: twice as long after each, with jitter, and from the start after a time without any,
/// or when told to.
/// Threads: one.
/// Source: kubernetes v1.36 staging/src/k8s.io/client-go/tools/cache/reflector.go (NewReflectorWithOptions: 0.8 s to
/// 30 s, from the start after two minutes, factor 2, jitter 1) and apimachinery/pkg/util/wait/backoff.go.
class Backoff {
 public:
  static constexpr std::chrono::seconds k_calm{120};

  Backoff(double initial_s, double max_s) : initial_s_(initial_s), max_s_(max_s) {}

  /// The wait after what happened at `now_ns` (any steady clock). `random`: from 0 up to 1, by which the wait is longer
  /// than its base.
  std::chrono::nanoseconds next(std::int64_t now_ns, double random) {
    const bool calm = last_ns_ && now_ns - *last_ns_ > std::chrono::nanoseconds(k_calm).count();
    base_s_ = calm || base_s_ == 0 ? initial_s_ : std::min(base_s_ * 2, max_s_);
    last_ns_ = now_ns;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(base_s_ * (1 + random) * 1e9));
  }

  /// The next wait is the first again.
  void start_over() noexcept { base_s_ = 0; }

 private:
  const double initial_s_, max_s_;
  double base_s_ = 0;
  std::optional<std::int64_t> last_ns_;
};

}  // namespace berth::cluster::kube
