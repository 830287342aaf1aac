// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/packed_text.hpp"
#include "base/symbols.hpp"
#include "model/resource_version.hpp"
#include "model/resources.hpp"
#include "model/selectors.hpp"
#include "model/shared.hpp"
#include "model/uid.hpp"

namespace berth::model {

struct HostPort {
  Symbol ip = 0;        // "0.0.0.0" when empty
  Symbol protocol = 0;  // "TCP" when empty
  std::int32_t port = 0;
  std::uint32_t any_ip = 0;  // 1 when ip is "0.0.0.0"; a word, so that lists cross the plugin ABI as they are
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct ImageRef {
  enum class Kind : std::uint8_t { init_container = 1, container = 2, volume = 3 };
  Symbol name = 0;  // normalised (":latest" appended where no tag or digest is given)
  Kind kind = Kind::container;
  friend bool operator==(const ImageRef&, const ImageRef&) = default;
};

struct OwnerReference {
  SharedText api_version, kind, name, uid;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct PodVolume {
  enum class Kind : std::uint8_t { other = 0, claim = 1, ephemeral = 2, inline_source = 3 };
  std::string name;
  std::string source;  // claim name, <pod>-<volume>, or JSON of an inline source
  Kind kind = Kind::other;
  bool read_only = false;
  friend bool operator==(const PodVolume&, const PodVolume&) = default;
};

/// A volume as the node that a pod is on knows it; crosses the plugin ABI as it is (berth_node_volume_v1).
struct NodeVolume {
  Symbol ns = 0;
  Symbol source = 0;    // PodVolume::source
  Symbol pod_name = 0;  // ephemeral only
  Symbol pod_uid = 0;   // ephemeral only
  std::uint32_t kind = 0;
  std::uint32_t reserved = 0;
  friend auto operator<=>(const NodeVolume&, const NodeVolume&) = default;
};

struct PodCondition {
  std::string type, status, reason, message;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

/// An entry of spec.resourceClaims.
struct PodClaim {
  std::string name, claim, claim_template;  // resourceClaimName, resourceClaimTemplateName
  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};
/// What the status says about the pod's own claims; looked at by plugins and compared for update events.
struct PodClaimStatuses {
  struct Generated {
    std::string name, claim;  // empty claim: none is needed
    friend bool operator==(const Generated&, const Generated&) = default;
  };
  SharedList<Generated> generated;  // resourceClaimStatuses, in order
  std::string extended;             // extendedResourceClaimStatus as JSON; empty: none
  friend bool operator==(const PodClaimStatuses&, const PodClaimStatuses&) = default;
};

/// What of a pod is looked at once for a decision about it, and hardly ever once it runs. Pods of one workload have all
/// of it in common, so a pod has one word for it.
struct PodSpec {
  std::int64_t generation = 0;      // metadata.generation: counts the versions of the spec
  std::int64_t grace_seconds = 30;  // terminationGracePeriodSeconds
  SharedList<Toleration> tolerations;
  PodAffinity affinity;
  SharedList<SpreadConstraint> spread;
  SharedList<HostPort> host_ports;  // sidecars, then containers
  SharedList<ImageRef> images;
  std::uint32_t container_count = 0;  // init containers and containers
  bool preempts = true;               // preemptionPolicy is not Never
  bool host_network = false;
  bool host_users_false = false;
  bool restarts_all_containers = false;
  SharedList<std::string> gates;
  SharedList<PodClaim> resource_claims;
  SharedText group;  // schedulingGroup.podGroupName

  /// Names of enabled-but-absent upstream plugins that this pod would need, with the field that says so.
  struct Unsupported {
    std::string plugin, field;
    friend bool operator==(const Unsupported&, const Unsupported&) = default;
  };
  SharedList<Unsupported> unsupported;
  /// Resources that extenders manage and a container names, as far as the decoder was asked for them.
  SharedList<Symbol> managed_resources;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

/// A pod as scheduling sees it. An immutable value once decoded: share it as PodPtr, replace it to change it.
/// Clusters have many, and each costs this and its name: what pods of one workload have in common is shared among them,
/// and members stand in an order without gaps.
struct Pod {
  std::string name;
  Uid uid;
  ResourceVersion resource_version;
  SharedText ns;
  std::int64_t creation_ns = 0;       // wall clock, 0 when absent
  std::int64_t start_ns = 0;          // status.startTime, 0 when absent
  SharedList<Label> labels;           // as Labels
  SharedList<Label> annotations;      // value symbols; long values included
  Shared<OwnerReference> controller;  // empty kind: none
  SharedText scheduler_name;
  Shared<PodRequests> requests;
  Shared<NodeSelection> node_selection;
  Shared<PodSpec> spec;
  SharedList<PodVolume> volumes;
  SharedList<NodeVolume> node_volumes;  // those of kind claim, ephemeral and inline_source, in the same order
  SharedText phase;
  SharedList<PodCondition> conditions;
  Shared<PodClaimStatuses> claim_statuses;
  /// The object for extenders and plugins, as compact JSON without apiVersion and kind; kept only where one of them asks.
  PackedText body;
  SymbolHold symbols;  // those of everything above and below, as far as they come from the object; node_name is its own
  Symbol ns_symbol = 0;
  Symbol node_name = 0;       // spec.nodeName, 0 when empty
  Symbol nominated_node = 0;  // status.nominatedNodeName, 0 when empty
  std::int32_t priority = 0;
  bool deleting = false;         // metadata.deletionTimestamp is set
  std::uint32_t deletion_s = 0;  // that, in seconds since 1970; 0 where it cannot be read

  /// True when some volume is a claim or an ephemeral one.
  bool names_claims() const noexcept {
    for (const NodeVolume& volume : node_volumes)
      if (volume.kind != static_cast<std::uint32_t>(PodVolume::Kind::inline_source)) return true;
    return false;
  }
  /// True when some container asks for a resource with a domain, "vendor/name".
  bool asks_for_devices() const noexcept {
    for (const ContainerResources& container : requests->containers)
      if (!container.name.empty()) return true;
    return false;
  }
  bool finished() const noexcept { return phase == "Succeeded" || phase == "Failed"; }
  std::string key() const { return ns.get() + "/" + name; }
};
using PodPtr = std::shared_ptr<const Pod>;

}  // namespace berth::model
