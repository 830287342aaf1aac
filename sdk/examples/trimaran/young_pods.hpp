// SPDX-License-Identifier: Apache-2.0
/// Cores of pods that came to nodes so lately that a measured load does not have them yet.
///
/// Units:   milli-cores; seconds of the wall clock. Threads: that of the cycle.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/trimaran/handler.go. Departs: pods that were there before are not young.
#pragma once
#include <berth/placed_pods.hpp>

#include <map>
#include <string>
#include <vector>

namespace trimaran {

class YoungPods {
 public:
  /// A pod is young until a reading is this much younger than the pod's time on its node.
  static constexpr std::int64_t k_reporting_seconds = 60;

  /// cores_of(Pod): what the pod is predicted to use. Costs what came and went, and all young pods when the reading is new.
  template <class CoresOf>
  void follow(const berth::Pods& pods, const berth::Cycle& cycle, std::int64_t now_s, std::int64_t read_s,
              CoresOf&& cores_of) {
    touched_.clear();
    followed_.follow(
        pods, cycle,
        [&] {
          counts_all_ = true;
          for (auto& [uid, each] : by_uid_) each.count = 0;
        },
        [&](const berth::PlacedPod& placed, int by) {
          auto at = by_uid_.find(placed.pod().uid());
          if (at == by_uid_.end()) {
            if (counts_all_ && !has_counted_ && !placed.is_assumed()) return;
            // What changed in something comes and goes: it is forgotten below.
            at = by_uid_.emplace(placed.pod().uid(), Young{placed.node(), now_s, cores_of(placed.pod()), 0, false})
                     .first;
          }
          at->second.count += by;
          touched_.push_back(at->first);
        });
    if (counts_all_ || read_s != read_s_) {
      touched_.clear();
      for (const auto& [uid, each] : by_uid_) touched_.push_back(uid);
    }
    has_counted_ = true;
    counts_all_ = false;
    read_s_ = read_s;
    for (const std::string& uid : touched_)
      if (const auto at = by_uid_.find(uid); at != by_uid_.end()) settle(at);
  }
  /// As of the last follow().
  std::int64_t cores_on(berth::Slot node) const noexcept { return node < by_slot_.size() ? by_slot_[node] : 0; }

 private:
  struct Young {
    berth::Slot node;  ///< its node, while the pod is on it: when a node goes, its pods go
    std::int64_t since_s;
    std::int64_t cores;
    int count;
    bool is_in_sum;
  };
  using ByUid = std::map<std::string, Young, std::less<>>;

  void settle(ByUid::iterator at) {
    Young& young = at->second;
    const bool stays = young.count > 0 && read_s_ - young.since_s < k_reporting_seconds;
    if (young.node >= by_slot_.size()) by_slot_.resize(young.node + std::size_t{1}, 0);
    if (stays != young.is_in_sum) by_slot_[young.node] += stays ? young.cores : -young.cores;
    young.is_in_sum = stays;
    if (!stays) by_uid_.erase(at);
  }

  berth::PlacedPodsFollowed followed_;
  ByUid by_uid_;
  std::vector<std::int64_t> by_slot_;  ///< sums
  std::vector<std::string> touched_;   ///< of follow(), kept for its memory
  std::int64_t read_s_ = 0;
  bool has_counted_ = false, counts_all_ = false;
};

}  // namespace trimaran
