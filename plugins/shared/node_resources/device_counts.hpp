// SPDX-License-Identifier: Apache-2.0
/// How many devices of a node stand for a resource, and how many of them are allocated: what scores take for allocatable and
/// requested where a node has none of the resource itself. Counted by class alone: slices of any generation, pools complete or not.
///
/// Departs from upstream: allocations that are decided and not written yet do not count (they are another policy's); selectors see
/// `device.allowMultipleAllocations` as it is, where upstream leaves it out.
/// Threads: refresh() [cycle]; of() [worker], each slot by one thread at a time.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
#pragma once
#include <berth/setup.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../devices/device_cluster.hpp"
#include "../devices/node_facts.hpp"
#include "args.hpp"

namespace berth::node_resources {

struct DeviceCount {
  std::int64_t devices = 0;
  std::int64_t allocated = 0;
  friend bool operator==(const DeviceCount&, const DeviceCount&) = default;
};

class DeviceCounts {
 public:
  /// Null where devices can stand for none of the resources, or where the host watches nothing: then nothing is watched for them.
  static std::unique_ptr<DeviceCounts> make(Setup& setup, const std::vector<WeightedResource>& resources);

  /// Takes up what has changed. Whether counts may differ from before.
  bool refresh(std::uint32_t slot_count);
  /// Whether devices stand for that resource, by its place in the list.
  bool counts(std::size_t resource) const { return resources_[resource].device_class != nullptr; }
  /// Nothing of either where a selector fails on a device of the node.
  DeviceCount of(std::size_t resource, Slot slot, Id name, Id label_set);

 private:
  struct Matching {
    const devices::dra::PreparedDevice* device = nullptr;
    bool is_allocated = false;
  };
  struct SliceCount {
    std::shared_ptr<const devices::dra::PreparedSlice> slice;
    bool fails = false;  ///< a selector, on some device
    std::vector<Matching> devices;
  };
  struct Resource {
    std::string name;
    devices::ClassPtr device_class;  ///< null: none stands for it
    std::vector<SliceCount> slices;
    std::unordered_map<std::string_view, std::vector<std::size_t>> on_node;  ///< places in `slices`
    std::vector<std::size_t> elsewhere;                                      ///< of slices that name no node
  };

  DeviceCounts(Setup& setup, const std::vector<WeightedResource>& resources);
  void recount(Resource& resource, const devices::DeviceSnapshot& devices);
  SliceCount count(const std::shared_ptr<const devices::dra::PreparedSlice>& slice,
                   const std::vector<std::shared_ptr<const cel::Program>>& selectors,
                   const devices::dra::AllocatedState& state);
  /// False: what stands there cannot be counted.
  static bool add(const SliceCount& slice, const devices::dra::NodeLabels& node, DeviceCount& to);

  devices::DeviceCluster cluster_;
  devices::NodeFacts facts_;
  std::vector<Resource> resources_;  // as configured; those without a class included
  std::uint64_t version_ = 0;
  cel::Evaluator evaluator_;
  std::uint64_t steps_left_ = 0;  // of selectors, until the next refresh
  bool is_unfinished_ = false;    // some device was not judged for want of steps, and the next refresh comes further
  bool has_learned_ = false;      // in this refresh, of some device
};

}  // namespace berth::node_resources
