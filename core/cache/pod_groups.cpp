// SPDX-License-Identifier: Apache-2.0
#include "cache/pod_groups.hpp"
#include "base/guarded.hpp"

namespace berth::cache {

void PodGroups::put(const model::PodPtr& pod, std::string_view name) {
  const Lock lock(mutex_);
  const auto place = places_.find(pod->uid);
  if (name.empty()) return take_out(place);
  const std::string key = group_key(*pod, name);
  if (place != places_.end() && place->second->first != key) take_out(place);
  const auto group = groups_.try_emplace(key).first;
  group->second.insert_or_assign(pod->uid.text(), pod);
  places_.insert_or_assign(pod->uid, group);
}

void PodGroups::remove(const model::Pod& pod) {
  const Lock lock(mutex_);
  take_out(places_.find(pod.uid));
}

void PodGroups::take_out(Places::iterator place) {
  if (place == places_.end()) return;
  const auto group = place->second;
  group->second.erase(place->first.text());
  if (group->second.empty()) groups_.erase(group);
  places_.erase(place);
}

std::vector<model::PodPtr> PodGroups::members(std::string_view ns, std::string_view name) const {
  std::vector<model::PodPtr> found;
  const Lock lock(mutex_);
  const auto group = groups_.find(group_key(ns, name));
  if (group == groups_.end()) return found;
  found.reserve(group->second.size());
  for (const auto& [uid, pod] : group->second) found.push_back(pod);
  return found;
}

std::size_t PodGroups::group_count() const {
  const Lock lock(mutex_);
  return groups_.size();
}

}  // namespace berth::cache
