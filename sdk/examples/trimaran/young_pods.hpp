// SPDX-License-Identifier: Apache-2.0
/// Cores of pods that came to nodes so lately that a measured load does not have them yet.
///
/// Units:   milli-cores; seconds of the wall clock. Threads: that of the cycle.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/trimaran/handler.go. Departs: pods that were there before are not young.
#pragma once
#include <berth/placed_pods.hpp>

#include <map>
#include <string>

namespace trimaran {

class YoungPods {
 public:
  /// A pod is young until a reading is this much younger than the pod's time on its node.
  static constexpr std::int64_t k_reporting_seconds = 60;

  /// cores_of(Pod): what the pod is predicted to use.
  template <class CoresOf>
  void follow(const berth::Pods& pods, const berth::Cycle& cycle, std::int64_t now_s, std::int64_t read_s,
              CoresOf&& cores_of) {
    followed_.follow(
        pods, cycle,
        [&] {
          counts_all_ = true;
          for (auto& [uid, each] : by_uid_) each.count = 0;
        },
        [&](const berth::PlacedPod& placed, int by) {
          const auto at = by_uid_.find(placed.pod().uid());
          if (at != by_uid_.end()) {
            at->second.count += by;
          } else if (has_counted_ || !counts_all_ || placed.is_assumed()) {
            // What changed in something comes and goes: it is forgotten below.
            by_uid_.emplace(placed.pod().uid(), Young{placed.node(), now_s, cores_of(placed.pod()), by});
          }
        });
    has_counted_ = true;
    counts_all_ = false;
    std::erase_if(by_uid_,
                  [&](const auto& each) { return each.second.count <= 0 || !is_young(each.second.since_s, read_s); });
    by_slot_.clear();
    for (const auto& [uid, each] : by_uid_) by_slot_[each.node] += each.cores;
  }
  /// As of the last follow().
  std::int64_t cores_on(berth::Slot node) const noexcept {
    const auto at = by_slot_.find(node);
    return at == by_slot_.end() ? 0 : at->second;
  }

 private:
  struct Young {
    berth::Slot node;  ///< its node, while the pod is on it: when a node goes, its pods go
    std::int64_t since_s;
    std::int64_t cores;
    int count;
  };
  static bool is_young(std::int64_t since_s, std::int64_t read_s) noexcept {
    return read_s - since_s < k_reporting_seconds;
  }

  berth::PlacedPodsFollowed followed_;
  std::map<std::string, Young, std::less<>> by_uid_;
  std::map<berth::Slot, std::int64_t> by_slot_;
  bool has_counted_ = false, counts_all_ = false;
};

}  // namespace trimaran
