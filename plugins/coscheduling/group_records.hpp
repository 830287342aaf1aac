// SPDX-License-Identifier: Apache-2.0
/// What the policy remembers about groups between attempts. In memory: a restart begins anew.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace coscheduling {

/// Times are wall clock, nanoseconds. Keys are "namespace/name". Threads: synchronises itself; calls nobody.
class GroupRecords {
 public:
  /// When the group last failed; empty after it reached its quorum.
  std::optional<std::int64_t> failed_at(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = groups_.find(key);
    return at == groups_.end() || at->second.failed_ns == 0 ? std::nullopt : std::optional(at->second.failed_ns);
  }
  void failed(const std::string& key, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    Record& record = at(key, now_ns);
    record.failed_ns = now_ns;
    record.resources_until_ns = 0;
  }
  void reached_quorum(const std::string& key) {
    const std::lock_guard lock(mutex_);
    groups_.erase(key);
  }

  /// A back-off that runs already is not extended.
  void back_off(const std::string& key, std::int64_t now_ns, std::int64_t duration_ns) {
    const std::lock_guard lock(mutex_);
    Record& record = at(key, now_ns);
    if (record.backoff_until_ns <= now_ns) record.backoff_until_ns = now_ns + duration_ns;
  }
  /// How much longer the group backs off; 0: not at all.
  std::int64_t backoff_left_ns(const std::string& key, std::int64_t now_ns) const {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(key);
    return found == groups_.end() ? 0 : std::max<std::int64_t>(found->second.backoff_until_ns - now_ns, 0);
  }

  /// The cluster has had room for the group's minResources; remembered for a while.
  void resources_sufficed(const std::string& key, std::int64_t now_ns, std::int64_t duration_ns) {
    const std::lock_guard lock(mutex_);
    Record& record = at(key, now_ns);
    record.lacks_resources = false;
    if (record.resources_until_ns <= now_ns) record.resources_until_ns = now_ns + duration_ns;
  }
  bool resources_suffice(const std::string& key, std::int64_t now_ns) const {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(key);
    return found != groups_.end() && found->second.resources_until_ns > now_ns;
  }
  void lacks_resources(const std::string& key, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    at(key, now_ns).lacks_resources = true;
  }
  /// The group's last attempt ended at its minResources: room anywhere may help.
  bool waits_for_resources(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(key);
    return found != groups_.end() && found->second.lacks_resources;
  }

 private:
  struct Record {
    std::int64_t failed_ns = 0, backoff_until_ns = 0, resources_until_ns = 0, used_ns = 0;
    bool lacks_resources = false;
  };
  static constexpr std::size_t k_records_max = 10'000;
  static constexpr std::int64_t k_forgotten_after_ns = 24LL * 3600 * 1'000'000'000;

  Record& at(const std::string& key, std::int64_t now_ns) {
    if (groups_.size() >= k_records_max)
      std::erase_if(groups_, [&](const auto& entry) { return now_ns - entry.second.used_ns > k_forgotten_after_ns; });
    Record& record = groups_[key];
    record.used_ns = now_ns;
    return record;
  }

  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<std::string, Record> groups_;
};

}  // namespace coscheduling
