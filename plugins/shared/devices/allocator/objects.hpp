// SPDX-License-Identifier: Apache-2.0
/// What the device allocator reads: the objects of resource.k8s.io/v1 as plain values, with the fields that an allocation depends
/// on. Names are those of the API. Quantities are texts as the API writes them (`80Gi`); opaque parameters are kept as text.
///
/// Values without behaviour: no thread rules, and nothing is checked here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <berth/cel/cel.hpp>

namespace berth::dra {

/// One entry of matchExpressions or matchFields of a node selector's term.
struct NodeRequirement {
  std::string key;
  std::string operation;  ///< In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  friend bool operator==(const NodeRequirement&, const NodeRequirement&) = default;
};

struct NodeSelectorTerm {
  std::vector<NodeRequirement> match_expressions;
  std::vector<NodeRequirement> match_fields;
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

/// Terms are alternatives; a term without requirements matches nothing.
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;
  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};

/// Which nodes reach a slice or a device: the first of the three that is set.
struct NodeChoice {
  std::string node_name;
  bool all_nodes = false;
  std::optional<NodeSelector> selector;
};

struct Label {
  std::string key;
  std::string value;
};

struct Node {
  std::string name;
  std::vector<Label> labels;
};

/// How much of a capacity one allocation of a device may take.
struct RequestPolicy {
  struct Range {
    std::optional<std::string> min;
    std::optional<std::string> max;
    std::optional<std::string> step;
  };
  std::optional<std::string> default_amount;
  std::vector<std::string> valid_values;
  std::optional<Range> valid_range;
};

struct NamedCapacity {
  std::string name;
  std::string value;
  std::optional<RequestPolicy> policy;
};

struct NamedAttribute {
  std::string name;
  cel::Attribute::Type type = cel::Attribute::Type::unsupported;
  std::int64_t integer = 0;  ///< also of a boolean: 0 or 1
  std::string text;          ///< of a string or version
};

struct NamedAmount {
  std::string name;
  std::string amount;
  friend bool operator==(const NamedAmount&, const NamedAmount&) = default;
};

/// A slice's counters, or what a device takes of them.
struct CounterSet {
  std::string name;
  std::vector<NamedAmount> counters;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;
};

struct Device {
  std::string name;
  std::vector<NamedAttribute> attributes;
  std::vector<NamedCapacity> capacity;
  std::vector<CounterSet> consumes_counters;
  NodeChoice nodes;  ///< where the slice leaves it to its devices
  std::vector<DeviceTaint> taints;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  bool binds_to_node = false;
  bool allow_multiple_allocations = false;
};

struct Slice {
  std::string name;
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t slice_count = 0;  ///< resourceSliceCount: slices of this generation in the whole cluster
  NodeChoice nodes;
  bool per_device_node_selection = false;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
};

/// `driver` and `parameters` of an opaque configuration, in a class or a claim.
struct OpaqueConfig {
  std::string driver;
  std::string parameters;  ///< JSON, copied into allocations as it is
};

struct DeviceClass {
  std::string name;
  std::vector<std::optional<std::string>> selectors;  ///< CEL expressions; nothing: a selector of an unknown kind
  std::vector<OpaqueConfig> config;
};

struct Toleration {
  std::string key;
  std::string operation;  ///< empty: Equal
  std::string value;
  std::string effect;
  std::optional<std::int64_t> toleration_seconds;  ///< copied only
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// What `exactly` or an entry of `firstAvailable` asks for.
struct DeviceRequest {
  std::string name;  ///< of a subrequest; of `exactly` it is the request's
  std::string class_name;
  std::vector<std::optional<std::string>> selectors;
  std::string allocation_mode;  ///< ExactCount or All
  std::int64_t count = 0;       ///< with ExactCount
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::vector<NamedAmount> capacity;
};

struct Request {
  std::string name;
  std::optional<DeviceRequest> exactly;
  std::vector<DeviceRequest> first_available;  ///< counts when not empty
};

struct Constraint {
  std::vector<std::string> requests;  ///< `r` or `r/sub`; empty: all
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;
};

struct ClaimConfig {
  std::vector<std::string> requests;
  OpaqueConfig opaque;
};

struct Claim {
  std::string claim_namespace;
  std::string name;
  std::vector<Request> requests;
  std::vector<Constraint> constraints;
  std::vector<ClaimConfig> config;
};

/// A device that is taken: one entry of a claim's `status.allocation.devices.results`.
struct TakenDevice {
  std::string_view driver;
  std::string_view pool;
  std::string_view device;
  bool admin_access = false;                              ///< such an allocation takes nothing from others
  std::optional<std::string_view> share_id = {};          ///< of a device that allows several allocations
  std::optional<std::vector<NamedAmount>> consumed = {};  ///< consumedCapacity
};

}  // namespace berth::dra
