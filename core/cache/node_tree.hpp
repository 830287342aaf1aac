// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "model/node.hpp"

namespace berth::cache {

/// Node names by zone, and the zone-interleaved list in which nodes are visited.
/// Source: kubernetes v1.36 pkg/scheduler/backend/cache/node_tree.go. Threads: the cache's lock.
class NodeTree {
 public:
  explicit NodeTree(SymbolTable& symbols);
  void add(const model::Node& node);
  /// Moves the node when its zone changed; its place inside the zone is otherwise kept.
  void update(const model::Node* before, const model::Node& after);
  /// False when the node was not where its labels say.
  bool remove(const model::Node& node);
  std::size_t size() const noexcept { return size_; }
  /// Index 0 of every zone in order of the zones' first appearance, then index 1 of every zone, ...
  std::vector<Symbol> list() const;

 private:
  struct Zone {
    std::string key;
    std::vector<Symbol> names;
  };
  std::string zone_of(const model::Node& node) const;
  bool remove_from(const std::string& zone, Symbol name);

  SymbolTable& symbols_;
  const Symbol zone_beta_, zone_, region_beta_, region_;
  std::vector<Zone> zones_;
  std::size_t size_ = 0;
};

}  // namespace berth::cache
