// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "cache/node_row.hpp"
#include "model/node.hpp"

namespace berth::cache {

/// Which images exist in the cluster, their size as first reported, and on how many nodes.
/// Source: kubernetes v1.36 pkg/scheduler/backend/cache/cache.go (imageStates). Threads: the cache's lock.
class ImageTable {
 public:
  void add(const model::Node& node);
  void remove(const model::Node& node);
  /// Grows with every change; a row computed at an older generation may show older counts, as upstream's copies do.
  std::uint64_t generation() const noexcept { return generation_; }
  /// The node's images with current counts, sorted by name symbol, each name once.
  void list(const model::Node& node, std::vector<ImageState>& out) const;

 private:
  struct Entry {
    std::int64_t size_bytes = 0;
    std::uint32_t node_count = 0;
  };
  boost::unordered_flat_map<Symbol, Entry> entries_;
  std::uint64_t generation_ = 1;
};

}  // namespace berth::cache
