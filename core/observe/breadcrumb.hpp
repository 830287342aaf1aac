// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace berth::observe {

/// What a plugin was doing. The names that reports print stand in breadcrumb.cpp.
enum class Point : std::uint8_t {
  none,
  loading,  // constructors of the file
  entry,    // the entry symbol
  create,
  destroy,
  queue_key,
  queue_less,
  pre_enqueue,
  pre_filter,
  add_pod,
  remove_pod,
  state_clone,
  state_free,
  filter,
  post_filter,
  pre_score,
  score,
  normalize_score,
  reserve,
  unreserve,
  permit,
  pre_bind_check,
  pre_bind,
  bind,
  post_bind,
  hint,
  task,  // berth.executor/1
  group_of,
  quorum,
};

/// "filter", "pre_filter", …; static text.
const char* point_name(Point point) noexcept;

/// Who is being called. One per plugin instance, built before its first call; every pointer is NUL-terminated and, like
/// the record itself, must outlive all calls, since a signal handler may read it at any moment.
struct CrumbOwner {
  const char* plugin = nullptr;    // "example.com/RackSpread"; null while a file is being loaded
  const char* version = nullptr;   // "1.2.0"
  const char* file = nullptr;      // path of the library, or null for one that is linked in
  const char* build_id = nullptr;  // lower-case hex, or null
};

/// What this thread is doing inside a plugin, for reports of a crash or a hang.
///
/// Written by the framework around each call, read by the fatal-signal handler of the same thread. Plain stores would
/// be enough against the handler; relaxed atomics keep the compiler from dropping them. Threads: one record per thread.
struct Breadcrumb {
  static constexpr std::size_t k_pod_bytes = 63 + 1 + 253 + 1;  // namespace/name and the NUL

  std::atomic<const CrumbOwner*> owner{nullptr};
  std::atomic<Point> point{Point::none};
  std::atomic<std::uint32_t> first_slot{0};
  std::atomic<std::uint32_t> end_slot{0};  // one past the last; equal to first_slot when no block is at hand
  char pod[k_pod_bytes] = {};
};

/// The record of the calling thread. Initialised at compile time, so that access is one addition to the thread pointer.
inline constinit thread_local Breadcrumb t_breadcrumb;

/// Before a call into a plugin: two stores. Requires: `owner` outlives the call.
inline void enter_plugin(const CrumbOwner& owner, Point point) noexcept {
  t_breadcrumb.owner.store(&owner, std::memory_order_relaxed);
  t_breadcrumb.point.store(point, std::memory_order_relaxed);
}

/// After the call. One store.
inline void leave_plugin() noexcept { t_breadcrumb.owner.store(nullptr, std::memory_order_relaxed); }

/// The call of a plugin that this thread is in; none outside of one, whatever it called last.
inline Point current_point() noexcept {
  if (t_breadcrumb.owner.load(std::memory_order_relaxed) == nullptr) return Point::none;
  return t_breadcrumb.point.load(std::memory_order_relaxed);
}

/// The block at hand, by slots [first, end). Once per block, before the plugins that look at it.
inline void enter_block(std::uint32_t first_slot, std::uint32_t end_slot) noexcept {
  t_breadcrumb.first_slot.store(first_slot, std::memory_order_relaxed);
  t_breadcrumb.end_slot.store(end_slot, std::memory_order_relaxed);
}
inline void leave_block() noexcept { enter_block(0, 0); }

/// The pod at hand. Once per cycle and thread; cut at the longest legal name. Leaving is entering with two empty names.
inline void enter_pod(std::string_view ns, std::string_view name) noexcept {
  char* out = t_breadcrumb.pod;
  out[0] = '\0';  // a handler that interrupts the copy sees an empty name, not half of two
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (ns.empty() && name.empty()) return;
  ns = ns.substr(0, 63);
  name = name.substr(0, 253);
  std::size_t at = 1;
  if (!ns.empty()) {
    std::memcpy(out + 1, ns.data() + 1, ns.size() - 1);
    at = ns.size();
    out[at++] = '/';
  }
  std::memcpy(out + at, name.data(), name.size());
  out[at + name.size()] = '\0';
  std::atomic_signal_fence(std::memory_order_seq_cst);
  out[0] = ns.empty() ? '/' : ns.front();
}
inline void leave_pod() noexcept { enter_pod({}, {}); }

/// A pod for the length of a scope. Puts back the pod that was there: binding one may begin inside the cycle of
/// another.
class PodBreadcrumb {
 public:
  PodBreadcrumb(std::string_view ns, std::string_view name) noexcept {
    before_[0] = '\0';
    if (t_breadcrumb.pod[0] != '\0') std::memcpy(before_, t_breadcrumb.pod, std::strlen(t_breadcrumb.pod) + 1);
    enter_pod(ns, name);
  }
  PodBreadcrumb(const PodBreadcrumb&) = delete;
  PodBreadcrumb& operator=(const PodBreadcrumb&) = delete;
  ~PodBreadcrumb() {
    leave_pod();
    if (before_[0] != '\0') std::memcpy(t_breadcrumb.pod, before_, std::strlen(before_) + 1);
  }

 private:
  char before_[Breadcrumb::k_pod_bytes];
};

/// For services through which one plugin reaches another (a what-if inside post-filter): puts back what was there.
class BreadcrumbNesting {
 public:
  BreadcrumbNesting() noexcept
      : owner_(t_breadcrumb.owner.load(std::memory_order_relaxed)),
        point_(t_breadcrumb.point.load(std::memory_order_relaxed)),
        first_slot_(t_breadcrumb.first_slot.load(std::memory_order_relaxed)),
        end_slot_(t_breadcrumb.end_slot.load(std::memory_order_relaxed)) {}
  BreadcrumbNesting(const BreadcrumbNesting&) = delete;
  BreadcrumbNesting& operator=(const BreadcrumbNesting&) = delete;
  ~BreadcrumbNesting() {
    t_breadcrumb.point.store(point_, std::memory_order_relaxed);
    t_breadcrumb.owner.store(owner_, std::memory_order_relaxed);
    enter_block(first_slot_, end_slot_);
  }

 private:
  const CrumbOwner* const owner_;
  const Point point_;
  const std::uint32_t first_slot_;
  const std::uint32_t end_slot_;
};

}  // namespace berth::observe
