// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/guarded.hpp"
#include "model/pod.hpp"

namespace berth::cache {

/// "namespace/name".
inline std::string group_key(std::string_view ns, std::string_view name) {
  return std::string(ns).append("/").append(name);
}
inline std::string group_key(const model::Pod& pod, std::string_view name) { return group_key(pod.ns, name); }

/// The pods of each group, pending ones and those of other schedulers too; finished and deleted pods are gone.
///
/// Its place: ingest writes what the API server said; the group cycle and plugins that count members read it.
///
/// Threads:   synchronises itself (one mutex, leaf of the lock order).
class PodGroups {
 public:
  PodGroups() = default;
  PodGroups(const PodGroups&) = delete;
  PodGroups& operator=(const PodGroups&) = delete;

  /// The pod is there, or changed. `name`: of its group within its namespace; empty: it is in none.
  void put(const model::PodPtr& pod, std::string_view name);
  void remove(const model::Pod& pod);

  /// In order of uid. `ns` and `name` as the pods say.
  std::vector<model::PodPtr> members(std::string_view ns, std::string_view name) const;
  std::size_t group_count() const;

 private:
  using Members = std::map<std::string, model::PodPtr, std::less<>>;  // by uid
  using Groups = std::map<std::string, Members, std::less<>>;         // by key
  using Places = std::unordered_map<model::Uid, Groups::iterator>;

  void take_out(Places::iterator place) REQUIRES(mutex_);

  mutable Mutex mutex_;
  Groups groups_ GUARDED_BY(mutex_);
  Places places_ GUARDED_BY(
      mutex_);  // of members; pods of no group are looked for as well, and their uids stay the 16 bytes they are
};

}  // namespace berth::cache
