// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>

#include "base/guarded.hpp"
#include "base/symbols.hpp"

namespace berth::framework {

/// Symbols that an instance has interned after its creation: they stay as long as it does.
///
/// Pins:    of the plugin are its own: what it unpins once too often is still held here.
/// Threads: synchronises itself. Bound: k_most symbols; `symbols` of berth_table_bytes counts them.
class InstanceIds {
 public:
  static constexpr std::size_t k_most = 65'536;

  explicit InstanceIds(SymbolTable& symbols) : symbols_(symbols) {}
  ~InstanceIds() {
    const Lock lock(mutex_);
    for (const Symbol symbol : kept_) symbols_.release(symbol);
  }
  InstanceIds(const InstanceIds&) = delete;
  InstanceIds& operator=(const InstanceIds&) = delete;

  /// True for the first caller that is told of it: there are too many. Threads: any.
  bool is_first_refusal() noexcept { return !was_refused_.exchange(true); }
  /// False: there are too many. Requires: the symbol was interned just now.
  bool keep(Symbol symbol) {
    const Lock lock(mutex_);
    if (kept_.contains(symbol)) return true;
    if (kept_.size() >= k_most) return false;
    kept_.insert(symbol);
    symbols_.pin(symbol);  // only what is held can be retained
    symbols_.retain(symbol);
    symbols_.unpin(symbol);
    return true;
  }

 private:
  SymbolTable& symbols_;
  mutable Mutex mutex_;  // before that of the symbols
  boost::unordered_flat_set<Symbol> kept_ GUARDED_BY(mutex_);
  std::atomic<bool> was_refused_{false};
};

}  // namespace berth::framework
