// SPDX-License-Identifier: Apache-2.0
/// Pod: a borrowed berth_pod_v1 with spans instead of pointer and count. Groups that the plugin did not request are
/// empty.
///
/// Lifetime: a Pod, its spans and its texts live for the call or the visit that showed it; ids longer only when pinned.
/// Units:    cpu in milli-cores, memory and storage in bytes, other resources in units; times in nanoseconds of the wall clock.
/// Threads:  any, as the call that was given the pod: nothing here writes to it.
/// Errors:   none. Which group a field belongs to is said in ext/pods.h at BERTH_POD_*; in `berth simulate` with
///           `plugins.verdictReuse: verify` and in the test kit on request, fields outside the requested groups are traps.
#pragma once
#include <berth/types.hpp>

namespace berth {
inline namespace sdk {

/// Index into a pod's requests, from Setup::request(). A default-constructed one must not be used.
struct Request {
  std::uint32_t index = BERTH_NO_REQUEST;
};
/// A pod as far as the policy asked to see it. Copied like a pointer.
class Pod {
 public:
  /// Borrows; `raw` is not null.
  explicit Pod(const berth_pod_v1* raw) noexcept : raw_(raw) {}

  /// metadata.namespace, with BERTH_POD_NAMESPACE.
  Id ns() const noexcept { return raw_->ns; }
  /// spec.priority, with BERTH_POD_PRIORITY.
  std::int64_t priority() const noexcept { return raw_->priority; }
  /// metadata.name and metadata.uid, with BERTH_POD_IDENTITY, which makes every pod a class of its own.
  std::string_view name() const noexcept { return view(raw_->name); }
  std::string_view uid() const noexcept { return view(raw_->uid); }
  /// spec.nodeName, 0 when empty; with BERTH_POD_PLACEMENT.
  Id node_name() const noexcept { return raw_->node_name; }
  /// status.nominatedNodeName, 0 when empty; with BERTH_POD_PLACEMENT.
  Id nominated_node() const noexcept { return raw_->nominated_node; }
  /// BERTH_SPEC_*, with BERTH_POD_SPEC_FLAGS.
  std::uint32_t spec_flags() const noexcept { return raw_->spec_flags; }
  /// Init containers and containers, with BERTH_POD_IMAGES.
  std::uint32_t container_count() const noexcept { return raw_->container_count; }
  /// Wall clock, nanoseconds, 0 where there is none. With BERTH_POD_CREATED, else with BERTH_POD_STATUS.
  std::int64_t created_ns() const noexcept { return raw_->created_ns; }
  /// status.startTime.
  std::int64_t start_ns() const noexcept { return raw_->start_ns; }
  /// metadata.deletionTimestamp: not 0 while the pod is terminating.
  std::int64_t deletion_ns() const noexcept { return raw_->deletion_ns; }
  /// BERTH_PHASE_*, with BERTH_POD_STATUS.
  std::uint32_t phase() const noexcept { return raw_->phase; }
  /// False where spec.preemptionPolicy is Never. With BERTH_POD_SCHEDULING.
  bool preempts() const noexcept { return raw_->preemption_policy != BERTH_PREEMPT_NEVER; }
  /// spec.schedulerName, with BERTH_POD_SCHEDULING.
  std::string_view scheduler_name() const noexcept { return view(raw_->scheduler_name); }
  /// BERTH_QOS_*, with BERTH_POD_QOS.
  std::uint32_t qos() const noexcept { return raw_->qos; }
  /// spec.schedulingGroup.podGroupName, with BERTH_POD_GROUP.
  std::string_view group() const noexcept { return view(raw_->group); }
  /// The object as the API server has it, with BERTH_POD_JSON; see "Whole pods" in sdk/README.md for what it costs.
  std::string_view json() const noexcept { return view(raw_->json); }

  /// What the spec asks for: containers, init containers, pod-level requests and overhead, rounded up once at the
  /// end. 0: nothing.
  std::int64_t request(Request resource) const noexcept { return raw_->requests[resource.index]; }
  /// cpu, memory and ephemeral-storage first, always; then scalars by name. With BERTH_POD_REQUESTS.
  std::span<const berth_resource_v1> resources() const noexcept {
    return span_of(raw_->resources, raw_->resource_count);
  }
  /// Sorted by key id: find_label() of select.hpp. With BERTH_POD_LABELS, or those of Setup::pod_label().
  std::span<const Label> labels() const noexcept { return span_of(raw_->labels, raw_->label_count); }
  /// Sorted by key id, with BERTH_POD_ANNOTATIONS.
  std::span<const Label> annotations() const noexcept { return span_of(raw_->annotations, raw_->annotation_count); }
  /// In spec order, with BERTH_POD_TOLERATIONS.
  std::span<const Toleration> tolerations() const noexcept {
    return span_of(raw_->tolerations, raw_->toleration_count);
  }
  /// Of sidecars, then of containers; hostPort > 0 only. With BERTH_POD_PORTS.
  std::span<const HostPort> host_ports() const noexcept { return span_of(raw_->host_ports, raw_->host_port_count); }
  /// Of init containers, containers and image volumes, in spec order, tags normalised. With BERTH_POD_IMAGES.
  std::span<const berth_image_ref_v1> images() const noexcept { return span_of(raw_->images, raw_->image_count); }
  /// spec.topologySpreadConstraints, with BERTH_POD_SPREAD.
  std::span<const berth_spread_v1> spread() const noexcept { return span_of(raw_->spread, raw_->spread_count); }
  /// Names of spec.schedulingGates, with BERTH_POD_GATES.
  std::span<const berth_str> gates() const noexcept { return span_of(raw_->gates, raw_->gate_count); }
  /// With BERTH_POD_VOLUMES; with BERTH_POD_STORAGE those of the kinds CLAIM, EPHEMERAL and INLINE.
  std::span<const berth_volume_v1> volumes() const noexcept { return span_of(raw_->volumes, raw_->volume_count); }
  /// Init containers, then containers, in spec order, each with its own amounts. With BERTH_POD_CONTAINERS.
  std::span<const berth_container_v1> containers() const noexcept {
    return span_of(raw_->containers, raw_->resource_container_count);
  }
  /// spec.overhead, as requests; in no order. With BERTH_POD_CONTAINERS.
  std::span<const berth_container_amount_v1> overhead() const noexcept {
    return span_of(raw_->overhead, raw_->overhead_count);
  }
  /// Names of spec.resourceClaims.
  std::span<const berth_str> resource_claims() const noexcept {
    return span_of(raw_->resource_claims, raw_->resource_claim_count);
  }
  /// Parallel to containers(), with BERTH_POD_CLAIMS; empty for a pod that asks for no resource with a domain.
  std::span<const berth_str> container_names() const noexcept {
    return span_of(raw_->container_names, raw_->container_name_count);
  }
  /// Entries of spec.resourceClaims, with BERTH_POD_CLAIMS.
  std::span<const berth_pod_claim_v1> claims() const noexcept { return span_of(raw_->claims, raw_->claim_count); }
  /// Requires: BERTH_POD_NODE_SELECTION was requested.
  const berth_node_selection_v1& node_selection() const noexcept { return *raw_->node_selection; }
  /// Requires: BERTH_POD_AFFINITY was requested.
  const berth_affinity_v1& affinity() const noexcept { return *raw_->affinity; }

  /// Borrowed from the pod, as the texts above; with BERTH_POD_OWNER.
  struct Owner {
    std::string_view api_version, kind, name, uid;
  };
  /// The controller reference; all empty without one.
  Owner owner() const noexcept {
    return {view(raw_->owner_api_version), view(raw_->owner_kind), view(raw_->owner_name), view(raw_->owner_uid)};
  }

  /// For what the wrapper does not show; what is newer than the host, BERTH_HAS tells.
  const berth_pod_v1* raw() const noexcept { return raw_; }

 private:
  const berth_pod_v1* raw_;
};

}  // namespace sdk
}  // namespace berth
