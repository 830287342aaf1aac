// SPDX-License-Identifier: Apache-2.0
#include "cache/pod_groups.hpp"

namespace berth::cache {

void PodGroups::put(const model::PodPtr& pod) {
  if (!name_of_) return;
  const std::string name = name_of_(*pod);
  const std::lock_guard lock(mutex_);
  const auto known = key_of_.find(pod->uid);
  if (name.empty() && known == key_of_.end()) return;
  const std::string key = name.empty() ? std::string() : group_key(*pod, name);
  if (known != key_of_.end() && known->second != key) take_out(pod->uid);
  if (name.empty()) return;
  groups_[key].insert_or_assign(pod->uid, pod);
  key_of_.insert_or_assign(pod->uid, key);
}

void PodGroups::remove(const model::Pod& pod) {
  if (!name_of_) return;
  const std::lock_guard lock(mutex_);
  take_out(pod.uid);
}

void PodGroups::take_out(const std::string& uid) {
  const auto known = key_of_.find(uid);
  if (known == key_of_.end()) return;
  const auto group = groups_.find(known->second);
  group->second.erase(uid);
  if (group->second.empty()) groups_.erase(group);
  key_of_.erase(known);
}

std::vector<model::PodPtr> PodGroups::members(std::string_view ns, std::string_view name) const {
  std::vector<model::PodPtr> found;
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(group_key(ns, name));
  if (group == groups_.end()) return found;
  found.reserve(group->second.size());
  for (const auto& [uid, pod] : group->second) found.push_back(pod);
  return found;
}

std::size_t PodGroups::group_count() const {
  const std::lock_guard lock(mutex_);
  return groups_.size();
}

}  // namespace berth::cache
