// SPDX-License-Identifier: Apache-2.0
#include "cache/image_table.hpp"

#include <algorithm>

namespace berth::cache {
namespace {

/// The node's image names, each once, with the size of the entry that names it first.
template <typename Body>
void each_name(const model::Node& node, Body&& body) {
  boost::unordered_flat_map<Symbol, char> seen;
  for (const model::NodeImage& image : node.images)
    for (const Symbol name : image.names)
      if (seen.emplace(name, 0).second) body(name, image.size_bytes);
}

}  // namespace

void ImageTable::add(const model::Node& node) {
  if (node.images.empty()) return;
  ++generation_;
  each_name(node, [&](Symbol name, std::int64_t size_bytes) {
    Entry& entry = entries_[name];
    if (entry.node_count++ == 0) entry.size_bytes = size_bytes;
  });
}

void ImageTable::remove(const model::Node& node) {
  if (node.images.empty()) return;
  ++generation_;
  each_name(node, [&](Symbol name, std::int64_t) {
    const auto it = entries_.find(name);
    if (it != entries_.end() && --it->second.node_count == 0) entries_.erase(it);
  });
}

void ImageTable::list(const model::Node& node, std::vector<ImageState>& out) const {
  out.clear();
  each_name(node, [&](Symbol name, std::int64_t) {
    if (const auto it = entries_.find(name); it != entries_.end())
      out.push_back({name, it->second.node_count, it->second.size_bytes});
  });
  std::sort(out.begin(), out.end(), [](const ImageState& a, const ImageState& b) { return a.name < b.name; });
}

}  // namespace berth::cache
