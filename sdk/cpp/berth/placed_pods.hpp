// SPDX-License-Identifier: Apache-2.0
/// Pods on nodes and pods nominated to them (berth.pods/1), and sums over them that are kept from one attempt to the next.
///
///   explicit Quota(berth::Setup& setup) : pods_(setup.service<berth::Pods>()) {}
///   berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<>&) {
///     followed_.follow(pods_, cycle, [&] { used_.clear(); },
///                      [&](const berth::PlacedPod& pod, int by) { used_[pod.pod().ns()] += by * pod.pod().request(cpu_); });
///     …
///
/// Threads: [cycle], but for Pods::on_node.
/// Errors:  a visit that throws ends the iteration, and the exception goes on in the policy. Calls that are denied visit nothing.
/// Source:  ext/placed_pods.h, which also says what not to build on: order, every step, no gaps.
#pragma once
#include <berth/services.hpp>

#include <optional>
#include <utility>

namespace berth {
inline namespace sdk {

/// A pod on a node, or nominated to one. Valid during the visit: copy texts, and pin ids that are kept.
class PlacedPod {
 public:
  explicit PlacedPod(const berth_placed_pod_v1* raw) noexcept : raw_(raw) {}
  /// The requested groups, identity, namespace, priority and placement.
  Pod pod() const noexcept { return Pod(raw_->pod); }
  /// Valid for the attempt; another node may have it later.
  Slot node() const noexcept { return raw_->node; }
  /// metadata.deletionTimestamp is set.
  bool is_terminating() const noexcept { return (raw_->flags & BERTH_PLACED_TERMINATING) != 0; }
  /// Placed by this process, and not yet confirmed by the API server.
  bool is_assumed() const noexcept { return (raw_->flags & BERTH_PLACED_ASSUMED) != 0; }
  /// No profile of this process has its scheduler name.
  bool is_of_other_scheduler() const noexcept { return (raw_->flags & BERTH_PLACED_OTHER_SCHEDULER) != 0; }
  /// For berth_placed_pod_v1::by.
  const berth_placed_pod_v1* raw() const noexcept { return raw_; }

 private:
  const berth_placed_pod_v1* raw_;
};

/// Pods as the snapshot of the attempt has them, of every scheduler: nothing changes while the attempt lasts.
class Pods : public Service<berth_pods_v1> {
 public:
  static constexpr const char* id = "berth.pods/1";
  using Service::Service;
  /// visit(const PlacedPod&) [-> bool: go on], here and below; in no order. Nothing for a slot without a node.
  /// [cycle] [worker]
  /// The cheapest of the three: filters may ask it about the nodes of their block.
  template <class Visit>
  void on_node(const Cycle& cycle, Slot node, Visit&& visit) const {
    Visiting visitor(visit);
    table_->on_node(ctx_, cycle.raw(), node, &Visiting<Visit>::call, &visitor);
    visitor.rethrow();
  }
  /// All that are on nodes. [cycle]
  template <class Visit>
  void each(const Cycle& cycle, Visit&& visit) const {
    Visiting visitor(visit);
    table_->each(ctx_, cycle.raw(), &Visiting<Visit>::call, &visitor);
    visitor.rethrow();
  }
  /// Those that are nominated to the node, in order of nomination, or to any (BERTH_NO_SLOT); the pod at hand is
  /// among them if it is nominated. [cycle]
  template <class Visit>
  void nominated(const Cycle& cycle, Slot node, Visit&& visit) const {
    Visiting visitor(visit);
    table_->nominated(ctx_, cycle.raw(), node, &Visiting<Visit>::call, &visitor);
    visitor.rethrow();
  }
  /// How many changes there have been: what to pass to changes() next time. Never 0, but where the call is denied.
  /// [cycle]
  std::uint64_t position(const Cycle& cycle) const noexcept { return table_->position(ctx_, cycle.raw()); }
  /// visit(const PlacedPod&, int by) [-> bool: go on]: 1 came, -1 went; from number `since` on. False: some are
  /// forgotten, or visit said so; what was visited of them must be forgotten, too. PlacedPodsFollowed does the rest.
  /// [cycle]
  template <class Visit>
  bool changes(const Cycle& cycle, std::uint64_t since, Visit&& visit) const {
    auto with_sign = [&](const PlacedPod& pod) { return visit(pod, static_cast<int>(pod.raw()->by)); };
    Visiting visitor(with_sign);
    const std::uint32_t all = table_->changes(ctx_, cycle.raw(), since, &Visiting<decltype(with_sign)>::call, &visitor);
    visitor.rethrow();
    return all != 0;
  }

 private:
  /// Carries the visit through the C callback, and its exception back.
  template <class Visit>
  class Visiting {
   public:
    explicit Visiting(Visit& visit) noexcept : visitor_{visit, {}} {}
    static std::uint32_t call(void* arg, const berth_placed_pod_v1* pod) {
      return static_cast<Visiting*>(arg)->visitor_(PlacedPod(pod));
    }
    void rethrow() const { visitor_.rethrow(); }

   private:
    detail::Visitor<Visit> visitor_;
  };
};

/// Brings sums over all placed pods up to date with what has come and gone since the last attempt. One per set of
/// sums; a sum may be below 0 until follow() has returned.
class PlacedPodsFollowed {
 public:
  /// begin() when all pods are counted again, at first and after too many changes; add(const PlacedPod&, int by) for
  /// each pod, with 1, and for each change, with 1 or -1. When one of them throws, all pods are counted again at the
  /// next call. Costs nothing when nothing has changed. In pre_filter, or another [cycle] call: not from several
  /// threads.
  template <class Begin, class Add>
  void follow(const Pods& pods, const Cycle& cycle, Begin&& begin, Add&& add) {
    const std::uint64_t end = pods.position(cycle);
    const std::optional<std::uint64_t> since = std::exchange(position_, std::nullopt);
    if (!since || (*since != end && !pods.changes(cycle, *since, add_all(add)))) {
      begin();
      pods.each(cycle, [&](const PlacedPod& pod) { add(pod, 1); });
    }
    position_ = end;
  }
  /// The next follow() counts all pods again, for sums that were lost.
  void reset() noexcept { position_.reset(); }

 private:
  template <class Add>
  static auto add_all(Add& add) {
    return [&add](const PlacedPod& pod, int by) { add(pod, by); };
  }
  std::optional<std::uint64_t> position_;
};

}  // namespace sdk
}  // namespace berth
