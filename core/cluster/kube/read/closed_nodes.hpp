// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cluster::kube {

/// Nodes that take no new pods because it is not known what is on them: a pod there, or the node itself, cannot be read.
/// Each is closed by the object that cannot be read (its owner), and open again when there is none left.
///
/// Memory:  one entry for each such object that exists.
/// Threads: the counts from any; everything else under one lock of the caller.
class ClosedNodes {
 public:
  /// `node` empty: it is not known where the owner is. `round`: the list that the owner was last seen in. Returns nodes
  /// that may have changed.
  std::vector<std::string> close(const std::string& owner, const std::string& node, std::uint64_t round);
  std::vector<std::string> release(std::string_view owner);
  /// Releases owners that begin so and were not seen in that list.
  std::vector<std::string> release_unseen(std::string_view prefix, std::uint64_t round);
  bool is_closed(std::string_view node) const { return by_node_.find(node) != by_node_.end(); }

  std::size_t closed_count() const noexcept { return closed_; }
  /// Owners that may be on any node.
  std::size_t unplaced_count() const noexcept { return unplaced_; }

 private:
  struct Owner {
    std::string node;
    std::uint64_t round = 0;
  };
  using Owners = std::map<std::string, Owner, std::less<>>;
  std::string drop(Owners::const_iterator owner);

  Owners owners_;
  std::map<std::string, std::size_t, std::less<>> by_node_;  // how many owners
  std::atomic<std::size_t> closed_{0}, unplaced_{0};
};

}  // namespace berth::cluster::kube
