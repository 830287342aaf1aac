// SPDX-License-Identifier: Apache-2.0
/// Preemption policies: the host's search for victims with C++ types. Included by the few plugins that need it.
#pragma once
#include <berth/ext/draft/preemption.h>
#include <berth/services.hpp>

#include <array>
#include <span>

namespace berth {
inline namespace sdk {

using Victim = berth_victim_v0;

/// Draft. A policy P offers
///   static void importance(std::span<const Victim>, std::uint64_t* keys)          two words per pod
///   static void rank(std::span<const berth_victims_v0>, std::uint64_t* ranks)     P::criteria.size() words per node
///   static constexpr std::array<const char*, N> criteria
class Preemption : public Service<berth_preemption_v0> {
 public:
  static constexpr const char* id = "berth.draft.preemption/0";
  using Service::Service;

  berth_preemptor_v0 preemptor(const Cycle& cycle) const noexcept {
    berth_preemptor_v0 out{};
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
    berth_preemption_result_v0 result{};
  };
  template <class P>
  Found search(const Cycle& cycle, berth_preemption_request_v0 request) const {
    static const auto names = [] {
      std::array<berth_str, std::size(P::criteria)> texts{};
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = borrow(P::criteria[i]);
      return texts;
    }();
    static const berth_preemption_policy_v0 policy{
        sizeof(berth_preemption_policy_v0), static_cast<std::uint32_t>(names.size()), names.data(),
        [](void*, const Victim* pods, std::uint32_t count, std::uint64_t* keys) {
          P::importance(std::span<const Victim>(pods, count), keys);
        },
        [](void*, const berth_victims_v0* nodes, std::uint32_t count, std::uint64_t* ranks) {
          P::rank(std::span<const berth_victims_v0>(nodes, count), ranks);
        }};
    request.struct_size = sizeof request;
    request.policy = &policy;
    detail::NoteBuffer<berth_note_v1> note;
    berth_preemption_result_v0 result{};
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
  bool evicting(std::string_view uid) const noexcept { return table_->evicting(ctx_, borrow(uid)) != 0; }
};

}  // namespace sdk
}  // namespace berth
