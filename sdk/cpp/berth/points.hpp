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
#pragma once
#include <berth/ext/groups.h>
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <exception>
#include <optional>

namespace berth {
inline namespace sdk {

class QueuedPod {
 public:
  explicit QueuedPod(const berth_queue_pod_v1* raw) noexcept : raw_(raw) {}
  Pod pod() const noexcept { return Pod(raw_->pod); }
  std::uint32_t attempts() const noexcept { return raw_->attempts; }
  /// Wall clock, nanoseconds: when the pod entered the queue after its last attempt.
  std::int64_t enqueued_ns() const noexcept { return raw_->enqueued_ns; }
  /// Likewise: when it entered the active queue for the first time. A host before 0.3 tells the last entry.
  std::int64_t first_attempt_ns() const noexcept {
    return BERTH_HAS(raw_, first_attempt_ns) ? raw_->first_attempt_ns : raw_->enqueued_ns;
  }

 private:
  const berth_queue_pod_v1* raw_;
};

/// Second argument of quorum (groups.hpp).
class Quorum {
 public:
  explicit Quorum(berth_quorum_v1* out) noexcept : out_(out) {}
  /// Members that have to get nodes in one step; 0: each goes by itself.
  void needed(std::uint32_t members) noexcept { out_->needed = members; }
  /// Longest time that members which are ready to be bound wait for the rest.
  void hold_ms(std::uint32_t value) noexcept { out_->hold_ms = value; }

 private:
  berth_quorum_v1* out_;
};

class PostFilter {
 public:
  PostFilter(const berth_post_filter_in_v1* in, berth_post_filter_out_v1* out) noexcept : in_(in), out_(out) {}
  /// By slot: rejected nodes where eviction may help.
  std::span<const std::uint64_t> unschedulable() const noexcept { return span_of(in_->unschedulable, in_->word_count); }
  std::span<const std::uint64_t> unresolvable() const noexcept { return span_of(in_->unresolvable, in_->word_count); }
  void nominate(Slot node) noexcept {
    out_->nominate = BERTH_NOMINATE_SET;
    out_->node = node;
  }
  void clear_nomination() noexcept { out_->nominate = BERTH_NOMINATE_CLEAR; }
  void add_victim(std::string_view uid) noexcept { out_->add_victim(out_->victims_ctx, borrow(uid)); }

 private:
  const berth_post_filter_in_v1* in_;
  berth_post_filter_out_v1* out_;
};

class Permit {
 public:
  explicit Permit(berth_permit_out_v1* out) noexcept : out_(out) {}
  /// Goes with Verdict::wait().
  void timeout_ms(std::uint32_t value) noexcept { out_->timeout_ms = value; }

 private:
  berth_permit_out_v1* out_;
};

class PreBindFlags {
 public:
  explicit PreBindFlags(std::uint32_t* flags) noexcept : flags_(flags) {}
  /// pre_bind may run beside the pre_bind of other plugins for the same pod.
  void parallel() noexcept { *flags_ |= BERTH_PRE_BIND_PARALLEL; }

 private:
  std::uint32_t* flags_;
};

/// One bind in progress. Copyable: a policy that returned Verdict::async() keeps it until it calls complete(), exactly
/// once.
class BindCall {
 public:
  explicit BindCall(berth_bind_call_v1* raw) noexcept : raw_(raw) {}
  std::string_view node_name() const noexcept { return view(raw_->node_name); }
  bool cancelled() const noexcept { return raw_->cancelled != nullptr && raw_->cancelled(raw_->ctx) != 0; }
  /// False when the pod was deleted, or replaced under its name.
  bool pod_exists() const noexcept { return !BERTH_HAS(raw_, pod_exists) || raw_->pod_exists(raw_->ctx) != 0; }
  /// use(Row) with the node as it is now. False when there is no such node.
  template <class Use>
  bool node(Use&& use) const {
    if (!BERTH_HAS(raw_, node)) throw TooOld("the host has no node() of a bind call");
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
  void complete(berth_code code, std::string_view text = {}) const noexcept {
    raw_->complete(raw_->ctx, code, borrow(text));
  }
  berth_bind_call_v1* raw() const noexcept { return raw_; }

 private:
  berth_bind_call_v1* raw_;
};

using Interest = berth_interest_v1;
/// Asks hint() about each event.
constexpr Interest hinted(std::uint32_t kind, std::uint32_t actions) noexcept { return Interest{kind, actions, 0, 1}; }
/// Queues the pod on each event.
constexpr Interest always(std::uint32_t kind, std::uint32_t actions) noexcept { return Interest{kind, actions, 0, 0}; }
/// The host runs filter on the changed node.
constexpr Interest derived(std::uint32_t kind, std::uint32_t actions) noexcept {
  return Interest{kind, actions, BERTH_INTEREST_DERIVED, 0};
}

class Event {
 public:
  explicit Event(const berth_event_v1* raw) noexcept : raw_(raw) {}
  /// Index into `interests`.
  std::uint32_t interest() const noexcept { return raw_->interest; }
  std::uint32_t kind() const noexcept { return raw_->resource; }
  std::uint32_t actions() const noexcept { return raw_->actions; }
  bool about_node() const noexcept { return raw_->old_node != nullptr || raw_->new_node != nullptr; }
  bool about_pod() const noexcept { return raw_->old_pod != nullptr || raw_->new_pod != nullptr; }
  std::optional<Row> old_node() const noexcept { return row(raw_->old_node); }
  std::optional<Row> new_node() const noexcept { return row(raw_->new_node); }
  std::optional<Pod> old_pod() const noexcept { return pod(raw_->old_pod); }
  std::optional<Pod> new_pod() const noexcept { return pod(raw_->new_pod); }
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
