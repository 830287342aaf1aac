// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/symbols.hpp"

namespace berth::cache {

/// Dense number of a resource name in this process.
using ResourceIndex = std::uint32_t;
inline constexpr ResourceIndex k_cpu = 0, k_memory = 1, k_ephemeral_storage = 2;
inline constexpr ResourceIndex k_first_scalar = 3;

/// Gives resource names dense numbers, so that amounts are arrays. Never shrinks; clusters have few names.
/// Threads: synchronises itself.
class ResourceTable {
 public:
  explicit ResourceTable(SymbolTable& symbols) {
    for (const char* name : {"cpu", "memory", "ephemeral-storage"}) index_of(symbols.intern(name));
  }
  ResourceIndex index_of(Symbol name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = by_name_.find(name); it != by_name_.end()) return it->second;
    }
    const std::unique_lock lock(mutex_);
    const auto [it, added] = by_name_.emplace(name, static_cast<ResourceIndex>(by_name_.size()));
    return it->second;
  }
  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return by_name_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  boost::unordered_flat_map<Symbol, ResourceIndex> by_name_;
};

}  // namespace berth::cache
