// SPDX-License-Identifier: Apache-2.0
/// Preemption policies: the host's search for victims with C++ types. Included by the few plugins that need it.
#pragma once
#include <berth/ext/preemption.h>
#include <berth/services.hpp>

#include <array>
#include <span>

namespace berth {
inline namespace sdk {

using Victim = berth_victim_v1;

/// A policy P offers
///   static void importance(std::span<const Victim>, std::uint64_t* keys)          two words per pod
///   static void rank(std::span<const berth_victims_v1>, std::uint64_t* ranks)     P::criteria.size() words per node
///   static constexpr std::array<const char*, N> criteria
class Preemption : public Service<berth_preemption_v1> {
 public:
  static constexpr const char* id = "berth.preemption/1";
  using Service::Service;

  berth_preemptor_v1 preemptor(const Cycle& cycle) const noexcept {
    berth_preemptor_v1 out{};
    out.struct_size = sizeof out;
    table_->preemptor(ctx_, cycle.raw(), &out);
    return out;
  }
  /// visit(const Victim&) [-> bool: go on].
  template <class Visit>
  void pods_on(const Cycle& cycle, Slot node, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->pods_on(
        ctx_, cycle.raw(), node, [](void* arg, const Victim* pod) { return (*static_cast<V*>(arg))(*pod); }, &visitor);
    visitor.rethrow();
  }
  struct Found {
    Verdict verdict;  ///< ok: there is a choice
    berth_preemption_result_v1 result{};
  };
  template <class P>
  Found search(const Cycle& cycle, berth_preemption_request_v1 request) const {
    static const auto names = [] {
      std::array<berth_str, std::size(P::criteria)> texts{};
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = borrow(P::criteria[i]);
      return texts;
    }();
    static const berth_preemption_policy_v1 policy{
        sizeof(berth_preemption_policy_v1), static_cast<std::uint32_t>(names.size()), names.data(),
        [](void*, const Victim* pods, std::uint32_t count, std::uint64_t* keys) {
          P::importance(std::span<const Victim>(pods, count), keys);
        },
        [](void*, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) {
          P::rank(std::span<const berth_victims_v1>(nodes, count), ranks);
        }};
    request.struct_size = sizeof request;
    request.policy = &policy;
    detail::NoteBuffer<berth_note_v1> note;
    berth_preemption_result_v1 result{};
    result.struct_size = sizeof result;
    const berth_code code = table_->search(ctx_, cycle.raw(), &request, nullptr, &result, &note.raw);
    if (code == BERTH_UNSCHEDULABLE) return {Verdict::unschedulable(result.explanation), result};
    return {Verdict::of(code, note.str()), result};
  }
  /// visit(std::string_view uid).
  template <class Visit>
  void victims(const Cycle& cycle, Visit&& visit) const {
    using V = std::remove_reference_t<Visit>;
    table_->victims(
        ctx_, cycle.raw(), [](void* arg, berth_str uid) { (*static_cast<V*>(arg))(view(uid)); }, &visit);
  }
  /// visit(const Victim&, Pod): as victims(), with what there is to know of them.
  template <class Visit>
  void chosen(const Cycle& cycle, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->chosen(
        ctx_, cycle.raw(),
        [](void* arg, const Victim* victim, const berth_pod_v1* pod) {
          auto& carrier = *static_cast<V*>(arg);
          if (!carrier.thrown) carrier(*victim, Pod(pod));
        },
        &visitor);
    visitor.rethrow();
  }
  /// use(Pod) of the pod that a victim is. False when it is not there any more.
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
  bool evicting(std::string_view uid) const noexcept { return table_->evicting(ctx_, borrow(uid)) != 0; }
};

}  // namespace sdk
}  // namespace berth
