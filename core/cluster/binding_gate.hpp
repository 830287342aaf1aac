// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "model/uid.hpp"

namespace berth::cluster {

/// Why a binding was withheld.
enum class WithheldReason : std::uint8_t { node_gone, node_replaced, watch_down };
/// By WithheldReason, as in metrics.
inline constexpr std::array<std::string_view, 3> k_withheld_words{"node_gone", "node_replaced", "watch_down"};

/// The node that a decision was about.
struct PlacedNode {
  std::string name;
  std::string uid = {};  // empty: any node of that name
};

struct BindingGateOptions {
  /// How long a binding waits for the watch of nodes, all its waits together.
  std::int64_t wait_max_ns = 10'000'000'000;
  /// Calls `task` once, when `delay_ns` have passed, on a thread on which plugins may be told that a binding failed.
  std::function<void(std::int64_t delay_ns, std::function<void()> task)> after;
};

/// Whether the node that a pod was placed on is still there when its binding is sent: seconds may have passed since the
/// decision, in a limit of requests or in a plugin, and the API server accepts bindings to nodes that it does not have.
///
/// Place:    the reader of the cluster says which nodes there are, before anything else hears of it, and whether its
///           watch tells of changes as they come; Binder says what was decided; the writer asks right before it sends,
///           and Binder before it asks a bind plugin or an extender. Clusters in memory have none.
/// Lifetime: shared by these. The clock and what `after` uses outlive it.
/// Threads:  any. Every question costs one look into a table, under a lock that is a leaf; the calls of `then` come
///           without it.
/// Bounds:   one entry for each node, for each open binding, and for each that waits.
class BindingGate : public std::enable_shared_from_this<BindingGate> {
 public:
  using Then = std::function<void(Status)>;

  BindingGate(const Clock& clock, BindingGateOptions options) : clock_(clock), options_(std::move(options)) {}

  // By the reader.
  void node_present(std::string_view name, std::string_view uid);
  /// Nothing when the node of that name has another uid. Empty: whatever it has.
  void node_absent(std::string_view name, std::string_view uid);
  /// Whether changes of nodes are heard of as they come; false until it is said. True lets all go that wait.
  void watch_in_step(bool in_step);

  // By Binder, for as long as the binding is open.
  void placed(const model::Uid& pod, PlacedNode node);
  void ended(const model::Uid& pod) noexcept;
  /// The node of that name, if it is where the pod was placed. Nothing: that binding is not the host's own decision, and
  /// is not judged.
  std::optional<PlacedNode> node_of(const model::Uid& pod, std::string_view node_name) const;

  /// Whether a binding to that node may be sent now. The Error is final with ErrorCode::withheld, and counted; with
  /// ErrorCode::nodes_unknown when_in_step() says how it goes on.
  Status admit(const PlacedNode& node);
  /// Calls `then` once, possibly before it returns: when the watch of nodes is in step, with ErrorCode::withheld (counted) when
  /// it is not by `until_ns`, or with ErrorCode::stopped. On the thread of the reader, of `after` or of stop().
  void when_in_step(std::int64_t until_ns, Then then);
  /// Until when a binding may wait that begins to wait now, in time of the clock.
  std::int64_t wait_end_ns() const noexcept { return clock_.monotonic_ns() + options_.wait_max_ns; }

  /// Ends all waits, for good: bindings are still admitted while the watch is in step, and do not wait any more.
  void stop();

  std::uint64_t withheld(WithheldReason reason) const noexcept {
    return withheld_.at(static_cast<std::size_t>(reason)).load(std::memory_order_relaxed);
  }
  std::size_t waiting() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  using Waiting = std::multimap<std::int64_t, Then>;  // by their end

  Error withhold(WithheldReason reason, std::string message);
  /// Ends the waits whose time is over; `due_ns`: when it was to be called.
  void expire(std::int64_t due_ns);
  void watch_until(std::int64_t due_ns);

  const Clock& clock_;
  const BindingGateOptions options_;
  std::array<std::atomic<std::uint64_t>, k_withheld_words.size()> withheld_{};
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> nodes_ GUARDED_BY(mutex_);  // uid by name
  std::unordered_map<model::Uid, PlacedNode> placed_ GUARDED_BY(mutex_);                          // by pod
  Waiting waiting_ GUARDED_BY(mutex_);
  static constexpr std::int64_t k_never_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t watched_ns_ GUARDED_BY(mutex_) = k_never_ns;  // when expire() will be called
  bool in_step_ GUARDED_BY(mutex_) = false, stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::cluster
