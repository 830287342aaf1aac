// SPDX-License-Identifier: Apache-2.0
#include "queue/rules/requeue.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/bitmap.hpp"
#include "observe/log.hpp"

namespace berth::queue {

namespace {

/// What can be said without asking a hint; `open` when the hints have to say.
Requeue without_hints(const HintTable& hints, const model::ClusterEvent& event, const model::EventObjects& objects,
                      const Record& record, std::uint8_t& open) {
  open = 0;
  if (record.rejectors().empty()) return Requeue::after_backoff;
  if (event.wildcard()) {
    // An activation carries the pod it is meant for.
    const bool is_about_another_pod = (objects.new_pod != nullptr && objects.new_pod->uid != record.pod->uid) ||
                                      objects.new_node != nullptr || objects.new_object != nullptr;
    return is_about_another_pod ? Requeue::skip : Requeue::after_backoff;
  }
  if (record.profile >= hints.profile_count()) {
    observe::error("No QueueingHintMap is registered for this profile",
                   {{"profile", record.pod->scheduler_name.get()}, {"pod", *record.pod}});
    return Requeue::after_backoff;
  }
  open = 1;
  return Requeue::skip;
}

}  // namespace

void Judge::judge(const model::ClusterEvent& event, const model::EventObjects& objects,
                  std::span<Record* const> records, std::vector<Requeue>& requeues) {
  requeues.resize(records.size());
  open_.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    requeues[i] = without_hints(hints_, event, objects, *records[i], open_[i]);
  if (event.wildcard()) return;
  for (std::size_t p = 0; p < hints_.profile_count(); ++p)
    for (const Registration& registration : hints_.profile(p).registrations)
      if (model::matches(registration.registered, event))
        ask(registration, static_cast<std::uint16_t>(p), event, objects, records, requeues);
}

void Judge::ask(const Registration& registration, std::uint16_t profile, const model::ClusterEvent& event,
                const model::EventObjects& objects, std::span<Record* const> records, std::vector<Requeue>& requeues) {
  pods_.clear();
  asked_.clear();
  answer_.clear();
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> of_class;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = *records[i];
    if (open_[i] == 0 || record.profile != profile) continue;
    const bool only_waits = record.pending.contains(registration.plugin);
    if (!only_waits && !record.unschedulable.contains(registration.plugin)) continue;
    if (!only_waits && requeues[i] == Requeue::after_backoff) continue;  // could not say anything new
    auto pod_index = static_cast<std::uint32_t>(pods_.size());
    if (registration.hint != nullptr && registration.by_class) {
      const auto [it, first_of_class] = of_class.try_emplace(record.pod_class, pod_index);
      pod_index = it->second;
      if (first_of_class) pods_.push_back(&record.pod);
    } else {
      pods_.push_back(&record.pod);
    }
    asked_.push_back(static_cast<std::uint32_t>(i));
    answer_.push_back(pod_index);
  }
  if (asked_.empty()) return;
  bits_.assign(bitmap::words_for(pods_.size()), registration.hint == nullptr ? ~std::uint64_t{0} : 0);
  if (registration.hint != nullptr) registration.hint(HintCall{event, objects, pods_}, bits_.data());
  for (std::size_t k = 0; k < asked_.size(); ++k) {
    if (!bitmap::test(bits_.data(), answer_[k])) continue;
    const std::uint32_t i = asked_[k];
    if (records[i]->pending.contains(registration.plugin)) {
      requeues[i] = Requeue::immediately;
      open_[i] = 0;
    } else {
      requeues[i] = Requeue::after_backoff;
      if (records[i]->pending.empty()) open_[i] = 0;  // no plugin can turn it into "immediately"
    }
  }
}

Requeue Judge::judge_one(const model::ClusterEvent& event, const model::EventObjects& objects, Record& record) {
  Record* const records[] = {&record};
  judge(event, objects, records, one_);
  return one_[0];
}

}  // namespace berth::queue
