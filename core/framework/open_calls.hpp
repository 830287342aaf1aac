// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "model/pod.hpp"
#include "observe/breadcrumb.hpp"

namespace berth::framework {

/// A call into a plugin that has not returned.
struct OpenCall {
  std::string point;   // "pre_bind"
  std::string plugin;  // "example.com/RackSpread"
  std::string pod;     // "namespace/name"; empty: it is about none, or about many
  std::int64_t age_ns = 0;
};

/// Which thread is inside a plugin, for whom, and for how long: a thread that does not come back is to be named.
///
/// Point and plugin are what the thread's breadcrumb says when all() asks, so a call costs a lock and two stores.
/// Place:   binding steps, hints and tasks stand in scopes; a cycle has a clock of its own (app/live/cycle_clock.hpp).
/// Threads: any. Lifetime: clock, and this, outlive every scope.
class OpenCalls {
 public:
  explicit OpenCalls(const Clock& clock) : clock_(clock) {}
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;

  /// What the calling thread does from here to the end of the scope. A scope inside another tells more than that one.
  class Scope {
   public:
    /// `calls` null: the call is not watched. `point`: instead of what the breadcrumb says; static text.
    explicit Scope(OpenCalls* calls, model::PodPtr pod = nullptr, const char* point = nullptr)
        : Scope(calls, std::move(pod), nullptr, point) {}
    /// A call about several pods, one after another: `at` says which it is about now, or null. What stands there lives
    /// as long as it stands there, and `at` as long as the scope.
    struct PodAt {
      const std::atomic<const model::Pod*>& pod;
    };
    Scope(OpenCalls* calls, PodAt at, const char* point = nullptr) : Scope(calls, nullptr, &at.pod, point) {}
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class OpenCalls;
    Scope(OpenCalls* calls, model::PodPtr pod, const std::atomic<const model::Pod*>* at, const char* point);
    /// Of the pod that it is about; empty: of none.
    std::string pod_key() const;

    OpenCalls* const calls_;
    const model::PodPtr pod_;
    const std::atomic<const model::Pod*>* const at_;  // null: the pod is pod_
    const char* const point_;
    const observe::Breadcrumb* const crumb_ = &observe::t_breadcrumb;
    std::int64_t began_ns_ = 0;
    Scope *before_ = nullptr, *after_ = nullptr;
  };

  /// Those that are inside a plugin now, longest first.
  std::vector<OpenCall> all() const;

 private:
  const Clock& clock_;
  mutable Mutex mutex_;  // guards the links of scopes as well; a leaf
  Scope *first_ GUARDED_BY(mutex_) = nullptr, *last_ GUARDED_BY(mutex_) = nullptr;  // in order of beginning
};

}  // namespace berth::framework
