// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/packed_text.hpp"
#include "base/symbols.hpp"
#include "model/resources.hpp"
#include "model/selectors.hpp"

namespace berth::model {

struct NodeImage {
  std::vector<Symbol> names;
  std::int64_t size_bytes = 0;
  friend bool operator==(const NodeImage&, const NodeImage&) = default;
};

struct NodeCondition {
  Symbol type = 0, status = 0;
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

/// A node as scheduling sees it. Immutable once decoded: share it as NodePtr, replace it to change it.
struct Node {
  std::string name, uid, resource_version;
  Symbol name_symbol = 0;
  bool has_labels = false;  // metadata.labels is present (matters for the zone key only)
  Labels labels;
  Labels annotations;                  // those that plugins read
  std::uint64_t annotations_hash = 0;  // of all of them, whatever their order
  bool unschedulable = false;
  std::vector<Taint> taints;  // in the object's order
  /// status.allocatable["pods"]; not repeated in `allocatable`.
  std::int64_t allowed_pods = 0;
  /// cpu, memory, ephemeral-storage and scalar resources; other names are dropped.
  std::vector<ResourceAmount> allocatable;
  bool lists_pods = false;  // allocatable names "pods"
  /// status.capacity: the same names, and "pods".
  std::vector<ResourceAmount> capacity;
  std::vector<NodeImage> images;
  std::vector<Symbol> declared_features;  // in the object's order
  std::vector<NodeCondition> conditions;
  PackedText body;     // as Pod::body
  SymbolHold symbols;  // as Pod::symbols, name_symbol included
};
using NodePtr = std::shared_ptr<const Node>;

}  // namespace berth::model
