// SPDX-License-Identifier: Apache-2.0
/// What the policy remembers about groups between attempts. In memory: a restart begins without them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "../shared/guarded.hpp"

namespace coscheduling {

/// Of the groups that are not running, so many are remembered: what was used least recently is forgotten first.
constexpr std::size_t k_records_max = 10'000;

/// Times are wall clock, nanoseconds. Keys are "namespace/name". Threads: synchronises itself; calls no service.
class GroupRecords {
 public:
  /// When the group last failed; empty after it reached its quorum.
  std::optional<std::int64_t> failed_at(const std::string& key) const {
    const guarded::Lock lock(mutex_);
    const auto at = groups_.find(key);
    return at == groups_.end() || at->second.failed_ns == 0 ? std::nullopt : std::optional(at->second.failed_ns);
  }
  void failed(const std::string& key, std::int64_t now_ns) {
    const guarded::Lock lock(mutex_);
    Record& record = at(key);
    record.failed_ns = now_ns;
    record.resources_until_ns = 0;
  }
  void reached_quorum(const std::string& key) {
    const guarded::Lock lock(mutex_);
    erase(groups_.find(key));
  }

  /// A back-off that runs already is not extended.
  void back_off(const std::string& key, std::int64_t now_ns, std::int64_t duration_ns) {
    const guarded::Lock lock(mutex_);
    Record& record = at(key);
    if (record.backoff_until_ns <= now_ns) record.backoff_until_ns = now_ns + duration_ns;
  }
  /// How much longer the group backs off; 0: not at all.
  std::int64_t backoff_left_ns(const std::string& key, std::int64_t now_ns) const {
    const guarded::Lock lock(mutex_);
    const auto found = groups_.find(key);
    return found == groups_.end() ? 0 : std::max<std::int64_t>(found->second.backoff_until_ns - now_ns, 0);
  }

  /// The cluster has had room for the group's minResources; remembered for a while.
  void resources_sufficed(const std::string& key, std::int64_t now_ns, std::int64_t duration_ns) {
    const guarded::Lock lock(mutex_);
    Record& record = at(key);
    record.lacks_resources = false;
    if (record.resources_until_ns <= now_ns) record.resources_until_ns = now_ns + duration_ns;
  }
  bool resources_suffice(const std::string& key, std::int64_t now_ns) const {
    const guarded::Lock lock(mutex_);
    const auto found = groups_.find(key);
    return found != groups_.end() && found->second.resources_until_ns > now_ns;
  }
  void lacks_resources(const std::string& key) {
    const guarded::Lock lock(mutex_);
    at(key).lacks_resources = true;
  }
  /// The group's last attempt ended at its minResources: room anywhere may help.
  bool waits_for_resources(const std::string& key) const {
    const guarded::Lock lock(mutex_);
    const auto found = groups_.find(key);
    return found != groups_.end() && found->second.lacks_resources;
  }

 private:
  struct Record {
    std::int64_t failed_ns = 0, backoff_until_ns = 0, resources_until_ns = 0;
    bool lacks_resources = false;
    std::list<const std::string*>::iterator use;  // in by_use_
  };

  using Groups = std::unordered_map<std::string, Record>;

  /// Makes the record the one that was used last.
  Record& at(const std::string& key) REQUIRES(mutex_) {
    const auto [entry, fresh] = groups_.try_emplace(key);
    if (fresh)
      entry->second.use = by_use_.insert(by_use_.end(), &entry->first);
    else
      by_use_.splice(by_use_.end(), by_use_, entry->second.use);
    if (groups_.size() > k_records_max) erase(groups_.find(*by_use_.front()));
    return entry->second;
  }
  void erase(Groups::iterator entry) REQUIRES(mutex_) {
    if (entry == groups_.end()) return;
    by_use_.erase(entry->second.use);
    groups_.erase(entry);
  }

  mutable guarded::Mutex mutex_;
  Groups groups_ GUARDED_BY(mutex_);
  std::list<const std::string*> by_use_ GUARDED_BY(mutex_);  // keys of groups_, the one used last at the end
};

}  // namespace coscheduling
