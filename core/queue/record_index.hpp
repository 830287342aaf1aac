// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_set.hpp>

#include "queue/record.hpp"

/// Private to core/queue: finds records by name or by uid without building a key. Each record holds its hashes.
namespace berth::queue {

struct ByName {
  static std::uint64_t hash(const Record& r) noexcept { return r.name_hash; }
  static std::uint64_t hash(const model::Pod& p) noexcept { return hash_of_name(p); }
  static bool equal(const model::Pod& a, const model::Pod& b) noexcept { return a.name == b.name && a.ns == b.ns; }
};
struct ByUid {
  static std::uint64_t hash(const Record& r) noexcept { return r.uid_hash; }
  static std::uint64_t hash(const model::Pod& p) noexcept { return hash_of_uid(p); }
  static bool equal(const model::Pod& a, const model::Pod& b) noexcept { return a.uid == b.uid; }
};

template <typename By>
class RecordIndex {
 public:
  Record* find(const model::Pod& pod) const {
    const auto it = set_.find(pod);
    return it == set_.end() ? nullptr : *it;
  }
  bool contains(const model::Pod& pod) const { return set_.find(pod) != set_.end(); }
  /// Returns false when another record holds the key.
  bool insert(Record& record) { return set_.insert(&record).second; }
  void erase(const Record& record) {
    const auto it = set_.find(*record.pod);
    if (it != set_.end() && *it == &record) set_.erase(it);
  }
  std::size_t size() const noexcept { return set_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;  // std::hash of strings mixes well
    std::size_t operator()(const Record* r) const noexcept { return By::hash(*r); }
    std::size_t operator()(const model::Pod& p) const noexcept { return By::hash(p); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Record* a, const Record* b) const noexcept { return By::equal(*a->pod, *b->pod); }
    bool operator()(const model::Pod& a, const Record* b) const noexcept { return By::equal(a, *b->pod); }
    bool operator()(const Record* a, const model::Pod& b) const noexcept { return By::equal(*a->pod, b); }
  };
  boost::unordered_flat_set<Record*, Hash, Equal> set_;
};

}  // namespace berth::queue
