// SPDX-License-Identifier: Apache-2.0
/// One attempt to place one pod, and the two points that prepare it: pre_filter and pre_score.
///
/// A policy that needs state declares `using State = …;`, makes one in pre_filter or pre_score and reads it later with
/// cycle.state<State>(). The wrapper deletes it, and copies it when the policy has pod_added / pod_removed.
///
/// Lifetime: Cycle, PreFilter and PreScore live for the call; the state as long as the attempt, its binding included.
/// Threads:  as the point: pre_filter and pre_score are [cycle]; filter and score, [worker], read the state at the same time.
/// Errors:   what State's constructor throws ends the attempt, as everything that a policy throws.
/// Source:   ext/cycle.h and ext/prepare.h, whose functions are berth.prepare/1.
#pragma once
#include <berth/pod.hpp>
#include <berth/verdict.hpp>

#include <memory>

namespace berth {
inline namespace sdk {

/// Borrows berth_cycle_v1. What a policy is told about the attempt, and where its state is.
class Cycle {
 public:
  explicit Cycle(const berth_cycle_v1* raw) noexcept : raw_(raw) {}

  /// The pod that a node is wanted for, with the groups that the instance requested.
  Pod pod() const noexcept { return Pod(raw_->pod); }
  /// Shorthand for pod().request(resource).
  std::int64_t request(Request resource) const noexcept { return pod().request(resource); }
  /// In filter: a first look may ask for verdicts alone. FilterBlock leaves reasons out by itself.
  bool wants_reasons() const noexcept { return (raw_->flags & BERTH_CYCLE_WANT_REASONS) != 0; }
  /// A what-if: nominated pods are added, or victims removed, and state() is a clone.
  bool dry_run() const noexcept { return (raw_->flags & BERTH_CYCLE_DRY_RUN) != 0; }
  /// Monotonic, in filter: when the policy's filter_budget_ns() for this attempt is used up; 0: it has none.
  std::int64_t deadline_ns() const noexcept { return static_cast<std::int64_t>(raw_->deadline_ns); }
  /// Of the attempt, for logs. Not for keys of what is kept.
  std::uint64_t id() const noexcept { return raw_->cycle_id; }
  /// Equal numbers: the declared inputs are equal, in this process. 0: the pod is of no class. KeptByClass is made
  /// for it.
  std::uint64_t pod_class() const noexcept { return raw_->pod_class; }
  /// Bits set in nodes().
  std::uint32_t node_count() const noexcept { return raw_->node_count; }
  /// One past the highest slot: the length of arrays by slot. Slots in between may be of no node.
  std::uint32_t slot_count() const noexcept { return raw_->slot_count; }
  /// Bitmap by slot of the snapshot's nodes; empty in [binder] calls.
  std::span<const std::uint64_t> nodes() const noexcept { return span_of(raw_->nodes, raw_->word_count); }

  /// What pre_filter or pre_score left, or nullptr when the profile does not list the plugin there, or they left
  /// nothing. State is the policy's State. Filter and score read it at the same time.
  template <class State>
  State* state() const noexcept {
    return static_cast<State*>(raw_->state);
  }
  /// For host functions, which take it to know the attempt.
  const berth_cycle_v1* raw() const noexcept { return raw_; }

 private:
  const berth_cycle_v1* raw_;
};

namespace detail {

/// The State of a policy that declares none.
struct NoState {};

/// The part that PreFilter and PreScore have in common.
template <class State>
class StateMaker {
 public:
  explicit StateMaker(berth_cycle_v1* cycle) noexcept : cycle_(cycle) {}
  /// What an earlier point of this attempt left, or nullptr.
  State* state() const noexcept { return static_cast<State*>(cycle_->state); }
  /// Replaces the state of this cycle. When State's constructor throws, the earlier one stays.
  template <class... Args>
  State& make(Args&&... args) {
    auto fresh = std::make_unique<State>(std::forward<Args>(args)...);
    delete state();
    cycle_->state = fresh.release();
    return *state();
  }
  /// The state that an earlier point left, else a new one.
  State& get_or_make() { return state() != nullptr ? *state() : make(); }

 private:
  berth_cycle_v1* cycle_;
};

}  // namespace detail

/// Second argument of pre_filter. Verdict::skip() there saves the policy its calls of filter, pod_added and pod_removed for this
/// attempt.
template <class State = detail::NoState>
class PreFilter : public detail::StateMaker<State> {
 public:
  PreFilter(berth_cycle_v1* cycle, berth_prepare_out_v1* out) noexcept : detail::StateMaker<State>(cycle), out_(out) {}
  /// Bitmap by slot of the nodes that are worth filtering; all snapshot nodes on entry.
  std::span<const std::uint64_t> candidates() const noexcept { return span_of(out_->candidates, out_->word_count); }
  /// Keeps only the nodes of `keep` (by slot, as long as candidates()). The others count as not satisfying this plugin.
  void narrow(std::span<const std::uint64_t> keep) noexcept {
    out_->narrowed = 1;
    for (std::uint64_t w = 0; w < out_->word_count; ++w) out_->candidates[w] &= w < keep.size() ? keep[w] : 0;
  }

 private:
  berth_prepare_out_v1* out_;
};

/// Second argument of pre_score.
template <class State = detail::NoState>
class PreScore : public detail::StateMaker<State> {
 public:
  PreScore(berth_cycle_v1* cycle, std::span<const Slot> nodes) noexcept
      : detail::StateMaker<State>(cycle), nodes_(nodes) {}
  /// The feasible nodes in the host's list order.
  std::span<const Slot> nodes() const noexcept { return nodes_; }

 private:
  std::span<const Slot> nodes_;
};

}  // namespace sdk
}  // namespace berth
