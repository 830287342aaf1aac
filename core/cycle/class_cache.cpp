// SPDX-License-Identifier: Apache-2.0
#include <boost/unordered/unordered_flat_map.hpp>
#include <list>

#include "cycle/class_entry.hpp"

namespace berth::cycle {

struct ClassCache::Table {
  struct Node {
    std::uint64_t pod_class = 0;
    std::size_t bytes = 0;
    ClassEntry entry;
  };
  std::list<Node> by_use;  // most recent first
  boost::unordered_flat_map<std::uint64_t, std::list<Node>::iterator> by_class;
  std::size_t bytes = 0;
};

ClassCache::ClassCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}
ClassCache::~ClassCache() = default;

ClassEntry& ClassCache::entry(std::uint64_t pod_class) {
  if (!table_) table_ = std::make_unique<Table>();
  if (const auto it = table_->by_class.find(pod_class); it != table_->by_class.end()) {
    ++counts_.hits;
    table_->by_use.splice(table_->by_use.begin(), table_->by_use, it->second);
    return it->second->entry;
  }
  ++counts_.misses;
  table_->by_use.emplace_front();
  table_->by_use.front().pod_class = pod_class;
  table_->by_class.emplace(pod_class, table_->by_use.begin());
  return table_->by_use.front().entry;
}

void ClassCache::drop(std::uint64_t pod_class) {
  if (!table_) return;
  const auto it = table_->by_class.find(pod_class);
  if (it == table_->by_class.end()) return;
  table_->bytes -= it->second->bytes;
  table_->by_use.erase(it->second);
  table_->by_class.erase(it);
}

std::size_t ClassCache::bytes() const noexcept { return table_ ? table_->bytes : 0; }

void ClassCache::clear() { table_.reset(); }

void ClassCache::settle(std::uint64_t pod_class) {
  if (!table_) return;
  const auto it = table_->by_class.find(pod_class);
  if (it == table_->by_class.end()) return;
  const std::size_t now = it->second->entry.bytes();
  table_->bytes += now - it->second->bytes;
  it->second->bytes = now;
  // The one in use stays, however large.
  while (table_->bytes > max_bytes_ && table_->by_use.size() > 1) {
    ++counts_.evictions;
    drop(table_->by_use.back().pod_class);
  }
}

}  // namespace berth::cycle
