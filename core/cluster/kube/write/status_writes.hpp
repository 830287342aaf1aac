// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"

namespace berth::cluster::kube {

/// Status patches of pods on their way: while one waits, what is asked for later about the same pod is added to it, so
/// that a scheduler that decides faster than the server writes leaves at most two for each pod, however often it tries
/// the pod again.
///
/// Threads: any; synchronises itself.
/// Source:  kubernetes v1.36 pkg/scheduler/framework/api_calls/pod_status_patch.go (Merge).
class StatusWrites {
 public:
  using Done = ClusterWriter::Done;
  struct Write {
    std::string pod;  // NAMESPACE/NAME
    std::string uid;
    PodStatusPatch patch;
    std::vector<Done> told;
    std::shared_ptr<Write> before;  // of the same pod, nothing else in between; until this one begins
    std::uint64_t request = 0;      // its number; 0: not handed over yet
    bool begun = false, urgent = false, written = false;
  };
  using WritePtr = std::shared_ptr<Write>;

  /// Null when it goes with one that waits already; else the caller lines it up.
  WritePtr add(const PodRef& pod, const PodStatusPatch& patch, Done done);

  /// Whether one of the pod waits or is under way, with no other write behind it.
  bool has(const PodRef& pod) const;
  /// Something urgent about the pod is asked for, which must not wait for patches that are not. Returns the requests
  /// that are to be made urgent.
  std::vector<std::uint64_t> cancel_wait(const std::string& pod);
  /// As cancel_wait(), for what is no patch of the status: what comes after it is not added to what comes before.
  std::vector<std::uint64_t> close(const std::string& pod);

  struct Begun {
    PodStatusPatch patch;
    bool urgent = false;
    bool is_repeated = false;  // the server has just been told this
  };
  /// From here on nothing is added.
  Begun begin(Write& write);
  /// Which request it became. True: it is urgent by now.
  bool handed_over(Write& write, std::uint64_t request);
  /// Who is to be told.
  std::vector<Done> end(const WritePtr& write, bool written);

 private:
  std::vector<std::uint64_t> make_urgent(const std::string& pod) REQUIRES(mutex_);

  mutable Mutex mutex_;  // guards every Write as well; held for no call
  std::unordered_map<std::string, WritePtr> last_of_ GUARDED_BY(mutex_);  // by pod: the newest, nothing else behind it
};

}  // namespace berth::cluster::kube
