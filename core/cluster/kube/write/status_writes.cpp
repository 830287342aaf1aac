// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/write/status_writes.hpp"

#include <algorithm>

#include "base/guarded.hpp"

namespace berth::cluster::kube {
namespace {

void merge(PodStatusPatch& into, const PodStatusPatch& later) {
  for (const model::PodCondition& condition : later.conditions) {
    const auto same = std::find_if(into.conditions.begin(), into.conditions.end(),
                                   [&](const model::PodCondition& c) { return c.type == condition.type; });
    if (same == into.conditions.end())
      into.conditions.push_back(condition);
    else
      *same = condition;
  }
  if (!later.conditions.empty()) into.observed_generation = later.observed_generation;
  if (later.nominated_node) into.nominated_node = later.nominated_node;
}

}  // namespace

StatusWrites::WritePtr StatusWrites::add(const PodRef& pod, const PodStatusPatch& patch, Done done) {
  const Lock lock(mutex_);
  WritePtr& last = last_of_[pod.ns + "/" + pod.name];
  // Free merge patches are a plugin's own; in which order they count is not ours to decide.
  const bool is_free = last != nullptr && !last->begun && last->uid == pod.uid && last->patch.merge_json.empty();
  if (is_free && patch.merge_json.empty()) {
    merge(last->patch, patch);
    last->urgent = last->urgent || patch.urgent;
    last->told.push_back(std::move(done));
    return nullptr;
  }
  auto write = std::make_shared<Write>();
  write->pod = pod.ns + "/" + pod.name;
  write->uid = pod.uid;
  write->patch = patch;
  write->urgent = patch.urgent;
  write->told.push_back(std::move(done));
  write->before = std::exchange(last, write);
  return write;
}

bool StatusWrites::has(const PodRef& pod) const {
  const Lock lock(mutex_);
  const auto found = last_of_.find(pod.ns + "/" + pod.name);
  return found != last_of_.end() && found->second->uid == pod.uid;
}

std::vector<std::uint64_t> StatusWrites::make_urgent(const std::string& pod) {
  std::vector<std::uint64_t> requests;
  const auto found = last_of_.find(pod);
  if (found == last_of_.end()) return requests;
  for (Write* write = found->second.get(); write != nullptr; write = write->before.get()) {
    write->urgent = true;
    if (write->request != 0) requests.push_back(write->request);
  }
  return requests;
}

std::vector<std::uint64_t> StatusWrites::cancel_wait(const std::string& pod) {
  const Lock lock(mutex_);
  return make_urgent(pod);
}

std::vector<std::uint64_t> StatusWrites::close(const std::string& pod) {
  const Lock lock(mutex_);
  std::vector<std::uint64_t> requests = make_urgent(pod);
  last_of_.erase(pod);
  return requests;
}

StatusWrites::Begun StatusWrites::begin(Write& write) {
  const Lock lock(mutex_);
  write.begun = true;
  const WritePtr before = std::exchange(write.before, nullptr);
  const bool is_repeated = before != nullptr && before->written && before->uid == write.uid &&
                           write.patch.merge_json.empty() && before->patch == write.patch;
  return {write.patch, write.urgent, is_repeated};
}

bool StatusWrites::handed_over(Write& write, std::uint64_t request) {
  const Lock lock(mutex_);
  write.request = request;
  return write.urgent;
}

std::vector<StatusWrites::Done> StatusWrites::end(const WritePtr& write, bool written) {
  const Lock lock(mutex_);
  write->written = written;
  const auto found = last_of_.find(write->pod);
  if (found != last_of_.end() && found->second == write) last_of_.erase(found);
  return std::exchange(write->told, {});
}

}  // namespace berth::cluster::kube
