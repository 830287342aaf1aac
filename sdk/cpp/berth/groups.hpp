// SPDX-License-Identifier: Apache-2.0
/// Group policies: pods that get nodes together or not at all. Included by the few plugins that need it.
///
/// A policy offers
///   std::string_view group_of(Pod) const            the name within the pod's namespace; empty: none; a pod for
///                                                   which it throws is held back                               [any]
///   Verdict quorum(Pod, Quorum&)                    ok, or a rejection that keeps the members in the queue     [cycle]
///
/// Lifetime: what group_of returns is borrowed from the pod, or static. Pods are valid during a visit.
/// Errors:   none. Source: ext/groups.h; kubernetes v1.36 pkg/scheduler, pod group cycles.
#pragma once
#include <berth/ext/groups.h>
#include <berth/services.hpp>

namespace berth {
inline namespace sdk {

/// Members: all, assigned to a node, ready to be planned, held by scheduling gates.
using GroupCount = berth_group_count_v1;

/// Who the members are. Finished pods are none; one that is being deleted counts in `all` alone. Pods of every
/// scheduler.
class Groups : public Service<berth_groups_v1> {
 public:
  static constexpr const char* id = "berth.groups/1";
  using Service::Service;

  /// ns is an id, as of Pod::ns(); the group's name as group_of gave it. Zeros for a group that there is not. [any]
  GroupCount count(Id ns, std::string_view group) const noexcept {
    GroupCount out{};
    out.struct_size = sizeof out;
    table_->count(ctx_, ns, borrow(group), &out);
    return out;
  }
  /// visit(Pod) [-> bool: go on], in no order; node_name() of a reserved one is its node. Not from a visit. [any]
  template <class Visit>
  void members(Id ns, std::string_view group, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->members(
        ctx_, ns, borrow(group), [](void* arg, const berth_pod_v1* pod) { return (*static_cast<V*>(arg))(Pod(pod)); },
        &visitor);
    visitor.rethrow();
  }
  /// "namespace/name" of the group whose members are being planned; empty: the pod at hand goes by itself. Borrowed
  /// until the policy's function returns. [cycle]
  std::string_view planned() const noexcept {
    berth_str group{};
    table_->planned(ctx_, &group);
    return view(group);
  }
};

}  // namespace sdk
}  // namespace berth
