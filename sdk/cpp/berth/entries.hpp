// SPDX-License-Identifier: Apache-2.0
/// The C functions of each extension point for a policy class, and their ops tables.
///
/// Place:    behind the points' headers: an author reads those. Everything here is detail and may change with any SDK.
/// Shapes:   per point one C function for each member of P, make_…_ops() that checks the signatures, and the table that it makes.
/// Threads:  as the tag of the C function says; each calls one member of P and nothing else.
/// Errors:   every function is noexcept and ends at the exception barrier: BERTH_ERROR with what() as the note's text, and BAD_ARGS
///           and TOO_OLD from create() alone. A member with a wrong signature is a static_assert that shows the right one.
/// Lifetime: tables are static constants; arguments are wrapped for the call and never kept.
/// Source:   sdk/include/berth/ext, one header per point.
#pragma once
#include <berth/kept_counts.hpp>
#include <berth/offers.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

// --- load ---------------------------------------------------------------------------------------------------------

/// Makes the Instance that `self` is from here on. Nothing is left behind when P's constructor throws.
template <class P>
berth_code create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                  berth_note_v1* note) noexcept {
  return guarded(note, [&] {
    Setup setup(host, binder, args);
    *self = new Instance<P>(host, setup);
    return static_cast<berth_code>(BERTH_OK);
  });
}
/// The policy's destructor must not throw.
template <class P>
void destroy(void* self) noexcept {
  delete static_cast<Instance<P>*>(self);
}

// --- queue --------------------------------------------------------------------------------------------------------

/// key is const: it is asked under the queue's lock.
template <class P>
berth_code queue_key(void* self, const berth_queue_pod_v1* pod, std::uint64_t* key, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const auto words = std::as_const(policy_of<P>(self)).key(QueuedPod(pod));
    std::copy(words.begin(), words.end(), key);
    return static_cast<berth_code>(BERTH_OK);
  });
}
/// What less throws is logged, and counts as "not before".
template <class P>
std::int32_t queue_less(void* self, const berth_queue_pod_v1* a, const berth_queue_pod_v1* b) noexcept {
  std::int32_t before = 0;
  guarded_void<P>(self, "less",
                  [&] { before = std::as_const(policy_of<P>(self)).less(QueuedPod(a), QueuedPod(b)) ? 1 : 0; });
  return before;
}
template <class P>
berth_code queue_pre_enqueue(void* self, const berth_queue_pod_v1* pod, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] { return finish(policy_of<P>(self).pre_enqueue(QueuedPod(pod)), note); });
}
template <class P>
constexpr berth_queue_ops_v1 make_queue_ops() {
  berth_queue_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  if constexpr (Has_key<P>) {
    static_assert(Keys<P>, "expected: std::array<std::uint64_t, N> key(const berth::QueuedPod&) const");
    ops.key_words = std::tuple_size_v<decltype(std::declval<const P&>().key(std::declval<const QueuedPod&>()))>;
    ops.key = &queue_key<P>;
  }
  if constexpr (Has_less<P>) {
    static_assert(
        requires(const P& p, const QueuedPod& q) {
          { p.less(q, q) } -> std::same_as<bool>;
        },
        "expected: bool less(const berth::QueuedPod&, const berth::QueuedPod&) const");
    ops.less = &queue_less<P>;
  }
  if constexpr (Has_pre_enqueue<P>) {
    static_assert(
        requires(P & p, const QueuedPod& q) {
          { p.pre_enqueue(q) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict pre_enqueue(const berth::QueuedPod&) const");
    ops.pre_enqueue = &queue_pre_enqueue<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_queue_ops_v1 k_queue_ops = make_queue_ops<P>();

// --- prepare ------------------------------------------------------------------------------------------------------

/// PreFilter and PreScore carry the state's slot: what the policy makes there is freed by state_free.
template <class P>
berth_code pre_filter(void* self, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    PreFilter<State<P>> point(cycle, out);
    return finish(policy_of<P>(self).pre_filter(Cycle(cycle), point), note);
  });
}
template <class P>
berth_code pre_score(void* self, berth_cycle_v1* cycle, const berth_slot* nodes, std::uint32_t count,
                     berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    PreScore<State<P>> point(cycle, span_of(nodes, count));
    return finish(policy_of<P>(self).pre_score(Cycle(cycle), point), note);
  });
}
/// By State's copy constructor, for what-ifs.
template <class P>
berth_code state_clone(void*, const void* from, void** to, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    *to = new State<P>(*static_cast<const State<P>*>(from));
    return static_cast<berth_code>(BERTH_OK);
  });
}
template <class P>
void state_free(void*, void* state) noexcept {
  delete static_cast<State<P>*>(state);
}
template <class P>
berth_code pod_added(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                     berth_note_v1* note) noexcept {
  return guarded_call(note, [&] { return finish(policy_of<P>(self).pod_added(Cycle(cycle), Pod(other), node), note); });
}
template <class P>
berth_code pod_removed(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                       berth_note_v1* note) noexcept {
  return guarded_call(note,
                      [&] { return finish(policy_of<P>(self).pod_removed(Cycle(cycle), Pod(other), node), note); });
}
template <class P>
constexpr berth_prepare_ops_v1 make_prepare_ops() {
  berth_prepare_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.flags = P::identity.prepare_flags;
  if constexpr (Has_pre_filter<P>) {
    static_assert(
        requires(P & p, const Cycle& c, PreFilter<State<P>>& f) {
          { p.pre_filter(c, f) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict pre_filter(const berth::Cycle&, berth::PreFilter<State>&) const; State is P::State, "
        "or left out");
    ops.pre_filter = &pre_filter<P>;
  }
  if constexpr (Has_pre_score<P>) {
    static_assert(
        requires(P & p, const Cycle& c, PreScore<State<P>>& s) {
          { p.pre_score(c, s) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict pre_score(const berth::Cycle&, berth::PreScore<State>&) const; State is P::State, or "
        "left out");
    ops.pre_score = &pre_score<P>;
  }
  if constexpr (!std::is_same_v<State<P>, NoState>) ops.state_free = &state_free<P>;
  if constexpr (Has_pod_added<P> || Has_pod_removed<P>) {
    static_assert(
        requires(P & p, const Cycle& c, Pod o, Slot n) {
          { p.pod_added(c, o, n) } -> std::same_as<Verdict>;
          { p.pod_removed(c, o, n) } -> std::same_as<Verdict>;
        },
        "expected both: berth::Verdict pod_added(const berth::Cycle&, berth::Pod other, berth::Slot node) const, and "
        "pod_removed");
    static_assert(std::copy_constructible<State<P>>, "state that other pods affect is copied for what-if rows");
    ops.pod_added = &pod_added<P>;
    ops.pod_removed = &pod_removed<P>;
    ops.state_clone = &state_clone<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_prepare_ops_v1 k_prepare_ops = make_prepare_ops<P>();

// --- filter -------------------------------------------------------------------------------------------------------

/// What a filter by Mask rejects with: P::rejection, else the first reason.
template <class P>
constexpr Rejection rejection_of() {
  if constexpr (Has_rejection<P>) {
    return P::rejection;
  } else {
    return Rejection{1, false};
  }
}
/// The three forms of filter.hpp. By Mask, words without candidates are left out; by Row, each candidate is asked.
template <class P>
berth_code filter(void* self, const berth_cycle_v1* raw_cycle, const berth_node_block_v1* raw_block,
                  berth_filter_out_v1* out, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const P& policy = policy_of<P>(self);
    const Cycle cycle(raw_cycle);
    FilterBlock block(raw_cycle, raw_block, out);
    if constexpr (FiltersByMask<P>) {
      for (std::uint32_t w = 0; w < block.words(); ++w) {
        if (block.candidates(w) != 0) block.reject(w, !policy.filter(cycle, block.word(w)), rejection_of<P>());
      }
    } else if constexpr (FiltersByBlock<P>) {
      policy.filter(cycle, block);
    } else {
      block.each_candidate([&](std::uint32_t row) {
        if (const std::optional<Rejection> why = policy.filter_each(cycle, block.row(row))) block.reject_row(row, *why);
      });
    }
    return static_cast<berth_code>(BERTH_OK);
  });
}
/// Asked once, after create(). The member is noexcept.
template <class P>
std::uint64_t filter_budget_ns(void* self) noexcept {
  return policy_of<P>(self).filter_budget_ns();
}
template <class P>
constexpr berth_filter_ops_v1 make_filter_ops() {
  static_assert(!(Has_filter<P> && Has_filter_each<P>), "a policy has filter or filter_each, not both");
  if constexpr (Has_filter<P>) {
    static_assert(FiltersByMask<P> || FiltersByBlock<P>,
                  "expected: berth::Mask filter(const berth::Cycle&, berth::Rows) const, "
                  "or void filter(const berth::Cycle&, berth::FilterBlock&) const");
  } else {
    static_assert(
        requires(const P& p, const Cycle& c, Row r) {
          { p.filter_each(c, r) } -> std::same_as<std::optional<Rejection>>;
        },
        "expected: std::optional<berth::Rejection> filter_each(const berth::Cycle&, berth::Row) const");
  }
  static_assert(!FiltersByMask<P> || Has_rejection<P> || Has_reasons<P>,
                "a filter by Mask says why it rejects: static constexpr berth::ReasonText reasons[] and "
                "static constexpr berth::Rejection rejection");
  berth_filter_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.flags = P::identity.filter_flags;
  ops.deps = P::identity.filter_deps;
  ops.filter = &filter<P>;
  if constexpr (Has_filter_budget_ns<P>) {
    static_assert(
        requires(const P& p) {
          { p.filter_budget_ns() }
          noexcept->std::same_as<std::uint64_t>;
        },
        "expected: std::uint64_t filter_budget_ns() const noexcept");
    ops.budget_ns = &filter_budget_ns<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_filter_ops_v1 k_filter_ops = make_filter_ops<P>();

// --- score --------------------------------------------------------------------------------------------------------

/// Raw scores; candidates only where the policy scores row by row.
template <class P>
berth_code score(void* self, const berth_cycle_v1* raw_cycle, const berth_node_block_v1* raw_block, std::int64_t* raw,
                 berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const P& policy = policy_of<P>(self);
    const Cycle cycle(raw_cycle);
    ScoreBlock block(raw_block, raw);
    if constexpr (Has_score<P>) {
      policy.score(cycle, block);
    } else {
      block.each_candidate([&](std::uint32_t row) { block(row) = policy.score_each(cycle, block.row(row)); });
    }
    return static_cast<berth_code>(BERTH_OK);
  });
}
/// Of Normalize::custom: all feasible nodes at once, in place.
template <class P>
berth_code normalize(void* self, const berth_cycle_v1* cycle, const berth_slot* nodes, std::int64_t* scores,
                     std::uint32_t count, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    policy_of<P>(self).normalize(Cycle(cycle), span_of(nodes, count), span_of(scores, count));
    return static_cast<berth_code>(BERTH_OK);
  });
}
template <class P>
constexpr berth_score_ops_v1 make_score_ops() {
  static_assert(!(Has_score<P> && Has_score_each<P>), "a policy has score or score_each, not both");
  if constexpr (Has_score<P>) {
    static_assert(
        requires(const P& p, const Cycle& c, ScoreBlock& b) {
          { p.score(c, b) } -> std::same_as<void>;
        },
        "expected: void score(const berth::Cycle&, berth::ScoreBlock&) const");
  } else {
    static_assert(
        requires(const P& p, const Cycle& c, Row r) {
          { p.score_each(c, r) } -> std::same_as<std::int64_t>;
        },
        "expected: std::int64_t score_each(const berth::Cycle&, berth::Row) const");
  }
  berth_score_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.score = &score<P>;
  ops.deps = P::identity.score_deps;
  if constexpr (Has_normalization<P>) ops.normalize_kind = static_cast<std::uint32_t>(P::normalization);
  static_assert(!Has_normalize<P> || Has_normalization<P>,
                "normalize is used with normalization = Normalize::custom only");
  if constexpr (Has_normalize<P>) {
    static_assert(P::normalization == Normalize::custom,
                  "normalize is used with normalization = Normalize::custom only");
    static_assert(
        requires(P & p, const Cycle& c, std::span<const Slot> n, std::span<std::int64_t> s) {
          { p.normalize(c, n, s) } -> std::same_as<void>;
        },
        "expected: void normalize(const berth::Cycle&, std::span<const berth::Slot>, std::span<std::int64_t>)");
    ops.normalize = &normalize<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_score_ops_v1 k_score_ops = make_score_ops<P>();

// --- post-filter, reserve, permit ---------------------------------------------------------------------------------

template <class P>
berth_code post_filter(void* self, berth_cycle_v1* cycle, const berth_post_filter_in_v1* in,
                       berth_post_filter_out_v1* out, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    PostFilter point(in, out);
    return finish(policy_of<P>(self).post_filter(Cycle(cycle), point), note);
  });
}
template <class P>
constexpr berth_post_filter_ops_v1 make_post_filter_ops() {
  static_assert(
      requires(P & p, const Cycle& c, PostFilter& f) {
        { p.post_filter(c, f) } -> std::same_as<Verdict>;
      },
      "expected: berth::Verdict post_filter(const berth::Cycle&, berth::PostFilter&)");
  return {sizeof(berth_post_filter_ops_v1), 0, &post_filter<P>};
}
template <class P>
inline constexpr berth_post_filter_ops_v1 k_post_filter_ops = make_post_filter_ops<P>();

template <class P>
berth_code reserve(void* self, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] { return finish(policy_of<P>(self).reserve(Cycle(cycle), node), note); });
}
template <class P>
void unreserve(void* self, berth_cycle_v1* cycle, berth_slot node) noexcept {
  guarded_void<P>(self, "unreserve", [&] { policy_of<P>(self).unreserve(Cycle(cycle), node); });
}
template <class P>
constexpr berth_reserve_ops_v1 make_reserve_ops() {
  static_assert(
      requires(P & p, const Cycle& c, Slot n) {
        { p.reserve(c, n) } -> std::same_as<Verdict>;
        { p.unreserve(c, n) } -> std::same_as<void>;
      },
      "expected both: berth::Verdict reserve(const berth::Cycle&, berth::Slot), void unreserve(const berth::Cycle&, "
      "berth::Slot)");
  return {sizeof(berth_reserve_ops_v1), 0, &reserve<P>, &unreserve<P>};
}
template <class P>
inline constexpr berth_reserve_ops_v1 k_reserve_ops = make_reserve_ops<P>();

template <class P>
berth_code permit(void* self, const berth_cycle_v1* cycle, berth_slot node, berth_permit_out_v1* out,
                  berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    Permit point(out);
    return finish(policy_of<P>(self).permit(Cycle(cycle), node, point), note);
  });
}
template <class P>
constexpr berth_permit_ops_v1 make_permit_ops() {
  static_assert(
      requires(P & p, const Cycle& c, Slot n, Permit& o) {
        { p.permit(c, n, o) } -> std::same_as<Verdict>;
      },
      "expected: berth::Verdict permit(const berth::Cycle&, berth::Slot, berth::Permit&)");
  return {sizeof(berth_permit_ops_v1), 0, &permit<P>};
}
template <class P>
inline constexpr berth_permit_ops_v1 k_permit_ops = make_permit_ops<P>();

// --- bind ---------------------------------------------------------------------------------------------------------

template <class P>
berth_code pre_bind_check(void* self, const berth_cycle_v1* cycle, berth_slot node, std::uint32_t* flags,
                          berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    PreBindFlags out(flags);
    return finish(policy_of<P>(self).pre_bind_check(Cycle(cycle), node, out), note);
  });
}
template <class P>
berth_code pre_bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] { return finish(policy_of<P>(self).pre_bind(Cycle(cycle), BindCall(call)), note); });
}
template <class P>
berth_code bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] { return finish(policy_of<P>(self).bind(Cycle(cycle), BindCall(call)), note); });
}
template <class P>
void post_bind(void* self, berth_cycle_v1* cycle, const berth_bind_call_v1* call) noexcept {
  guarded_void<P>(self, "post_bind", [&] { policy_of<P>(self).post_bind(Cycle(cycle), view(call->node_name)); });
}
template <class P>
constexpr berth_bind_ops_v1 make_bind_ops() {
  berth_bind_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  if constexpr (Has_pre_bind_check<P>) {
    static_assert(
        requires(P & p, const Cycle& c, Slot n, PreBindFlags& f) {
          { p.pre_bind_check(c, n, f) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict pre_bind_check(const berth::Cycle&, berth::Slot, berth::PreBindFlags&)");
    ops.pre_bind_check = &pre_bind_check<P>;
  }
  if constexpr (Has_pre_bind<P>) {
    static_assert(
        requires(P & p, const Cycle& c, BindCall b) {
          { p.pre_bind(c, b) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict pre_bind(const berth::Cycle&, berth::BindCall)");
    ops.pre_bind = &pre_bind<P>;
  }
  if constexpr (Has_bind<P>) {
    static_assert(
        requires(P & p, const Cycle& c, BindCall b) {
          { p.bind(c, b) } -> std::same_as<Verdict>;
        },
        "expected: berth::Verdict bind(const berth::Cycle&, berth::BindCall)");
    ops.bind = &bind<P>;
  }
  if constexpr (Has_post_bind<P>) {
    static_assert(
        requires(P & p, const Cycle& c, std::string_view n) {
          { p.post_bind(c, n) } -> std::same_as<void>;
        },
        "expected: void post_bind(const berth::Cycle&, std::string_view node_name)");
    ops.post_bind = &post_bind<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_bind_ops_v1 k_bind_ops = make_bind_ops<P>();

// --- requeue ------------------------------------------------------------------------------------------------------

/// One call for many pods; the policy is asked about each. When it throws, the host queues all of them.
template <class P>
berth_code hint(void* self, const berth_event_v1* raw_event, const berth_pod_v1* const* pods, std::uint32_t count,
                std::uint64_t* queue, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const P& policy = policy_of<P>(self);
    const Event event(raw_event);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (policy.hint(event, Pod(pods[i]))) queue[i >> 6] |= std::uint64_t{1} << (i & 63);
    }
    return static_cast<berth_code>(BERTH_OK);
  });
}
template <class P>
constexpr berth_requeue_ops_v1 make_requeue_ops() {
  berth_requeue_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.interest_count = static_cast<std::uint32_t>(std::size(P::interests));
  ops.interests = std::data(P::interests);
  if constexpr (Has_hint<P>) {
    static_assert(
        requires(const P& p, const Event& e, Pod w) {
          { p.hint(e, w) } -> std::same_as<bool>;
        },
        "expected: bool hint(const berth::Event&, berth::Pod waiting) const");
    ops.hint = &hint<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_requeue_ops_v1 k_requeue_ops = make_requeue_ops<P>();

// --- groups -------------------------------------------------------------------------------------------------------

/// The name is borrowed: from the pod, or static.
template <class P>
berth_code group_of(void* self, const berth_pod_v1* pod, berth_str* name, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    *name = borrow(std::as_const(policy_of<P>(self)).group_of(Pod(pod)));
    return static_cast<berth_code>(BERTH_OK);
  });
}
template <class P>
berth_code quorum(void* self, const berth_pod_v1* pod, berth_quorum_v1* out, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    Quorum point(out);
    return finish(policy_of<P>(self).quorum(Pod(pod), point), note);
  });
}
template <class P>
constexpr berth_group_ops_v1 make_group_ops() {
  static_assert(
      requires(P & p, Pod m, Quorum & q) {
        { std::as_const(p).group_of(m) } -> std::same_as<std::string_view>;
        { p.quorum(m, q) } -> std::same_as<Verdict>;
      },
      "expected both: std::string_view group_of(berth::Pod) const, berth::Verdict quorum(berth::Pod, berth::Quorum&)");
  return {sizeof(berth_group_ops_v1), 0, &group_of<P>, &quorum<P>};
}
template <class P>
inline constexpr berth_group_ops_v1 k_group_ops = make_group_ops<P>();

// --- domains ------------------------------------------------------------------------------------------------------

template <class P>
berth_code filter_columns(void* self, berth_cycle_v1* cycle, const berth_domain_columns_v1* out,
                          berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const bool named = policy_of<P>(self).filter_columns(Cycle(cycle), DomainColumnList(out));
    return static_cast<berth_code>(named ? BERTH_OK : BERTH_SKIP);
  });
}
template <class P>
berth_code filter_groups(void* self, const berth_cycle_v1* cycle, const berth_domain_groups_v1* groups,
                         std::uint64_t* pass, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const P& policy = policy_of<P>(self);
    FilterGroups point(groups, pass);
    policy.filter_groups(Cycle(cycle), point);
    return static_cast<berth_code>(BERTH_OK);
  });
}
/// nothing is OK with *scores = 0, impossible is SKIP.
template <class P>
berth_code score_columns(void* self, berth_cycle_v1* cycle, const berth_domain_columns_v1* out, std::uint32_t* scores,
                         berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    PreScore<State<P>> point(cycle, {});
    const ByDomain answer = policy_of<P>(self).score_columns(Cycle(cycle), point, DomainColumnList(out));
    *scores = answer == ByDomain::yes ? 1 : 0;
    return static_cast<berth_code>(answer == ByDomain::impossible ? BERTH_SKIP : BERTH_OK);
  });
}
template <class P>
berth_code score_groups(void* self, const berth_cycle_v1* cycle, const berth_domain_groups_v1* groups,
                        std::int64_t* scores, berth_note_v1* note) noexcept {
  return guarded_call(note, [&] {
    const P& policy = policy_of<P>(self);
    policy.score_groups(Cycle(cycle), DomainGroups(groups), span_of(scores, groups->count));
    return static_cast<berth_code>(BERTH_OK);
  });
}
template <class P>
constexpr berth_domain_ops_v1 make_domain_ops() {
  static_assert(Has_filter_columns<P> == Has_filter_groups<P> && Has_score_columns<P> == Has_score_groups<P>,
                "a policy has both of filter_columns and filter_groups, or neither; likewise score_columns and "
                "score_groups");
  berth_domain_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  if constexpr (Has_filter_columns<P>) {
    static_assert(
        requires(P & p, const Cycle& c, const DomainColumnList& l) {
          { p.filter_columns(c, l) } -> std::same_as<bool>;
        },
        "expected: bool filter_columns(const berth::Cycle&, const berth::DomainColumnList&); true: they are named");
    ops.filter_columns = &filter_columns<P>;
    ops.filter_groups = &filter_groups<P>;
  }
  if constexpr (Has_score_columns<P>) {
    static_assert(
        requires(P & p, const Cycle& c, PreScore<State<P>>& s, const DomainColumnList& l) {
          { p.score_columns(c, s, l) } -> std::same_as<ByDomain>;
        },
        "expected: berth::ByDomain score_columns(const berth::Cycle&, berth::PreScore<State>&, const "
        "berth::DomainColumnList&)");
    ops.score_columns = &score_columns<P>;
    ops.score_groups = &score_groups<P>;
  }
  return ops;
}
template <class P>
inline constexpr berth_domain_ops_v1 k_domain_ops = make_domain_ops<P>();

}  // namespace detail
}  // namespace sdk
}  // namespace berth
