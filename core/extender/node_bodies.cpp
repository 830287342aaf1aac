// SPDX-License-Identifier: Apache-2.0
#include "extender/node_bodies.hpp"
#include "base/guarded.hpp"

namespace berth::extender {

void NodeBodies::append_list(std::string& out, extender::Extender::Nodes nodes) {
  const Lock lock(mutex_);
  if (bodies_.size() >= sweep_at_) {
    // A node that was replaced has no other holder left.
    std::erase_if(bodies_, [](const auto& entry) { return entry.second.node.use_count() == 1; });
    sweep_at_ = 2 * bodies_.size() + 64;
  }
  out += '[';
  for (const model::NodePtr& node : nodes) {
    const auto [at, is_new] = bodies_.try_emplace(node.get());
    if (is_new) at->second = {node, node->body.text()};
    if (out.back() != '[') out += ',';
    out += at->second.text;
  }
  out += ']';
}

std::size_t NodeBodies::count() const {
  const Lock lock(mutex_);
  return bodies_.size();
}

}  // namespace berth::extender
