// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "cache/node_row.hpp"
#include "model/pod.hpp"

namespace berth::cache {

/// What selectors can tell apart in a pod: namespace, labels, affinity terms, "is terminating".
/// The exemplar is any pod of that shape; only those fields of it may be read.
struct Shape {
  model::PodPtr exemplar;  // null: free id
  std::uint32_t pods = 0;  // in the cache, all nodes
};

/// Numbers for shapes. Clusters have few shapes and many pods.
/// Lifetime: an id is reused after its last pod was released and recycle() was called: until then a holder may still
/// have to let go of it. Threads: the cache's lock.
class ShapeTable {
 public:
  /// Finds or makes the shape of a pod and counts it.
  ShapeId acquire(const model::PodPtr& pod);
  void release(ShapeId shape);
  /// Released ids may be given out again.
  void recycle();
  const Shape& at(ShapeId shape) const { return shapes_[shape]; }
  std::size_t size() const noexcept { return shapes_.size(); }  // free ids included
  /// Without the exemplars, which the cache keeps.
  std::size_t bytes() const noexcept {
    return shapes_.capacity() * sizeof(Shape) + (free_.capacity() + released_.capacity()) * sizeof(ShapeId) +
           by_hash_.bucket_count() * sizeof(std::pair<std::size_t, std::vector<ShapeId>>) +
           by_hash_.size() * k_bucket_bytes;
  }

 private:
  static constexpr std::size_t k_bucket_bytes = 32;  // the block of a list of one id

  std::vector<Shape> shapes_;
  std::vector<ShapeId> free_, released_;
  boost::unordered_flat_map<std::size_t, std::vector<ShapeId>> by_hash_;
};

/// True when two pods have the same shape.
bool same_shape(const model::Pod& a, const model::Pod& b) noexcept;
std::size_t shape_hash(const model::Pod& pod) noexcept;

}  // namespace berth::cache
