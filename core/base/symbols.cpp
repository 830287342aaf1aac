// SPDX-License-Identifier: Apache-2.0
#include "base/symbols.hpp"

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <mutex>

#include "base/check.hpp"

namespace berth {

struct SymbolTable::Index {
  boost::unordered_flat_map<std::string_view, Symbol> by_text;
  std::deque<std::string> storage;  // stable addresses
};

SymbolTable::SymbolTable()
    : index_(std::make_unique<Index>()), chunks_(new std::atomic<std::string_view*>[k_chunk_count]()) {
  chunks_[0].store(new std::string_view[k_chunk_size], std::memory_order_release);
  size_.store(1, std::memory_order_release);  // 0 is "absent"
  const Symbol empty = intern("");
  BERTH_CHECK(empty == k_empty_symbol, "the empty string has symbol {}", empty);
}

SymbolTable::~SymbolTable() {
  for (std::size_t i = 0; i < k_chunk_count; ++i) delete[] chunks_[i].load(std::memory_order_relaxed);
}

Symbol SymbolTable::find(std::string_view text) const {
  const std::shared_lock lock(mutex_);
  const auto it = index_->by_text.find(text);
  return it == index_->by_text.end() ? k_no_symbol : it->second;
}

Symbol SymbolTable::intern(std::string_view text) {
  if (const Symbol known = find(text)) return known;
  const std::unique_lock lock(mutex_);
  const auto it = index_->by_text.find(text);
  if (it != index_->by_text.end()) return it->second;
  const std::size_t next = size_.load(std::memory_order_relaxed);
  const std::size_t chunk = next >> k_chunk_bits;
  BERTH_CHECK(chunk < k_chunk_count, "more than {} distinct strings", k_chunk_count * k_chunk_size);
  if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr)
    chunks_[chunk].store(new std::string_view[k_chunk_size], std::memory_order_release);
  const std::string_view stored = index_->storage.emplace_back(text);
  chunks_[chunk].load(std::memory_order_relaxed)[next & (k_chunk_size - 1)] = stored;
  size_.store(next + 1, std::memory_order_release);
  index_->by_text.emplace(stored, static_cast<Symbol>(next));
  return static_cast<Symbol>(next);
}

std::string_view SymbolTable::text(Symbol symbol) const noexcept {
  if (symbol >= size_.load(std::memory_order_acquire)) return {};
  return chunks_[symbol >> k_chunk_bits].load(std::memory_order_acquire)[symbol & (k_chunk_size - 1)];
}

}  // namespace berth
