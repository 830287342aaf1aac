// SPDX-License-Identifier: Apache-2.0
/// The devices of a cluster, and those of them that a node reaches.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../../guarded.hpp"
#include "prepared_slice.hpp"

namespace berth::dra {

/// One device of a pool, where it stands.
struct PooledDevice {
  const PreparedSlice* slice = nullptr;
  const PreparedDevice* device = nullptr;
};

/// A pool as one node sees it. Immutable.
struct Pool {
  enum class Condition : std::uint8_t {
    usable,
    incomplete,  ///< slices of its generation are missing or surplus: it is being updated
    invalid,     ///< a name twice, or a counter that no slice has
  };
  std::string_view driver;
  std::string_view name;
  std::uint32_t number = 0;  ///< of DeviceIds
  /// Whatever node asks first, the counters of its name are the same: no other pool of that name has counters, and each node that
  /// sees the pool sees it complete, of one generation.
  bool has_plain_counters = true;
  Condition condition = Condition::usable;
  bool has_binding_conditions = false;
  std::vector<PooledDevice> devices;  ///< in order of preference: slices by name, devices as listed; none unless usable
  std::vector<std::shared_ptr<const PreparedSlice>>
      slices;  ///< what is collected, then others that consume its counters
  std::vector<const PreparedSlice*> counter_slices;
};

/// The pools of a node in order of preference. Immutable, and valid for as long as the inventory's slices and the node's name and
/// labels stay: keep it per node.
struct NodePools {
  std::string node_name;
  std::string error;  ///< not empty: no pod with claims can be judged until it is repaired
  std::vector<std::shared_ptr<const Pool>> pools;
  std::vector<std::uint32_t> first_position;  ///< of each pool's devices among all; one more at the end
  std::vector<bool> reachable;  ///< by position; empty: all devices, none is left out by a node selection of its own
  bool has_invalid_pool = false;
  /// What a search finds depends on nothing but these pools, the devices in use among theirs, and the claims.
  bool is_reusable = false;
  std::vector<std::uint32_t> numbers;  ///< of the pools that have devices here
  std::uint64_t serial = 0;            ///< a number of its own for each in the process

  std::uint32_t positions() const { return first_position.back(); }
};

/// All slices of a cluster at one moment. Immutable; any number of threads may gather from it.
/// Making one takes time with the number of slices, not devices.
class Inventory {
 public:
  explicit Inventory(std::vector<std::shared_ptr<const PreparedSlice>> slices);
  std::shared_ptr<const NodePools> gather(const Node& node) const;
  std::size_t slices() const { return slices_.size(); }
  /// By name, as they were given.
  const std::vector<std::shared_ptr<const PreparedSlice>>& all() const { return slices_; }

 private:
  struct Collected {
    std::uint32_t pool = 0;
    std::vector<std::uint32_t> slices;
  };
  struct PoolSlices {
    std::string_view driver;
    std::string_view name;
    std::size_t slices = 0;
    std::int64_t generation = 0;  ///< the newest
    std::int64_t newest = 0;      ///< slices of that generation
    std::uint32_t number = 0;     ///< of DeviceIds
    std::size_t counter_slices = 0;
    bool has_plain_counters = true;
    std::vector<std::uint32_t> consuming;  ///< slices, of any generation, whose devices consume counters
  };
  void find_plain_counters();
  /// Empty: decided.
  std::string is_relevant(const PreparedSlice& slice, const NodeLabels& node, bool& relevant) const;
  std::string collect(const NodeLabels& node, std::vector<Collected>& collected) const;
  std::vector<std::shared_ptr<const Pool>>* kept_pools(const Collected& collected) const;
  /// Null: the node sees only what a newer generation has replaced.
  std::shared_ptr<const Pool> pool_of(const Collected& collected) const;
  static std::string judge_devices(const NodeLabels& node, NodePools& gathered);
  std::shared_ptr<const Pool> build(const Collected& collected, std::span<const std::uint32_t> others) const;

  std::vector<std::shared_ptr<const PreparedSlice>> slices_;
  std::vector<std::uint32_t> pool_of_slice_;
  std::vector<PoolSlices> pools_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> on_node_;
  std::vector<std::uint32_t> shared_;
  mutable guarded::Mutex mutex_;
  /// Pools whose slices are all seen by some node: the same for every such node. And those of which only the counters are
  /// seen, as every node does: there would be one per node and pool otherwise.
  mutable std::vector<std::shared_ptr<const Pool>> whole_pools_ GUARDED_BY(mutex_), counter_pools_ GUARDED_BY(mutex_);
};

}  // namespace berth::dra
