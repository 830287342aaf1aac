// SPDX-License-Identifier: Apache-2.0
/// A ResourceSlice, read once per version of the object: numbers instead of texts, and devices ready for selectors.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <berth/cel/cel.hpp>
#include "../../guarded.hpp"
#include "amount.hpp"
#include "device_ids.hpp"
#include "node_matcher.hpp"
#include "objects.hpp"

namespace berth::dra {

struct PreparedCapacity {
  std::string_view name;
  Amount value;
  bool has_policy = false;
  std::optional<Amount> default_amount;
  std::vector<Amount> valid_values;
  bool has_range = false;
  std::optional<Amount> min;
  std::optional<Amount> max;
  std::optional<Amount> step;
};

/// What a device takes of one counter.
struct CounterUse {
  std::string_view set;
  std::string_view counter;
  Nano nano = 0;
};

struct PreparedDevice {
  const Device* object = nullptr;
  std::uint32_t id = 0;                           ///< of DeviceIds
  std::uint32_t index = 0;                        ///< in its slice
  std::vector<const NamedAttribute*> attributes;  ///< by name
  std::vector<PreparedCapacity> capacity;         ///< by name
  std::vector<CounterUse> counters;
  std::vector<const DeviceTaint*> taints;  ///< NoSchedule and NoExecute
  bool has_policies = false;
  std::unique_ptr<NodeMatcher> nodes;  ///< with per-device node selection
  std::shared_ptr<const DeviceContent> content;

  /// Null: it has no such attribute. Names are the API's, with or without a domain.
  const NamedAttribute* attribute(std::string_view name) const;
};

/// What a selector said of the devices of a slice, by index. Any thread may read and write.
struct VerdictRow {
  enum : std::uint8_t {
    unknown = DeviceContent::unknown,
    yes = DeviceContent::yes,
    no = DeviceContent::no,
    stopped = DeviceContent::stopped
  };
  VerdictRow(std::uint64_t program_serial, std::size_t devices)
      : serial(program_serial), verdicts(std::make_unique<std::atomic<std::uint8_t>[]>(devices)) {}
  const std::uint64_t serial;
  const std::unique_ptr<std::atomic<std::uint8_t>[]> verdicts;
};

/// Immutable but for the verdicts it remembers, so that a selector is evaluated once per device and version of the slice,
/// whatever the number of nodes and pods: of the last 32 selectors, a byte per device each. Devices that look the same to selectors
/// share what was found (DeviceContent).
/// Threads: any.
class PreparedSlice {
 public:
  static constexpr std::size_t k_rows_max = 32;
  static constexpr std::size_t k_devices_max = 4096;  ///< the API allows 128

  struct Made {
    std::shared_ptr<const PreparedSlice> slice;  ///< null if it cannot be used
    std::string error;                           ///< which slice, which field, why
  };
  static Made prepare(Slice slice, DeviceIds& ids);

  const Slice& object() const { return object_; }
  std::uint32_t pool_number() const { return pool_number_; }
  const std::vector<PreparedDevice>& devices() const { return devices_; }
  const NodeMatcher& nodes() const { return nodes_; }
  bool has_counter_sets() const { return !object_.shared_counters.empty(); }
  bool consumes_counters() const { return consumes_counters_; }
  bool has_binding_conditions() const { return has_binding_conditions_; }
  /// Of shared_counters, with amounts; sorted as they stand in the object.
  const std::vector<CounterUse>& counters() const { return counters_; }
  std::shared_ptr<VerdictRow> verdicts(std::uint64_t program_serial) const;

 private:
  explicit PreparedSlice(Slice slice);
  std::string read(DeviceIds& ids);
  std::string read_device(const Device& device, DeviceIds& ids);

  const Slice object_;
  NodeMatcher nodes_;
  std::vector<PreparedDevice> devices_;
  std::vector<CounterUse> counters_;
  std::uint32_t pool_number_ = 0;
  bool has_binding_conditions_ = false;
  bool consumes_counters_ = false;
  mutable guarded::Mutex mutex_;
  mutable std::vector<std::shared_ptr<VerdictRow>> rows_ GUARDED_BY(mutex_);
  mutable std::size_t oldest_row_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::dra
