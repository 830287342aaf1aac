// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <list>
#include <utility>

#include "cycle/reuse/allocated_bytes.hpp"
#include "cycle/reuse/class_entry.hpp"

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

ClassCache::ClassCache(ClassCacheBudget budget) : budget_(budget) {}
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

void ClassCache::settle(std::uint64_t pod_class, std::size_t node_count) {
  if (!table_) return;
  const auto it = table_->by_class.find(pod_class);
  if (it == table_->by_class.end()) return;
  constexpr std::size_t k_node_bytes = allocated_bytes(sizeof(Table::Node) + 2 * sizeof(void*)) +
                                       2 * sizeof(std::pair<std::uint64_t, void*>);  // of by_class, half full
  const std::size_t now = it->second->entry.bytes() + k_node_bytes;
  const std::size_t limit =
      std::min(budget_.most_bytes, std::max(k_bytes_at_least, node_count * budget_.bytes_per_node));
  table_->bytes += now - it->second->bytes;
  it->second->bytes = now;
  // The one in use stays, however large.
  while (table_->bytes > limit && table_->by_use.size() > 1) {
    ++counts_.evictions;
    drop(table_->by_use.back().pod_class);
  }
}

}  // namespace berth::cycle
