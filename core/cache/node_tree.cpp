// SPDX-License-Identifier: Apache-2.0
#include "cache/node_tree.hpp"

#include <algorithm>

namespace berth::cache {

NodeTree::NodeTree(SymbolTable& symbols)
    : symbols_(symbols),
      zone_beta_(symbols.intern("failure-domain.beta.kubernetes.io/zone")),
      zone_(symbols.intern("topology.kubernetes.io/zone")),
      region_beta_(symbols.intern("failure-domain.beta.kubernetes.io/region")),
      region_(symbols.intern("topology.kubernetes.io/region")) {}

std::string NodeTree::zone_of(const model::Node& node) const {
  const auto label = [&](Symbol beta, Symbol stable) -> std::string_view {
    std::string_view found;
    for (const model::Label& l : node.labels) {
      if (l.key == beta) return symbols_.text(l.value);
      if (l.key == stable) found = symbols_.text(l.value);
    }
    return found;
  };
  const std::string_view zone = label(zone_beta_, zone_), region = label(region_beta_, region_);
  if (zone.empty() && region.empty()) return {};
  // The separator cannot stand in a label value, so two different pairs never share a key.
  std::string key(region);
  key.append(":\0:", 3).append(zone);
  return key;
}

void NodeTree::add(const model::Node& node) {
  const std::string key = zone_of(node);
  auto zone = std::find_if(zones_.begin(), zones_.end(), [&](const Zone& z) { return z.key == key; });
  if (zone == zones_.end()) zone = zones_.insert(zones_.end(), Zone{key, {}});
  if (std::find(zone->names.begin(), zone->names.end(), node.name_symbol) != zone->names.end()) return;
  zone->names.push_back(node.name_symbol);
  ++size_;
}

bool NodeTree::remove_from(const std::string& key, Symbol name) {
  const auto zone = std::find_if(zones_.begin(), zones_.end(), [&](const Zone& z) { return z.key == key; });
  if (zone == zones_.end()) return false;
  const auto at = std::find(zone->names.begin(), zone->names.end(), name);
  if (at == zone->names.end()) return false;
  zone->names.erase(at);
  --size_;
  if (zone->names.empty()) zones_.erase(zone);
  return true;
}

bool NodeTree::remove(const model::Node& node) { return remove_from(zone_of(node), node.name_symbol); }

void NodeTree::update(const model::Node* before, const model::Node& after) {
  const std::string old_key = before != nullptr ? zone_of(*before) : std::string();
  if (before != nullptr && old_key == zone_of(after)) return;
  remove_from(old_key, after.name_symbol);
  add(after);
}

std::vector<Symbol> NodeTree::list() const {
  std::vector<Symbol> names;
  names.reserve(size_);
  for (std::size_t index = 0; names.size() < size_; ++index)
    for (const Zone& zone : zones_)
      if (index < zone.names.size()) names.push_back(zone.names[index]);
  return names;
}

}  // namespace berth::cache
