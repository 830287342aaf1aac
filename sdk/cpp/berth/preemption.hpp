// SPDX-License-Identifier: Apache-2.0
/// Preemption policies: the host's search for victims with C++ types. Included by the few plugins that need it.
///
/// Threads: [cycle]; evicting() [any].
/// Units:   priorities as in pods; start times in nanoseconds of the wall clock, BERTH_NOT_STARTED without one.
/// Errors:  a search that failed is a Verdict with the text of what failed. What is denied is told in the host's log.
/// Source:  ext/preemption.h, berth.preemption/1.
#pragma once
#include <berth/ext/preemption.h>
#include <berth/services.hpp>

#include <array>
#include <span>

namespace berth {
inline namespace sdk {

/// A pod that may have to go: what a search reads of it. Says which pod it is for the attempt; show() has the rest.
using Victim = berth_victim_v1;

/// A policy P offers
///   static void importance(std::span<const Victim>, std::uint64_t* keys)   two words per pod; smaller: more important
///   static void rank(std::span<const berth_victims_v1>, std::uint64_t* ranks)  N words per node; smaller is better
///   static constexpr std::array<const char*, N> criteria                  a name per word; N <= BERTH_RANK_WORDS_MAX
/// Both functions are pure and must not throw: the host calls them directly. A further victim never makes a rank
/// smaller.
class Preemption : public Service<berth_preemption_v1> {
 public:
  /// `services` of the policy lists it.
  static constexpr const char* id = "berth.preemption/1";
  using Service::Service;

  /// What the pod at hand may do: its priority, whether it preempts at all, and the node that it is nominated to.
  berth_preemptor_v1 preemptor(const Cycle& cycle) const noexcept {
    berth_preemptor_v1 out{};
    out.struct_size = sizeof out;
    table_->preemptor(ctx_, cycle.raw(), &out);
    return out;
  }
  /// visit(const Victim&) [-> bool: go on] of the pods on the node. The Victim is valid during the visit; a copy
  /// names the pod later.
  template <class Visit>
  void pods_on(const Cycle& cycle, Slot node, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->pods_on(
        ctx_, cycle.raw(), node, [](void* arg, const Victim* pod) { return (*static_cast<V*>(arg))(*pod); }, &visitor);
    visitor.rethrow();
  }
  /// The choice of a search.
  struct Found {
    Verdict verdict;  ///< ok: there is a choice
    berth_preemption_result_v1 result{};
  };
  /// Where evictions make room, and which node is the best of those. In post_filter, with the cycle it was given.
  /// struct_size and policy of the request are filled in here; what else it points to is borrowed for the call.
  /// Unschedulable: evictions help nowhere, with the sentence that berth made. Denied unless `services` of the policy
  /// lists "berth.preemption/1".
  template <class P>
  Found search(const Cycle& cycle, berth_preemption_request_v1 request) const {
    // Static, since the host reads them while the attempt lasts.
    static const auto names = [] {
      std::array<berth_str, std::size(P::criteria)> texts{};
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = borrow(P::criteria[i]);
      return texts;
    }();
    // Without an object: `self` of the C functions is null, since both are static members of P.
    static const berth_preemption_policy_v1 policy{
        sizeof(berth_preemption_policy_v1), static_cast<std::uint32_t>(names.size()), names.data(),
        [](void*, const Victim* pods, std::uint32_t count, std::uint64_t* keys) {
          P::importance(std::span<const Victim>(pods, count), keys);
        },
        [](void*, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) {
          P::rank(std::span<const berth_victims_v1>(nodes, count), ranks);
        }};
    // What the caller left of it is overwritten.
    request.struct_size = sizeof request;
    request.policy = &policy;
    detail::NoteBuffer<berth_note_v1> note;
    berth_preemption_result_v1 result{};
    result.struct_size = sizeof result;
    const berth_code code = table_->search(ctx_, cycle.raw(), &request, nullptr, &result, &note.raw);
    // The explanation has an id already; it is good for the attempt.
    if (code == BERTH_UNSCHEDULABLE) return {Verdict::unschedulable(result.explanation), result};
    return {Verdict::of(code, note.str()), result};
  }
  /// The same, where may_go(Pod, Slot) -> bool says which pods may be evicted; the pod shows what show() does. Asked once per
  /// pod on a node that is looked at, of those below request.below_priority, which may be INT64_MAX. Pure. After an exception
  /// no further pod may go, and it goes on in the policy when the search is over.
  template <class P, class MayGo>
  Found search(const Cycle& cycle, berth_preemption_request_v1 request, MayGo&& may_go) const {
    auto ask = [&may_go](Pod pod, Slot node) -> bool { return may_go(pod, node); };
    detail::Visitor visitor{ask, {}};
    using V = decltype(visitor);
    request.may_go = [](void* arg, const berth_pod_v1* pod, berth_slot node) -> std::uint32_t {
      auto& carrier = *static_cast<V*>(arg);
      return carrier.thrown ? 0 : carrier(Pod(pod), node);
    };
    request.may_go_arg = &visitor;
    Found found = search<P>(cycle, request);
    visitor.rethrow();
    return found;
  }
  /// visit(std::string_view uid) of the victims of the last search, most important first. visit must not throw.
  /// Each uid is borrowed for its visit.
  template <class Visit>
  void victims(const Cycle& cycle, Visit&& visit) const {
    using V = std::remove_reference_t<Visit>;
    table_->victims(
        ctx_, cycle.raw(), [](void* arg, berth_str uid) { (*static_cast<V*>(arg))(view(uid)); }, &visit);
  }
  /// visit(const Victim&, Pod): as victims(), with what there is to know of them. Visits all; visit may throw.
  template <class Visit>
  void chosen(const Cycle& cycle, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->chosen(
        ctx_, cycle.raw(),
        [](void* arg, const Victim* victim, const berth_pod_v1* pod) {
          auto& carrier = *static_cast<V*>(arg);
          // The host visits to the end; after an exception nothing more is shown.
          if (!carrier.thrown) carrier(*victim, Pod(pod));
        },
        &visitor);
    visitor.rethrow();
  }
  /// use(Pod) of the pod that a victim is, also from importance and rank. False when it is not there any more.
  /// The pod shows the requested groups, identity, namespace, priority and placement, for the time of use.
  template <class Use>
  bool show(const Cycle& cycle, const Victim& victim, Use&& use) const {
    detail::Visitor visitor{use, {}};
    using V = decltype(visitor);
    const berth_code code = table_->show(
        ctx_, cycle.raw(), &victim, [](void* arg, const berth_pod_v1* pod) { (*static_cast<V*>(arg))(Pod(pod)); },
        &visitor);
    visitor.rethrow();
    return code == BERTH_OK;
  }
  /// True while evictions that an earlier attempt of this pod asked for are under way. [watch] [any]
  bool evicting(std::string_view uid) const noexcept { return table_->evicting(ctx_, borrow(uid)) != 0; }
};

}  // namespace sdk
}  // namespace berth
