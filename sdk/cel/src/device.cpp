// SPDX-License-Identifier: Apache-2.0
/// Attributes and capacity of a device, by domain, ready for evaluation.
#include <map>
#include <string>

#include "berth/cel/quantity.hpp"
#include "compiled_expression.hpp"
#include "values/semver.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_no_room = "device is too large";

/// Values by domain and name; a name written with its domain wins over one without.
class Domains {
 public:
  Domains(DeviceData& device, std::string_view driver) : device_(device), driver_(driver) {}

  void add(std::string_view name, const Value& value) {
    const std::size_t slash = name.find('/');
    const bool qualified = slash != std::string_view::npos;
    auto& domain = domains_[device_.arena.copy(qualified ? name.substr(0, slash) : driver_)];
    const std::string_view id = device_.arena.copy(qualified ? name.substr(slash + 1) : name);
    if (qualified)
      domain[id] = value;
    else
      domain.try_emplace(id, value);
  }

  Value finish() {
    auto* outer = device_.arena.make_array<MapEntry>(domains_.size());
    auto* maps = device_.arena.make_array<MapData>(domains_.size() + 1);
    if (outer == nullptr || maps == nullptr) return fail();
    MapData* next = maps;
    MapEntry* domain_entry = outer;
    for (const auto& [domain, values] : domains_) {
      auto* inner = device_.arena.make_array<MapEntry>(values.size());
      if (inner == nullptr) return fail();
      *next = {inner, static_cast<std::uint32_t>(values.size()), false};
      for (const auto& [name, value] : values) *inner++ = {tagged(name), value};
      *domain_entry++ = {tagged(domain), of_map(next++)};
    }
    *next = {outer, static_cast<std::uint32_t>(domains_.size()), true};
    return of_map(next);
  }

 private:
  Value fail() {
    device_.error = k_no_room;
    return of_map(&empty_map());
  }

  DeviceData& device_;
  std::string_view driver_;
  std::map<std::string_view, std::map<std::string_view, Value>> domains_;
};

void fail(DeviceData& device, std::string_view what, std::string_view name, std::string_view why) {
  if (!device.error.empty()) return;
  const std::string text = std::string(what) + ' ' + std::string(name) + ": " + std::string(why);
  device.error = device.arena.copy(text);
  if (device.error.empty()) device.error = k_no_room;
}

template <class T>
Value keep(DeviceData& device, Kind kind, const T& value) {
  const T* kept = device.arena.make(value);
  if (kept == nullptr) device.error = k_no_room;
  return kept == nullptr ? Value{} : of_object(kind, kept);
}

Value attribute_value(DeviceData& device, const Attribute& attribute) {
  switch (attribute.type) {
    case Attribute::Type::integer:
      return of_int(attribute.integer);
    case Attribute::Type::boolean:
      return of_bool(attribute.integer != 0);
    case Attribute::Type::string:
      return of_text(device.arena.copy(attribute.text));
    case Attribute::Type::version: {
      const SemverParsed parsed = parse_semver(device.arena.copy(attribute.text), false, device.arena);
      if (parsed.error.empty()) return keep(device, Kind::semver, parsed.value);
      fail(device, "attribute", attribute.name, "parse semantic version: " + std::string(parsed.error));
      return {};
    }
    case Attribute::Type::unsupported:
      break;
  }
  fail(device, "attribute", attribute.name, "unsupported attribute value");
  return {};
}

}  // namespace

const MapData& empty_map() {
  static constexpr MapData k_empty;
  return k_empty;
}

Device::Device(std::string_view driver, bool allow_multiple_allocations, std::span<const Attribute> attributes,
               std::span<const Capacity> capacity)
    : data_(std::make_unique<DeviceData>()) {
  DeviceData& device = *data_;
  device.driver = of_text(device.arena.copy(driver));
  device.allow_multiple_allocations = of_bool(allow_multiple_allocations);
  Domains attribute_domains(device, driver);
  for (const Attribute& attribute : attributes)
    attribute_domains.add(attribute.name, attribute_value(device, attribute));
  device.attributes = attribute_domains.finish();
  Domains capacity_domains(device, driver);
  for (const Capacity& entry : capacity) {
    const QuantityParsed parsed = parse_quantity(entry.quantity);
    if (!parsed.error.empty()) fail(device, "capacity", entry.name, parsed.error);
    capacity_domains.add(entry.name, keep(device, Kind::quantity, parsed.value));
  }
  device.capacity = capacity_domains.finish();
  if (device.arena.exhausted()) device.error = k_no_room;
}

Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

}  // namespace berth::cel
