// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/closed_nodes.hpp"

namespace berth::cluster::kube {

std::string ClosedNodes::drop(Owners::const_iterator owner) {
  std::string node = owner->second.node;
  owners_.erase(owner);
  if (node.empty()) {
    --unplaced_;
    return node;
  }
  const auto count = by_node_.find(node);
  if (--count->second == 0) by_node_.erase(count);
  closed_ = by_node_.size();
  return node;
}

std::vector<std::string> ClosedNodes::close(const std::string& owner, const std::string& node, std::uint64_t round) {
  const auto known = owners_.find(owner);
  if (known != owners_.end() && known->second.node == node) {
    known->second.round = round;
    return {};
  }
  std::vector<std::string> changed = release(owner);
  owners_[owner] = {node, round};
  if (node.empty()) {
    ++unplaced_;
    return changed;
  }
  ++by_node_[node];
  closed_ = by_node_.size();
  changed.push_back(node);
  return changed;
}

std::vector<std::string> ClosedNodes::release(std::string_view owner) {
  const auto known = owners_.find(owner);
  if (known == owners_.end()) return {};
  std::string node = drop(known);
  if (node.empty()) return {};
  return {std::move(node)};
}

std::vector<std::string> ClosedNodes::release_unseen(std::string_view prefix, std::uint64_t round) {
  std::vector<std::string> changed;
  for (auto at = owners_.lower_bound(prefix); at != owners_.end() && at->first.starts_with(prefix);) {
    const auto owner = at++;
    if (owner->second.round == round) continue;
    std::string node = drop(owner);
    if (!node.empty()) changed.push_back(std::move(node));
  }
  return changed;
}

}  // namespace berth::cluster::kube
