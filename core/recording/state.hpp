// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "recording/held_bytes.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// So many changes that come between a look and its attempt are kept for the next decision; a decision with more of
/// them, which no berth writes, sees them.
inline constexpr std::size_t k_held_max = 8'192, k_held_bytes_max = std::size_t{64} << 20;

/// The cluster as the records up to some moment say it is. Budget: HeldBytes::k_bytes_max; a larger cluster is not
/// known, until a whole state follows that is not.
class State {
 public:
  /// Takes in what changes the cluster; everything else changes nothing. An attempt that gave its pod a node counts:
  /// the pod is on it until a record says otherwise.
  void apply(const Record& record);
  /// state_begins, the cluster, state_ends: what another State needs to be equal to this one.
  std::vector<Record> records(std::int64_t at_ns) const;
  bool is_complete() const noexcept { return is_complete_; }
  /// Why it is not: the last one was too large.
  bool is_too_large() const noexcept { return is_too_large_; }
  void clear();

  std::size_t nodes() const noexcept { return node_places_.size(); }
  std::size_t placed_pods() const noexcept { return placed_.size(); }
  /// Pods without a node; one that an attempt gave a node has one.
  std::size_t waiting_pods() const noexcept { return waiting_.size() - waiting_with_node_.size(); }
  std::size_t objects() const noexcept { return objects_.size(); }

 private:
  struct Placed {
    model::PodPtr pod;
    std::string assumed_on;
  };
  void pod_changed(const std::string& uid);

  // In the order in which they came: that of the list of nodes depends on it.
  std::map<std::size_t, model::NodePtr> nodes_;
  std::map<std::string, std::size_t> node_places_;
  std::size_t next_place_ = 0;
  std::map<std::string, Placed> placed_;          // by uid
  std::map<std::string, model::PodPtr> waiting_;  // by uid
  std::set<std::string> waiting_with_node_;       // uids that are in both
  std::map<std::tuple<std::string, std::string, std::string>, model::ObjectPtr> objects_;
  std::shared_ptr<const std::vector<Nominated>> nominations_;
  bool is_complete_ = false;    // since a run began, or a whole state was read, nothing is missing
  bool is_being_read_ = false;  // a whole state has begun, and nothing of it is missing so far
  bool is_too_large_ = false;
  HeldBytes held_;

 public:
  /// A run begins with nothing known.
  void begin_run() {
    clear();
    is_complete_ = true;
  }
};

}  // namespace berth::recording
