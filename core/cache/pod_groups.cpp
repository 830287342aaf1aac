// SPDX-License-Identifier: Apache-2.0
#include "cache/pod_groups.hpp"

namespace berth::cache {

void PodGroups::put(const model::Pod* old_pod, const model::PodPtr& pod) {
  if (!name_of_) return;
  const std::string before = old_pod != nullptr ? name_of_(*old_pod) : std::string(), name = name_of_(*pod);
  if (before.empty() && name.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!before.empty() && before != name) take_out(*old_pod, before);
  if (!name.empty()) groups_[key(pod->ns, name)].insert_or_assign(pod->uid, pod);
}

void PodGroups::remove(const model::Pod& pod) {
  if (!name_of_) return;
  const std::string name = name_of_(pod);
  if (name.empty()) return;
  const std::lock_guard lock(mutex_);
  take_out(pod, name);
}

void PodGroups::take_out(const model::Pod& pod, const std::string& name) {
  const auto group = groups_.find(key(pod.ns, name));
  if (group == groups_.end()) return;
  group->second.erase(pod.uid);
  if (group->second.empty()) groups_.erase(group);
}

std::vector<model::PodPtr> PodGroups::members(std::string_view ns, std::string_view name) const {
  std::vector<model::PodPtr> found;
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(key(ns, name));
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
