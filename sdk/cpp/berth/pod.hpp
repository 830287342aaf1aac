// SPDX-License-Identifier: Apache-2.0
/// Pod: a borrowed berth_pod_v1 with spans instead of pointer and count. Groups that the plugin did not request are
/// empty.
#pragma once
#include <berth/types.hpp>

namespace berth {
inline namespace sdk {

/// Index into a pod's requests, from Setup::request().
struct Request {
  std::uint32_t index = BERTH_NO_REQUEST;
};

class Pod {
 public:
  explicit Pod(const berth_pod_v1* raw) noexcept : raw_(raw) {}

  Id ns() const noexcept { return raw_->ns; }
  std::int64_t priority() const noexcept { return raw_->priority; }
  std::string_view name() const noexcept { return view(raw_->name); }
  std::string_view uid() const noexcept { return view(raw_->uid); }
  Id node_name() const noexcept { return raw_->node_name; }
  Id nominated_node() const noexcept { return raw_->nominated_node; }
  std::uint32_t spec_flags() const noexcept { return raw_->spec_flags; }
  std::uint32_t container_count() const noexcept { return raw_->container_count; }
  /// Wall clock, nanoseconds, 0 where there is none. With BERTH_POD_CREATED, else with BERTH_POD_STATUS.
  std::int64_t created_ns() const noexcept { return BERTH_HAS(raw_, created_ns) ? raw_->created_ns : 0; }
  std::int64_t start_ns() const noexcept { return BERTH_HAS(raw_, start_ns) ? raw_->start_ns : 0; }
  std::int64_t deletion_ns() const noexcept { return BERTH_HAS(raw_, deletion_ns) ? raw_->deletion_ns : 0; }
  /// BERTH_PHASE_*, with BERTH_POD_STATUS.
  std::uint32_t phase() const noexcept { return BERTH_HAS(raw_, phase) ? raw_->phase : 0; }
  /// With BERTH_POD_SCHEDULING.
  bool preempts() const noexcept {
    return !BERTH_HAS(raw_, preemption_policy) || raw_->preemption_policy != BERTH_PREEMPT_NEVER;
  }
  std::string_view scheduler_name() const noexcept {
    return BERTH_HAS(raw_, scheduler_name) ? view(raw_->scheduler_name) : std::string_view();
  }
  /// BERTH_QOS_*, with BERTH_POD_QOS.
  std::uint32_t qos() const noexcept { return BERTH_HAS(raw_, qos) ? raw_->qos : 0; }
  std::string_view group() const noexcept { return view(raw_->group); }
  std::string_view json() const noexcept { return view(raw_->json); }

  std::int64_t request(Request resource) const noexcept { return raw_->requests[resource.index]; }
  std::span<const berth_resource_v1> resources() const noexcept {
    return span_of(raw_->resources, raw_->resource_count);
  }
  std::span<const Label> labels() const noexcept { return span_of(raw_->labels, raw_->label_count); }
  std::span<const Label> annotations() const noexcept { return span_of(raw_->annotations, raw_->annotation_count); }
  std::span<const Toleration> tolerations() const noexcept {
    return span_of(raw_->tolerations, raw_->toleration_count);
  }
  std::span<const HostPort> host_ports() const noexcept { return span_of(raw_->host_ports, raw_->host_port_count); }
  std::span<const berth_image_ref_v1> images() const noexcept { return span_of(raw_->images, raw_->image_count); }
  std::span<const berth_spread_v1> spread() const noexcept { return span_of(raw_->spread, raw_->spread_count); }
  std::span<const berth_str> gates() const noexcept { return span_of(raw_->gates, raw_->gate_count); }
  std::span<const berth_volume_v1> volumes() const noexcept { return span_of(raw_->volumes, raw_->volume_count); }
  std::span<const berth_container_v1> containers() const noexcept {
    return span_of(raw_->containers, raw_->resource_container_count);
  }
  std::span<const berth_container_amount_v1> overhead() const noexcept {
    return span_of(raw_->overhead, raw_->overhead_count);
  }
  /// Names of spec.resourceClaims.
  std::span<const berth_str> resource_claims() const noexcept {
    return span_of(raw_->resource_claims, raw_->resource_claim_count);
  }
  /// Parallel to containers(), with BERTH_POD_CLAIMS; empty for a pod that asks for no resource with a domain.
  std::span<const berth_str> container_names() const noexcept {
    return BERTH_HAS(raw_, container_name_count) ? span_of(raw_->container_names, raw_->container_name_count)
                                                 : std::span<const berth_str>();
  }
  /// Entries of spec.resourceClaims, with BERTH_POD_CLAIMS.
  std::span<const berth_pod_claim_v1> claims() const noexcept {
    return BERTH_HAS(raw_, claims) ? span_of(raw_->claims, raw_->claim_count) : std::span<const berth_pod_claim_v1>();
  }
  /// Requires: BERTH_POD_NODE_SELECTION was requested.
  const berth_node_selection_v1& node_selection() const noexcept { return *raw_->node_selection; }
  /// Requires: BERTH_POD_AFFINITY was requested.
  const berth_affinity_v1& affinity() const noexcept { return *raw_->affinity; }

  struct Owner {
    std::string_view api_version, kind, name, uid;
  };
  /// The controller reference; all empty without one.
  Owner owner() const noexcept {
    return {view(raw_->owner_api_version), view(raw_->owner_kind), view(raw_->owner_name), view(raw_->owner_uid)};
  }

  const berth_pod_v1* raw() const noexcept { return raw_; }

 private:
  const berth_pod_v1* raw_;
};

}  // namespace sdk
}  // namespace berth
