// SPDX-License-Identifier: Apache-2.0
/// Devices and claims of the workloads that have some, and who gets which of them, decided the slow way.
#pragma once
#include <string_view>
#include <vector>

#include "bench/workload.hpp"

namespace berth::bench {

/// `none`: there is no such word.
DeviceClaims device_claims_named(std::string_view word);
/// Gives the pod a claim of its own.
void add_device_claim(model::Pod& pod, Workload& workload);
/// A class for each kind of device, and on each node the slices: 8 GPUs (in halves, too, for `partitions`) and 4 NICs.
void add_devices(Workload& workload);

/// The devices of one node, first fit: written out again, independent of the allocator.
class NodeDevices {
 public:
  /// Whether a claim finds its devices, and takes them if `keeps`.
  bool allocate(DeviceClaims asks, bool keeps);

 private:
  static constexpr int k_gpus = 8, k_nics = 4;
  bool used_gpus_[k_gpus] = {};
  bool used_halves_[2 * k_gpus] = {};
  bool used_nics_[k_nics] = {};
};

}  // namespace berth::bench
