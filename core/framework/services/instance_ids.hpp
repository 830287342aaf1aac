// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>

#include "base/guarded.hpp"
#include "base/symbols.hpp"

namespace berth::framework {

/// Symbols that an instance has interned after its creation: they stay as long as it does.
///
/// Threads: synchronises itself. Bound: k_most symbols; `pinned_symbols` of berth_table_bytes counts them.
class InstanceIds {
 public:
  static constexpr std::size_t k_most = 65'536;

  explicit InstanceIds(SymbolTable& symbols) : symbols_(symbols) {}
  ~InstanceIds() {
    const Lock lock(mutex_);
    for (const Symbol symbol : kept_) symbols_.unpin(symbol);
  }
  InstanceIds(const InstanceIds&) = delete;
  InstanceIds& operator=(const InstanceIds&) = delete;

  /// False: there are too many. Requires: the symbol was interned just now.
  bool keep(Symbol symbol) {
    const Lock lock(mutex_);
    if (kept_.contains(symbol)) return true;
    if (kept_.size() >= k_most) return false;
    symbols_.pin(symbol);
    kept_.insert(symbol);
    return true;
  }

 private:
  SymbolTable& symbols_;
  mutable Mutex mutex_;  // before that of the symbols
  boost::unordered_flat_set<Symbol> kept_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
