// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "queue/record.hpp"

/// Private to core/queue.
namespace berth::queue {

/// What an event means for a waiting pod.
enum class Requeue : std::uint8_t {
  skip,           // nothing; the pod keeps waiting
  after_backoff,  // worth another attempt once its back-off is over
  immediately,    // a plugin that was only waiting says so: no back-off
};

/// Asks the hints what an event means for waiting pods.
/// Source: kubernetes v1.36 pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
class Judge {
 public:
  explicit Judge(const HintTable& hints) : hints_(hints) {}

  /// requeues[i] belongs to records[i].
  void judge(const model::ClusterEvent& event, const model::EventObjects& objects, std::span<Record* const> records,
             std::vector<Requeue>& requeues);
  Requeue judge_one(const model::ClusterEvent& event, const model::EventObjects& objects, Record& record);

 private:
  void ask(const Registration& registration, std::uint16_t profile, const model::ClusterEvent& event,
           const model::EventObjects& objects, std::span<Record* const> records, std::vector<Requeue>& requeues);

  const HintTable& hints_;
  // Kept between calls so that an event costs no allocations.
  std::vector<std::uint8_t> open_;  // open_[i]: the hints may still change requeues[i]
  std::vector<const model::PodPtr*> pods_;
  std::vector<std::uint32_t> asked_;   // index of the record each pod of pods_ stands for
  std::vector<std::uint32_t> answer_;  // for each record of asked_: index into pods_
  std::vector<std::uint64_t> bits_;
  std::vector<Requeue> one_;
};

}  // namespace berth::queue
