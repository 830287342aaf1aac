// SPDX-License-Identifier: Apache-2.0
/// The objects of resource.k8s.io/v1 as the policy keeps them: read once per version, written as the API has them.
///
/// Immutable values; any thread. What an API server would not have stored (a number where a text belongs) reads as absent.
#pragma once
#include <berth/json_text.hpp>
#include <berth/plugin.hpp>

#include <memory>

#include "../allocator/claim_shapes.hpp"

namespace devices {

namespace dra = berth::dra;

inline constexpr const char* k_claims = "resource.k8s.io/v1/resourceclaims";
inline constexpr const char* k_slices = "resource.k8s.io/v1/resourceslices";
inline constexpr const char* k_classes = "resource.k8s.io/v1/deviceclasses";
inline constexpr const char* k_finalizer = "resource.kubernetes.io/delete-protection";
inline constexpr const char* k_extended_annotation = "resource.kubernetes.io/extended-resource-claim";

/// Fields of the watches, in this order; of a class and a slice without the last.
inline constexpr std::array<berth_field_v1, 3> k_object_fields = {berth_field_v1{{"metadata", 8}, BERTH_FIELD_JSON, 0},
                                                                  berth_field_v1{{"spec", 4}, BERTH_FIELD_JSON, 0},
                                                                  berth_field_v1{{"status", 6}, BERTH_FIELD_JSON, 0}};

/// One entry of `status.allocation.devices.results`.
struct ResultObject {
  std::string request, driver, pool, device;
  bool admin_access = false;
  std::optional<std::string> share_id;
  std::optional<std::vector<dra::NamedAmount>> consumed;
  std::vector<std::string> binding_conditions, binding_failure_conditions;

  dra::TakenDevice taken() const {
    return {driver,  pool, device, admin_access, share_id ? std::optional<std::string_view>(*share_id) : std::nullopt,
            consumed};
  }
};

/// One entry of `status.devices`.
struct DeviceStatus {
  struct Condition {
    std::string type, status, reason, message;
  };
  std::string driver, pool, device;
  std::vector<Condition> conditions;
};

/// A device that is allocated and whose name cannot be read; of what is empty any may be meant.
struct Withheld {
  enum class Nodes : std::uint8_t { any, shared, one };
  std::string driver, pool, device;
  /// Where it may be, if driver and pool do not say: devices of one node (and those of no node), only those of no node, or any.
  Nodes nodes = Nodes::any;
  std::string node;  ///< one
};

struct AllocationObject {
  std::vector<ResultObject> results;
  std::vector<Withheld> withheld;             ///< entries of the results that cannot be read whole
  std::optional<std::int64_t> time_ns;        ///< allocationTimestamp, wall clock
  dra::NodeChoice nodes;                      ///< nodeSelector
  std::unique_ptr<dra::NodeMatcher> matcher;  ///< null: usable on all nodes

  bool has_binding_conditions() const;
  /// The same devices and shares for the same requests.
  bool has_same_devices(const AllocationObject& other) const;
};

/// A ResourceClaim. `metadata`, `spec` and `status` are the JSON that it was read from.
struct ClaimObject {
  std::string ns, name, uid, generate_name;
  std::string metadata, spec, status;
  std::string controller_uid;  ///< empty: no owner is the controller
  std::string controller_name;
  bool is_deleting = false;
  bool has_finalizer = false;
  bool is_extended = false;  ///< made by a scheduler for extended resources
  std::shared_ptr<const dra::Claim> wanted;
  std::shared_ptr<const AllocationObject> allocation;  ///< null: not allocated
  std::vector<std::string> reserved_for;               ///< uids
  std::vector<DeviceStatus> devices;

  std::string key() const { return ns + '/' + name; }
  bool is_reserved_for(std::string_view pod_uid) const;
  /// The whole object as JSON, with another status.
  std::string json(std::string_view with_metadata, std::string_view with_status) const;
};
using ClaimPtr = std::shared_ptr<const ClaimObject>;

/// A device of an allocation with that nodeSelector (null: none), of which nothing else is known.
Withheld withheld_on(const berth::Json& node_selector);
/// One entry of the results: as a device in use or, where it cannot be read which, as one that is withheld.
void add_result(const berth::Json& result, const Withheld& unknown, AllocationObject& to);

/// Throws berth::JsonError for a text that is no JSON.
ClaimPtr read_claim(std::string_view metadata, std::string_view spec, std::string_view status);
ClaimPtr read_whole_claim(std::string_view json);
dra::Slice read_slice(std::string_view name, std::string_view spec);

/// A DeviceClass with what the map of extended resources goes by.
struct ClassObject {
  dra::DeviceClass device_class;
  std::string extended_resource;  ///< spec.extendedResourceName, or empty
  std::int64_t created_ns = 0;
};
std::shared_ptr<const ClassObject> read_class(std::string_view metadata, std::string_view spec);

/// `status.allocation`, without a time.
std::string allocation_json(const dra::ClaimAllocation& allocation);
/// As allocation_json() would read.
std::shared_ptr<const AllocationObject> allocation_object(const dra::ClaimAllocation& allocation);
/// RFC 3339 in seconds.
std::string time_text(std::int64_t wall_ns);

}  // namespace devices
