// SPDX-License-Identifier: Apache-2.0
/// Which nodes reach a slice or a device, ready for matching.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "objects.hpp"

namespace berth::dra {

/// A node with its labels sorted by key. The node must outlive it.
class NodeLabels {
 public:
  explicit NodeLabels(const Node& node);
  std::string_view node_name() const { return node_name_; }
  /// Null: the node has no such label.
  const std::string* value(std::string_view key) const;

 private:
  std::string_view node_name_;
  std::vector<const Label*> by_key_;
};

/// A NodeChoice, compiled strictly: one wrong requirement makes the whole selector wrong, as for selectors of volumes.
/// Immutable, so any thread may use it; keeps views of the choice, which must outlive it.
class NodeMatcher {
 public:
  explicit NodeMatcher(const NodeChoice& choice);
  /// Empty: the selector is good, or none is used. Else what is wrong with it.
  const std::string& error() const { return error_; }
  bool matches(const NodeLabels& node) const;

 private:
  enum class Operation : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };
  struct Requirement {
    std::string_view key;
    Operation operation = Operation::in;
    const std::vector<std::string>* values = nullptr;
    std::int64_t bound = 0;
    bool is_field = false;
  };
  std::string compile(const NodeSelector& selector);
  static bool holds(const Requirement& requirement, const NodeLabels& node);

  std::string_view node_name_;
  bool all_nodes_ = false;
  std::string error_;
  std::vector<std::vector<Requirement>> terms_;
};

}  // namespace berth::dra
