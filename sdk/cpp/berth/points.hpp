// SPDX-License-Identifier: Apache-2.0
/// Arguments of the smaller extension points: queue, post-filter, reserve, permit, bind and requeue. A policy offers
///   std::array<std::uint64_t, N> key(const QueuedPod&) const            N = 1..4; smaller is earlier          [watch]
///   bool less(const QueuedPod&, const QueuedPod&) const                 of pods with equal keys               [watch]
///   Verdict pre_enqueue(const QueuedPod&) const                                                               [watch]
///   Verdict post_filter(const Cycle&, PostFilter&)                                                            [cycle]
///   Verdict reserve(const Cycle&, Slot); void unreserve(const Cycle&, Slot)                          [cycle] [binder]
///   Verdict permit(const Cycle&, Slot, Permit&)                                                               [cycle]
///   Verdict pre_bind_check(const Cycle&, Slot, PreBindFlags&)                                                [binder]
///   Verdict pre_bind(const Cycle&, BindCall); Verdict bind(const Cycle&, BindCall)                           [binder]
///   void post_bind(const Cycle&, std::string_view node_name)                                                 [binder]
///   static constexpr Interest interests[]; bool hint(const Event&, Pod) const                                 [watch]
///
/// Lifetime: the arguments are borrowed for the call, but for BindCall. Errors: what a policy throws ends the attempt with its text;
///           of less, unreserve and post_bind, which cannot fail, it is logged.
/// Source:   ext/queue.h, post_filter.h, reserve.h, permit.h, bind.h and requeue.h.
#pragma once
#include <berth/ext/groups.h>
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <exception>
#include <optional>

namespace berth {
inline namespace sdk {

/// A pod that is to enter the queue, or is in it. Its functions may be called while the queue is locked: take
/// microseconds.
class QueuedPod {
 public:
  explicit QueuedPod(const berth_queue_pod_v1* raw) noexcept : raw_(raw) {}
  /// The requested groups; in pre_enqueue identity and placement as well.
  Pod pod() const noexcept { return Pod(raw_->pod); }
  /// How often it was tried.
  std::uint32_t attempts() const noexcept { return raw_->attempts; }
  /// Wall clock, nanoseconds: when the pod entered the queue after its last attempt.
  std::int64_t enqueued_ns() const noexcept { return raw_->enqueued_ns; }
  /// Likewise: when it entered the active queue for the first time.
  std::int64_t first_attempt_ns() const noexcept { return raw_->first_attempt_ns; }

 private:
  const berth_queue_pod_v1* raw_;
};

/// Second argument of quorum (groups.hpp). What is not said is 0.
class Quorum {
 public:
  explicit Quorum(berth_quorum_v1* out) noexcept : out_(out) {}
  /// Members that have to get nodes in one step, beyond those that have one; 0: each goes by itself.
  void needed(std::uint32_t members) noexcept { out_->needed = members; }
  /// Longest time that members which are ready to be bound wait for the rest; 15 minutes at most.
  void hold_ms(std::uint32_t value) noexcept { out_->hold_ms = value; }

 private:
  berth_quorum_v1* out_;
};

/// What is known when no node suits, and what the policy does about it. Verdict::ok() with nominate() ends the search
/// for a node.
class PostFilter {
 public:
  PostFilter(const berth_post_filter_in_v1* in, berth_post_filter_out_v1* out) noexcept : in_(in), out_(out) {}
  /// By slot: rejected nodes where eviction may help; as long as cycle.nodes().
  std::span<const std::uint64_t> unschedulable() const noexcept { return span_of(in_->unschedulable, in_->word_count); }
  /// By slot: rejected nodes where it cannot.
  std::span<const std::uint64_t> unresolvable() const noexcept { return span_of(in_->unresolvable, in_->word_count); }
  /// The pod is to come to that node once room is there: status.nominatedNodeName.
  void nominate(Slot node) noexcept {
    out_->nominate = BERTH_NOMINATE_SET;
    out_->node = node;
  }
  /// Takes away what an earlier attempt nominated. Without either, it is kept.
  void clear_nomination() noexcept { out_->nominate = BERTH_NOMINATE_CLEAR; }
  /// A pod that has to go from the nominated node; once per victim. The host evicts after the cycle, and copies the
  /// uid.
  void add_victim(std::string_view uid) noexcept { out_->add_victim(out_->victims_ctx, borrow(uid)); }

 private:
  const berth_post_filter_in_v1* in_;
  berth_post_filter_out_v1* out_;
};

/// Third argument of permit: how long to wait.
class Permit {
 public:
  explicit Permit(berth_permit_out_v1* out) noexcept : out_(out) {}
  /// Goes with Verdict::wait(); 15 minutes at most. When it is over, the pod is rejected.
  void timeout_ms(std::uint32_t value) noexcept { out_->timeout_ms = value; }

 private:
  berth_permit_out_v1* out_;
};

/// Third argument of pre_bind_check.
class PreBindFlags {
 public:
  explicit PreBindFlags(std::uint32_t* flags) noexcept : flags_(flags) {}
  /// pre_bind may run while the pre_bind of other plugins runs for the same pod.
  void parallel() noexcept { *flags_ |= BERTH_PRE_BIND_PARALLEL; }

 private:
  std::uint32_t* flags_;
};

/// One bind in progress. Copyable: a policy that returned Verdict::async() keeps it until it calls complete(),
/// exactly once, from any thread; after that nothing of it may be used. When the policy returns any other verdict, it
/// ends with the call.
class BindCall {
 public:
  explicit BindCall(berth_bind_call_v1* raw) noexcept : raw_(raw) {}
  /// The node that the pod was reserved on.
  std::string_view node_name() const noexcept { return view(raw_->node_name); }
  /// The pod was preempted, or berth shuts down: give up and complete(). [any]
  bool cancelled() const noexcept { return raw_->cancelled != nullptr && raw_->cancelled(raw_->ctx) != 0; }
  /// False when the pod was deleted, or replaced under its name. [any]
  bool pod_exists() const noexcept { return raw_->pod_exists(raw_->ctx) != 0; }
  /// use(Row) with the node as it is now: this instance's columns, with usage as of an empty node. False when there
  /// is no such node. Throws what use throws. [any]
  template <class Use>
  bool node(Use&& use) const {
    struct Carrier {
      Use& use;
      std::exception_ptr thrown;
    } carrier{use, {}};
    const berth_code code = raw_->node(
        raw_->ctx,
        [](void* arg, const berth_node_block_v1* row) {
          auto& c = *static_cast<Carrier*>(arg);
          try {
            c.use(Row(Block(row), 0));
          } catch (...) {
            c.thrown = std::current_exception();
          }
        },
        &carrier);
    if (carrier.thrown) std::rethrow_exception(carrier.thrown);
    return code == BERTH_OK;
  }
  /// BERTH_OK, BERTH_SKIP (of bind: the next policy binds) or a rejection or error, with its text, which is copied.
  /// Before or after the verdict was returned.
  void complete(berth_code code, std::string_view text = {}) const noexcept {
    raw_->complete(raw_->ctx, code, borrow(text));
  }
  /// For what outlives this object: the pointer is good until complete().
  berth_bind_call_v1* raw() const noexcept { return raw_; }

 private:
  berth_bind_call_v1* raw_;
};

/// Events that may make a pod schedulable which the policy rejected. kind: BERTH_KIND_*, actions: BERTH_ACTION_*
/// bits. Static.
using Interest = berth_interest_v1;
/// Asks hint() about each event.
constexpr Interest hinted(std::uint32_t kind, std::uint32_t actions) noexcept { return Interest{kind, actions, 0, 1}; }
/// Queues the pod on each event.
constexpr Interest always(std::uint32_t kind, std::uint32_t actions) noexcept { return Interest{kind, actions, 0, 0}; }
/// The host runs filter on the changed node. For filters of pod and node alone: no hint can disagree with them.
constexpr Interest derived(std::uint32_t kind, std::uint32_t actions) noexcept {
  return Interest{kind, actions, BERTH_INTEREST_DERIVED, 0};
}

/// One event that an interest names, for hint. ext/requeue.h.
class Event {
 public:
  explicit Event(const berth_event_v1* raw) noexcept : raw_(raw) {}
  /// Index into `interests`.
  std::uint32_t interest() const noexcept { return raw_->interest; }
  /// BERTH_KIND_*; of a watch BERTH_KIND_WATCH and its number.
  std::uint32_t kind() const noexcept { return raw_->resource; }
  /// BERTH_ACTION_* bits.
  std::uint32_t actions() const noexcept { return raw_->actions; }
  bool about_node() const noexcept { return raw_->old_node != nullptr || raw_->new_node != nullptr; }
  bool about_pod() const noexcept { return raw_->old_pod != nullptr || raw_->new_pod != nullptr; }
  /// One row with this instance's columns, usage as of an empty node. Absent: the node came, or it is about something
  /// else.
  std::optional<Row> old_node() const noexcept { return row(raw_->old_node); }
  std::optional<Row> new_node() const noexcept { return row(raw_->new_node); }
  /// With the requested groups, identity and placement; likewise absent.
  std::optional<Pod> old_pod() const noexcept { return pod(raw_->old_pod); }
  std::optional<Pod> new_pod() const noexcept { return pod(raw_->new_pod); }
  /// Fields of the watch that the interest is about, or of the first watch of its kind of resource. Null without a
  /// watch.
  const berth_object_v1* old_object() const noexcept { return raw_->old_object; }
  const berth_object_v1* new_object() const noexcept { return raw_->new_object; }
  const berth_event_v1* raw() const noexcept { return raw_; }

 private:
  static std::optional<Row> row(const berth_node_block_v1* block) noexcept {
    return block == nullptr ? std::nullopt : std::optional<Row>(Row(Block(block), 0));
  }
  static std::optional<Pod> pod(const berth_pod_v1* raw) noexcept {
    return raw == nullptr ? std::nullopt : std::optional<Pod>(Pod(raw));
  }

  const berth_event_v1* raw_;
};

}  // namespace sdk
}  // namespace berth
