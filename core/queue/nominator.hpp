// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <vector>

#include "queue/nomination.hpp"
#include "queue/record_index.hpp"
#include "queue/scheduling_queue.hpp"

/// Private to core/queue.
namespace berth::queue {

/// Which pods are nominated to which node. A nomination to no node is kept too: it is how "cleared" outlives the pod's
/// status. Source: kubernetes v1.36 pkg/scheduler/backend/queue/nominator.go.
class Nominator {
 public:
  explicit Nominator(const PodLookup& lookup) : lookup_(lookup) {}

  /// Returns the node that the pod was nominated before.
  Symbol add(const model::PodPtr& pod, const model::Nomination& nomination);
  /// A queued pod changed: what memory says survives when neither version's status says anything.
  void update(const model::Pod& old_pod, const model::PodPtr& new_pod);
  Symbol remove(const model::Pod& pod);
  /// Number of pods nominated to a node that exists by name.
  std::size_t named() const noexcept { return named_; }
  std::vector<model::NominatedPod> list(const RecordIndex<ByName>& queued) const;

 private:
  struct Entry {
    Symbol node = k_no_symbol;
    std::uint64_t turn = 0;  // order within a node
    model::PodPtr pod;       // for its names only
  };
  const PodLookup& lookup_;
  boost::unordered_flat_map<std::string, Entry> by_uid_;
  std::uint64_t next_turn_ = 0;
  std::size_t named_ = 0;
};

}  // namespace berth::queue
