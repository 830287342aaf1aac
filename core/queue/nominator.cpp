// SPDX-License-Identifier: Apache-2.0
#include "queue/nominator.hpp"

#include <algorithm>

namespace berth::queue {

Symbol Nominator::add(const model::PodPtr& pod, const model::Nomination& nomination) {
  const Symbol before = remove(*pod);
  Symbol node = nomination.node;
  if (nomination.mode == model::Nomination::Mode::keep) {
    node = pod->nominated_node;
    if (node == k_no_symbol) return before;
  }
  const model::PodPtr known = lookup_(*pod);
  // Another pod may have its name by now; then nothing would ever end the nomination.
  if (known == nullptr || known->uid != pod->uid || known->node_name != k_no_symbol) return before;
  by_uid_.insert_or_assign(pod->uid, Entry{node, next_turn_++, pod});
  if (node != k_no_symbol) ++named_;
  return before;
}

void Nominator::update(const model::Pod& old_pod, const model::PodPtr& new_pod) {
  model::Nomination nomination;
  if (old_pod.nominated_node == k_no_symbol && new_pod->nominated_node == k_no_symbol) {
    const auto it = by_uid_.find(old_pod.uid);
    if (it != by_uid_.end()) nomination = model::Nomination::to(it->second.node);
  }
  remove(old_pod);
  add(new_pod, nomination);
}

Symbol Nominator::remove(const model::Pod& pod) {
  if (by_uid_.empty()) return k_no_symbol;
  const auto it = by_uid_.find(pod.uid);
  if (it == by_uid_.end()) return k_no_symbol;
  const Symbol node = it->second.node;
  if (node != k_no_symbol) --named_;
  by_uid_.erase(it);
  return node;
}

std::vector<model::NominatedPod> Nominator::list(const RecordIndex<ByName>& queued) const {
  std::vector<const Entry*> entries;
  for (const auto& [uid, entry] : by_uid_)
    if (entry.node != k_no_symbol) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->turn < b->turn; });
  std::vector<model::NominatedPod> result;
  result.reserve(entries.size());
  for (const Entry* entry : entries) {
    if (const Record* record = queued.find(*entry->pod)) {
      result.push_back({entry->node, record->pod});
      continue;
    }
    auto stub = std::make_shared<model::Pod>();
    stub->ns = entry->pod->ns;
    stub->ns_symbol = entry->pod->ns_symbol;
    stub->name = entry->pod->name;
    stub->uid = entry->pod->uid;
    result.push_back({entry->node, std::move(stub)});
  }
  return result;
}

}  // namespace berth::queue
