// SPDX-License-Identifier: Apache-2.0
#include "prepared_slice.hpp"

#include <algorithm>

namespace berth::dra {
namespace {

std::string read_into(std::string_view text, Amount& amount) {
  const AmountRead read = read_amount(text);
  amount = read.amount;
  return std::string(read.error);
}

std::string read_optional(const std::optional<std::string>& text, std::optional<Amount>& amount) {
  return text ? read_into(*text, amount.emplace()) : std::string();
}

std::string read_policy(const RequestPolicy& policy, PreparedCapacity& capacity) {
  capacity.has_policy = true;
  std::string wrong = read_optional(policy.default_amount, capacity.default_amount);
  for (const std::string& value : policy.valid_values)
    if (wrong.empty()) wrong = read_into(value, capacity.valid_values.emplace_back());
  if (!policy.valid_range || !wrong.empty()) return wrong;
  capacity.has_range = true;
  wrong = read_optional(policy.valid_range->min, capacity.min);
  if (wrong.empty()) wrong = read_optional(policy.valid_range->max, capacity.max);
  if (wrong.empty()) wrong = read_optional(policy.valid_range->step, capacity.step);
  return wrong;
}

std::string read_counters(const std::vector<CounterSet>& sets, std::vector<CounterUse>& uses) {
  for (const CounterSet& set : sets) {
    for (const NamedAmount& counter : set.counters) {
      Amount amount;
      const std::string wrong = read_into(counter.amount, amount);
      if (!wrong.empty()) return "counter " + set.name + '.' + counter.name + ": " + wrong;
      uses.push_back({set.name, counter.name, amount.nano});
    }
  }
  return {};
}

cel::Device selectable_device(std::string_view driver, const Device& device) {
  std::vector<cel::Attribute> attributes;
  std::vector<cel::Capacity> capacity;
  attributes.reserve(device.attributes.size());
  for (const NamedAttribute& each : device.attributes)
    attributes.push_back({each.name, each.type, each.integer, each.text});
  for (const NamedCapacity& each : device.capacity) capacity.push_back({each.name, each.value});
  return cel::Device(driver, device.allow_multiple_allocations, attributes, capacity);
}

/// All that selectable_device() reads, as it is listed.
std::string content_key(std::string_view driver, const Device& device) {
  std::string key;
  const auto append = [&key](std::string_view text) { (key += std::to_string(text.size()) += ':').append(text); };
  append(driver);
  key += device.allow_multiple_allocations ? 'm' : 's';
  for (const NamedAttribute& each : device.attributes) {
    append(each.name);
    key += static_cast<char>('a' + static_cast<int>(each.type));
    append(std::to_string(each.integer));
    append(each.text);
  }
  key += ';';
  for (const NamedCapacity& each : device.capacity) {
    append(each.name);
    append(each.value);
  }
  return key;
}

}  // namespace

const NamedAttribute* PreparedDevice::attribute(std::string_view name) const {
  const auto found =
      std::lower_bound(attributes.begin(), attributes.end(), name,
                       [](const NamedAttribute* each, std::string_view wanted) { return each->name < wanted; });
  return found != attributes.end() && (*found)->name == name ? *found : nullptr;
}

PreparedSlice::PreparedSlice(Slice slice) : object_(std::move(slice)), nodes_(object_.nodes) {}

PreparedSlice::Made PreparedSlice::prepare(Slice slice, DeviceIds& ids) {
  std::shared_ptr<PreparedSlice> made(new PreparedSlice(std::move(slice)));
  const std::string wrong = made->read(ids);
  if (!wrong.empty()) return {nullptr, "ResourceSlice " + made->object_.name + ": " + wrong};
  return {std::move(made), {}};
}

std::string PreparedSlice::read(DeviceIds& ids) {
  if (object_.devices.size() > k_devices_max)
    return "has " + std::to_string(object_.devices.size()) + " devices, at most " + std::to_string(k_devices_max);
  pool_number_ = ids.pool(object_.driver, object_.pool);
  std::string wrong = read_counters(object_.shared_counters, counters_);
  devices_.reserve(object_.devices.size());
  for (const Device& device : object_.devices) {
    if (!wrong.empty()) return wrong;
    wrong = read_device(device, ids);
    if (!wrong.empty()) wrong = "device " + device.name + ": " + wrong;
  }
  return wrong;
}

std::string PreparedSlice::read_device(const Device& device, DeviceIds& ids) {
  PreparedDevice& made = devices_.emplace_back();
  made.object = &device;
  made.index = static_cast<std::uint32_t>(devices_.size() - 1);
  made.id = ids.intern(object_.driver, object_.pool, device.name);
  if (made.id == DeviceIds::k_none) {
    return "the table of device names is full (" + std::to_string(ids.devices_max()) +
           " devices); prepare slices and allocations again with a new one";
  }
  for (const NamedAttribute& attribute : device.attributes) made.attributes.push_back(&attribute);
  std::stable_sort(made.attributes.begin(), made.attributes.end(),
                   [](const NamedAttribute* a, const NamedAttribute* b) { return a->name < b->name; });
  for (const NamedCapacity& capacity : device.capacity) {
    PreparedCapacity& entry = made.capacity.emplace_back();
    entry.name = capacity.name;
    std::string wrong = read_into(capacity.value, entry.value);
    if (wrong.empty() && capacity.policy) wrong = read_policy(*capacity.policy, entry);
    if (!wrong.empty()) return "capacity " + capacity.name + ": " + wrong;
    made.has_policies = made.has_policies || entry.has_policy;
  }
  std::stable_sort(made.capacity.begin(), made.capacity.end(),
                   [](const PreparedCapacity& a, const PreparedCapacity& b) { return a.name < b.name; });
  for (const DeviceTaint& taint : device.taints)
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute") made.taints.push_back(&taint);
  if (object_.per_device_node_selection) made.nodes = std::make_unique<NodeMatcher>(device.nodes);
  has_binding_conditions_ = has_binding_conditions_ || !device.binding_conditions.empty();
  consumes_counters_ = consumes_counters_ || !device.consumes_counters.empty();
  made.content = ids.contents().get(content_key(object_.driver, device),
                                    [&] { return selectable_device(object_.driver, device); });
  return read_counters(device.consumes_counters, made.counters);
}

std::shared_ptr<VerdictRow> PreparedSlice::verdicts(std::uint64_t program_serial) const {
  const guarded::Lock lock(mutex_);
  for (const auto& row : rows_)
    if (row->serial == program_serial) return row;
  auto row = std::make_shared<VerdictRow>(program_serial, devices_.size());
  if (rows_.size() < k_rows_max) {
    rows_.push_back(row);
  } else {
    rows_[oldest_row_] = row;
    oldest_row_ = (oldest_row_ + 1) % k_rows_max;
  }
  return row;
}

}  // namespace berth::dra
