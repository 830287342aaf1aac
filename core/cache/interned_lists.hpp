// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "base/guarded.hpp"

namespace berth::cache {

inline std::size_t hash_value(std::uint32_t v) noexcept { return v; }

/// Numbers for distinct lists: taint lists, label sets, image lists, port lists. Equal lists have equal numbers; 0 is
/// the empty list. Nodes share few distinct lists, so a policy judges a list once and gathers by number.
///
/// Lifetime: members(id) stays valid until the id is released by retain_only(). T needs == and a hash_value(T) found by
///           ADL.
/// Threads:  intern() and retain_only() lock; members() takes no lock. retain_only() must not run while another thread
///           still uses an id that no marked holder has.
template <typename T>
class InternedLists {
 public:
  InternedLists() : chunks_(new std::atomic<List*>[k_chunk_count]()) { grow_to(1); }
  ~InternedLists() {
    for (std::size_t c = 0; c < k_chunk_count; ++c) delete[] chunks_[c].load(std::memory_order_relaxed);
  }
  InternedLists(const InternedLists&) = delete;
  InternedLists& operator=(const InternedLists&) = delete;

  std::uint32_t intern(std::span<const T> list) {
    if (list.empty()) return 0;
    const Lock lock(mutex_);
    const std::size_t hash = hash_of(list);
    const auto [first, last] = std::pair{by_hash_.find(hash), by_hash_.end()};
    if (first != last) {
      for (const std::uint32_t id : first->second) {
        const List& known = at(id);
        if (known.size() == list.size() && std::equal(known.begin(), known.end(), list.begin())) return id;
      }
    }
    std::uint32_t id;
    if (free_.empty()) {
      id = static_cast<std::uint32_t>(size_);
      grow_to(size_ + 1);
    } else {
      id = free_.back();
      free_.pop_back();
    }
    at(id).assign(list.begin(), list.end());
    by_hash_[hash].push_back(id);
    bytes_ += bytes_of(at(id));
    return id;
  }

  /// Requires: id came from intern(), or is 0.
  std::span<const T> members(std::uint32_t id) const noexcept {
    if (id == 0) return {};
    const List& list = chunks_[id >> k_chunk_bits].load(std::memory_order_acquire)[id & (k_chunk_size - 1)];
    return {list.data(), list.size()};
  }

  /// What those lists take.
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  /// All ids that there are, or were, are below it.
  std::size_t id_limit() const noexcept {
    const Lock lock(mutex_);
    return size_;
  }

  /// Releases every id whose mark is false. marks.size() == id_limit().
  void retain_only(const std::vector<bool>& marks) {
    const Lock lock(mutex_);
    for (std::uint32_t id = 1; id < size_ && id < marks.size(); ++id) {
      List& list = at(id);
      if (marks[id] || list.empty()) continue;
      auto& bucket = by_hash_[hash_of({list.data(), list.size()})];
      std::erase(bucket, id);
      if (bucket.empty()) by_hash_.erase(hash_of({list.data(), list.size()}));
      bytes_ -= bytes_of(list);
      List().swap(list);
      free_.push_back(id);
    }
  }

 private:
  using List = std::vector<T>;
  static constexpr std::size_t k_upkeep_bytes = 64;  // the block and the index
  static constexpr std::size_t k_chunk_bits = 10;
  static constexpr std::size_t k_chunk_size = std::size_t{1} << k_chunk_bits;
  static constexpr std::size_t k_chunk_count = 1 << 14;

  static std::size_t hash_of(std::span<const T> list) {
    using berth::cache::hash_value;
    std::size_t h = list.size();
    for (const T& item : list) h = (h ^ hash_value(item)) * 0x9E3779B97F4A7C15ull + (h >> 29);
    return h;
  }
  static std::size_t bytes_of(const List& list) noexcept {
    return list.capacity() * sizeof(T) + sizeof(List) + k_upkeep_bytes;
  }
  List& at(std::uint32_t id) {
    return chunks_[id >> k_chunk_bits].load(std::memory_order_relaxed)[id & (k_chunk_size - 1)];
  }
  void grow_to(std::size_t size) REQUIRES(mutex_) {
    const std::size_t chunk = (size - 1) >> k_chunk_bits;
    BERTH_CHECK(chunk < k_chunk_count, "more than {} distinct lists", k_chunk_count * k_chunk_size);
    if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr)
      chunks_[chunk].store(new List[k_chunk_size], std::memory_order_release);
    size_ = size;
  }

  mutable Mutex mutex_;
  boost::unordered_flat_map<std::size_t, std::vector<std::uint32_t>> by_hash_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ GUARDED_BY(mutex_);
  std::size_t size_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::size_t> bytes_{0};
  std::unique_ptr<std::atomic<List*>[]> chunks_;  // of published lists
};

}  // namespace berth::cache
