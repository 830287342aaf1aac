// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/guarded.hpp"
#include "base/symbols.hpp"

namespace berth::cache {

/// Dense number of a resource name in this process.
using ResourceIndex = std::uint32_t;
inline constexpr ResourceIndex k_cpu = 0, k_memory = 1, k_ephemeral_storage = 2;
inline constexpr ResourceIndex k_first_scalar = 3;
inline constexpr ResourceIndex k_no_resource = 0xffffffff;

/// Gives the resources that nodes offer, and those that plugins bind columns for, dense numbers, so that amounts are
/// arrays. What pods ask for without any node that offers it has none: it is insufficient everywhere.
/// Bound:   k_numbers_max names at once. A name beyond them has no number: no node is seen to offer it.
/// Threads: synchronises itself.
class ResourceTable {
 public:
  static constexpr std::size_t k_numbers_max = 1024;

  explicit ResourceTable(SymbolTable& symbols) : symbols_(symbols) {
    for (const char* name : {"cpu", "memory", "ephemeral-storage"}) keep(symbols.intern(name));
  }
  /// The number of a name, or k_no_resource.
  ResourceIndex find(Symbol name) const {
    const ReadLock lock(mutex_);
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? k_no_resource : it->second;
  }
  /// Finds or makes the number of a name; k_no_resource when there are too many. For what nodes offer.
  ResourceIndex index_of(Symbol name) {
    if (const ResourceIndex known = find(name); known != k_no_resource || name == k_no_symbol) return known;
    const WriteLock lock(mutex_);
    if (const auto it = by_name_.find(name); it != by_name_.end()) return it->second;
    ResourceIndex number;
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    } else if (names_.size() < k_numbers_max) {
      number = static_cast<ResourceIndex>(names_.size());
      names_.emplace_back();
    } else {
      ++refused_;
      return k_no_resource;
    }
    symbols_.retain(name);
    names_[number] = {name, false};
    by_name_.emplace(name, number);
    return number;
  }
  /// The same for good: forget() leaves it.
  ResourceIndex keep(Symbol name) {
    const ResourceIndex number = index_of(name);
    const WriteLock lock(mutex_);
    if (number != k_no_resource) names_[number].kept = true;
    return number;
  }
  /// The name of a number, or 0 when it is free.
  Symbol name_of(ResourceIndex number) const {
    const ReadLock lock(mutex_);
    return number < names_.size() ? names_[number].name : k_no_symbol;
  }
  bool may_be_forgotten(ResourceIndex number) const {
    const ReadLock lock(mutex_);
    return number < names_.size() && names_[number].name != k_no_symbol && !names_[number].kept;
  }
  /// Gives a number back. Requires: may_be_forgotten(), and nothing has an amount at it.
  void forget(ResourceIndex number) {
    Symbol name;
    {
      const WriteLock lock(mutex_);
      name = names_[number].name;
      by_name_.erase(name);
      names_[number] = {};
      free_.push_back(number);
    }
    symbols_.release(name);
  }
  std::size_t size() const {
    const ReadLock lock(mutex_);
    return by_name_.size();
  }
  std::size_t bytes() const {
    const ReadLock lock(mutex_);
    return names_.capacity() * sizeof(Name) + free_.capacity() * sizeof(ResourceIndex) +
           by_name_.bucket_count() * sizeof(std::pair<Symbol, ResourceIndex>);
  }
  /// How often a name got no number.
  std::uint64_t refused() const {
    const ReadLock lock(mutex_);
    return refused_;
  }

 private:
  struct Name {
    Symbol name = k_no_symbol;  // 0: free
    bool kept = false;
  };
  SymbolTable& symbols_;
  mutable SharedMutex mutex_;
  boost::unordered_flat_map<Symbol, ResourceIndex> by_name_ GUARDED_BY(mutex_);
  std::vector<Name> names_ GUARDED_BY(mutex_);  // by number
  std::vector<ResourceIndex> free_ GUARDED_BY(mutex_);
  std::uint64_t refused_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::cache
