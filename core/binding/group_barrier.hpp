// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "binding/waiting_pods.hpp"

namespace berth::binding {

/// Keeps placed members of a group from being bound until as many as are needed are ready for it.
///
/// A member that comes early is parked among the waiting pods, with a time-out; the last one needed lets all go. A
/// member that fails on its way does not come: the others keep their nodes until another one comes in its place, the
/// time is over or release() is called, and then give them back together.
///
/// Place:    made by the scheduling loop with a plan, shared by the binding cycles of its members.
///
/// Lifetime: `waiting` outlives it.
///
/// Threads:  synchronises itself; its lock comes before that of the waiting pods.
class GroupBarrier {
 public:
  /// Requires: needed is 1 at least.
  GroupBarrier(WaitingPods& waiting, PermitWait wait, std::uint32_t needed)
      : waiting_(waiting), wait_(std::move(wait)), needed_(needed) {}
  GroupBarrier(const GroupBarrier&) = delete;
  GroupBarrier& operator=(const GroupBarrier&) = delete;

  enum class Pass : std::uint8_t { go, parked, released };
  /// A member is ready to be bound. parked: WaitingPods decides. When it lets others go, `lets_go` is called with their
  /// number before the first of them goes.
  Pass arrive(const model::PodPtr& pod, Symbol node_name, const std::function<void(std::size_t)>& lets_go = {});
  /// A parked member does not wait any more, and was not let go.
  void left(std::string_view uid);
  /// All that wait give up, and so do those that come later. Nothing when the barrier is open.
  void release(std::string_view message);

  /// Members that come are parked again: there is a plan in which those that are still on their way count. Nothing when
  /// the barrier is open.
  void renew();

  /// True once enough were ready: those that come later pass.
  bool is_open() const;
  model::PluginIndex plugin() const noexcept { return wait_.plugin; }
  /// Why it was released.
  std::string message() const;

 private:
  enum class State : std::uint8_t { closed, open, released };

  WaitingPods& waiting_;
  const PermitWait wait_;
  const std::uint32_t needed_;
  mutable Mutex mutex_;
  State state_ GUARDED_BY(mutex_) = State::closed;
  std::vector<std::string> parked_ GUARDED_BY(mutex_);  // uids
  std::string message_ GUARDED_BY(mutex_);
};

}  // namespace berth::binding
