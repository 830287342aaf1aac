// SPDX-License-Identifier: Apache-2.0
/// Group policies: pods that get nodes together or not at all. Included by the few plugins that need it.
///
/// A policy offers
///   std::string_view group_of(Pod) const            the name within the pod's namespace; empty: none; a pod for
///                                                   which it throws is held back                               [any]
///   Verdict quorum(Pod, Quorum&)                    ok, or a rejection that keeps the members in the queue     [cycle]
#pragma once
#include <berth/ext/groups.h>
#include <berth/services.hpp>

namespace berth {
inline namespace sdk {

using GroupCount = berth_group_count_v1;

class Groups : public Service<berth_groups_v1> {
 public:
  static constexpr const char* id = "berth.groups/1";
  using Service::Service;

  GroupCount count(Id ns, std::string_view group) const noexcept {
    GroupCount out{};
    out.struct_size = sizeof out;
    table_->count(ctx_, ns, borrow(group), &out);
    return out;
  }
  /// visit(Pod) [-> bool: go on].
  template <class Visit>
  void members(Id ns, std::string_view group, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->members(
        ctx_, ns, borrow(group), [](void* arg, const berth_pod_v1* pod) { return (*static_cast<V*>(arg))(Pod(pod)); },
        &visitor);
    visitor.rethrow();
  }
  /// The group whose members are being planned; empty: the pod at hand goes by itself.
  std::string_view planned() const noexcept {
    berth_str group{};
    table_->planned(ctx_, &group);
    return view(group);
  }
};

}  // namespace sdk
}  // namespace berth
