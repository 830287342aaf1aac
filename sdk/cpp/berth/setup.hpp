// SPDX-License-Identifier: Apache-2.0
/// What a policy's constructor receives: it asks for columns, pod fields, services and args here, and only here.
///
/// Place:    the constructor of a policy, once per use in a profile; create() of the C ABI (abi/host.h) stands behind it.
/// Threads:  [load]. Lifetime: until the constructor ends; handles and services that it gave last as long as the instance.
/// Errors:   TooOld where the host lacks something, BadArgs for args; either stops the start of berth with its text.
/// Units:    cpu in milli-cores, memory and storage in bytes, pods in pods.
#pragma once
#include <berth/columns.hpp>
#include <berth/json.hpp>
#include <berth/minors.hpp>
#include <berth/pod.hpp>
#include <berth/services.hpp>

namespace berth {
inline namespace sdk {

/// Borrows what create() was given. `resource`, `key` and `type` are names as Kubernetes writes them: "cpu",
/// "vendor.com/gpu", "topology.kubernetes.io/zone". What no node has is a valid column of zeros.
class Setup {
 public:
  Setup(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args) noexcept
      : host_(host), binder_(binder), args_(args) {}

  // Columns. Each throws TooOld when the host does not know the kind. Asking twice gives the same column.
  /// allocatable - requested; may be below 0.
  IntColumn free(std::string_view resource) { return {column(BERTH_COL_FREE, resource)}; }
  /// What status.allocatable says; 0 where it does not name the resource: has_allocatable() tells.
  IntColumn allocatable(std::string_view resource) { return {column(BERTH_COL_ALLOCATABLE, resource)}; }
  /// What status.capacity says; likewise.
  IntColumn status_capacity(std::string_view resource) { return {column(BERTH_COL_STATUS_CAPACITY, resource)}; }
  /// Whether the node names the resource, be it as 0.
  BitColumn has_allocatable(std::string_view resource) { return {column(BERTH_COL_HAS_ALLOCATABLE, resource)}; }
  BitColumn has_status_capacity(std::string_view resource) { return {column(BERTH_COL_HAS_STATUS_CAPACITY, resource)}; }
  /// What the pods on the node request, summed; pods that are being placed there included.
  IntColumn requested(std::string_view resource) { return {column(BERTH_COL_REQUESTED, resource)}; }
  /// As requested, with 100m of cpu and 200Mi of memory for a container that names none. Of "cpu" and "memory" only.
  IntColumn nonzero(std::string_view resource) { return {column(BERTH_COL_NONZERO, resource)}; }
  /// Number of pods on the node.
  IntColumn pods() { return {column(BERTH_COL_PODS)}; }
  /// Id of the label's value; 0: the node has no such label. An empty value is BERTH_ID_EMPTY.
  IdColumn label(std::string_view key) { return {column(BERTH_COL_LABEL, key)}; }
  /// Likewise.
  IdColumn annotation(std::string_view key) { return {column(BERTH_COL_ANNOTATION, key)}; }
  /// Id of metadata.name.
  IdColumn name() { return {column(BERTH_COL_NAME)}; }
  /// Numbers of sets, 0 for the empty one; Sets has the members, and nodes with equal lists share a number.
  IdColumn taint_set() { return {column(BERTH_COL_TAINT_SET)}; }
  IdColumn image_set() { return {column(BERTH_COL_IMAGE_SET)}; }
  IdColumn port_set() { return {column(BERTH_COL_PORT_SET)}; }
  IdColumn feature_set() { return {column(BERTH_COL_FEATURE_SET)}; }
  IdColumn label_set() { return {column(BERTH_COL_LABEL_SET)}; }
  /// Volumes of the pods on the node.
  IdColumn volume_set() { return {column(BERTH_COL_VOLUME_SET)}; }
  /// Id of the status of the node condition of that type, "Ready" for one; 0: none such.
  IdColumn condition(std::string_view type) { return {column(BERTH_COL_CONDITION, type)}; }
  /// spec.unschedulable.
  BitColumn unschedulable() { return {column(BERTH_COL_UNSCHEDULABLE)}; }
  /// free() and allocatable() of each resource that the pod at hand asks for. Requests BERTH_POD_REQUESTS as well.
  PodColumns pod_free() { return {column(BERTH_COL_POD_FREE)}; }
  PodColumns pod_allocatable() { return {column(BERTH_COL_POD_ALLOCATABLE)}; }
  /// By BERTH_COL_*, for kinds that have no function above: the index that Column holds.
  std::uint32_t column(std::uint32_t kind, std::string_view key = {}) {
    const std::uint32_t index = binder_->column(binder_->ctx, kind, borrow(key));
    if (index == BERTH_NO_COLUMN) {
      throw TooOld("the host has no column of kind " + std::to_string(kind) +
                   (key.empty() ? std::string() : " for \"" + std::string(key) + "\"") + since(minor_of_column(kind)));
    }
    return index;
  }

  // What to see of pods.
  /// The sum of one resource over the pod, for Pod::request(). Throws TooOld.
  Request request(std::string_view resource) {
    const Request request{binder_->request(binder_->ctx, borrow(resource))};
    if (request.index == BERTH_NO_REQUEST) throw TooOld("the host cannot sum requests of " + std::string(resource));
    return request;
  }
  /// BERTH_POD_* bits, added to earlier ones. Throws TooOld when the host does not know one of them.
  void pod_fields(std::uint64_t groups) {
    if (const std::uint64_t unknown = groups & ~accepted_fields(groups); unknown != 0)
      throw TooOld("the host has no pod fields of group " + std::to_string(unknown) +
                   since(minor_of_pod_groups(unknown)));
  }
  /// The same for what a policy can do without: answers those that pods will show. Never throws.
  std::uint64_t accepted_fields(std::uint64_t groups) { return binder_->pod_fields(binder_->ctx, groups); }
  /// One label instead of all, so that pods that differ in others share a class. May be called for several.
  void pod_label(std::string_view key) { binder_->pod_label(binder_->ctx, borrow(key)); }

  /// S is a class of services.hpp or of a header that is included by few. Throws TooOld when the host lacks it.
  template <class S>
  S service() const {
    if (auto found = find_service<S>()) return *found;
    throw TooOld(std::string("the host has no service ") + S::id);
  }
  /// Absent when the host lacks it; `services` of the policy must not list it then, or the loader refuses the file.
  template <class S>
  std::optional<S> find_service() const {
    const void* table = host_->service(host_->ctx, S::id);
    if (table == nullptr) return std::nullopt;
    return S(host_->ctx, static_cast<const typename S::Table*>(table));
  }

  /// The args as the profile gives them, schema defaults filled in; null when there are none. Throws JsonError, which
  /// is a BadArgs.
  Json args() const { return args_.len == 0 ? Json() : Json::parse(view(args_)); }
  /// The same as text; copy it to keep it.
  std::string_view args_text() const noexcept { return view(args_); }
  /// Lives as long as the instance.
  const berth_host_v1& host() const noexcept { return *host_; }
  /// What a score may be at most, after normalisation: 100, and 10 in the mode of old configurations.
  std::int64_t score_max() const noexcept { return host_->score_max; }

 private:
  std::string since(Minor minor) const {
    return ", which came with ABI " + std::to_string(BERTH_ABI_MAJOR) + "." + std::to_string(minor) +
           "; it implements " + std::to_string(BERTH_ABI_MAJOR) + "." + std::to_string(host_->abi_minor);
  }

  const berth_host_v1* host_;
  const berth_binder_v1* binder_;
  berth_str args_;
};

}  // namespace sdk
}  // namespace berth
