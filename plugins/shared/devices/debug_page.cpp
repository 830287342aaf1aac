// SPDX-License-Identifier: Apache-2.0
#include "debug_page.hpp"

#include <map>

namespace devices {
namespace {

/// One JSON object, member by member.
class Members {
 public:
  Members& text(std::string_view name, std::string_view value) {
    key(name);
    berth::append_json_text(out_, value);
    return *this;
  }
  Members& number(std::string_view name, std::uint64_t value) { return json(name, std::to_string(value)); }
  Members& json(std::string_view name, std::string_view value) {
    key(name);
    out_ += value;
    return *this;
  }
  std::string done() { return std::move(out_ += '}'); }

 private:
  void key(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    berth::append_json_text(out_, name);
    out_ += ':';
  }
  std::string out_ = "{";
};

/// A list with an item on each line, for people who look for one.
class Lines {
 public:
  void add(std::string_view item) {
    out_ += out_.size() > 1 ? ",\n" : "";
    out_ += item;
  }
  std::string done() { return std::move(out_ += ']'); }

 private:
  std::string out_ = "[";
};

std::string devices_json(const AllocationObject& allocation) {
  std::string out = "[";
  for (const ResultObject& result : allocation.results) {
    if (out.size() > 1) out += ',';
    berth::append_json_text(
        out, result.driver + '/' + result.pool + '/' + result.device + (result.admin_access ? " (admin access)" : ""));
  }
  return out += ']';
}

struct Counts {
  std::uint64_t devices = 0, free = 0, allocated = 0, in_flight = 0, tainted = 0;

  void add(const Counts& other) {
    devices += other.devices;
    free += other.free;
    allocated += other.allocated;
    in_flight += other.in_flight;
    tainted += other.tainted;
  }
  void write(Members& out) const {
    out.number("devices", devices).number("free", free).number("allocated", allocated);
    out.number("inFlight", in_flight).number("tainted", tainted);
  }
};

std::string nodes_text(const dra::Slice& slice) {
  if (!slice.nodes.node_name.empty()) return slice.nodes.node_name;
  if (slice.nodes.all_nodes) return "all nodes";
  return slice.per_device_node_selection ? "by device" : "by selector";
}

}  // namespace

std::string debug_page(const DebugMoment& moment) {
  Lines pools, claim_lines, flight_lines;
  std::map<std::string, Counts> by_driver;
  for (const auto& slice : moment.devices.inventory->all()) {
    Counts counts;
    for (const dra::PreparedDevice& device : slice->devices()) {
      const bool is_allocated = moment.devices.state->is_allocated(device.id);
      ++counts.devices;
      counts.allocated += is_allocated;
      counts.in_flight += moment.in_flight_devices.contains(device.id);
      counts.tainted += !device.taints.empty();
      counts.free += !is_allocated && device.taints.empty();
    }
    const dra::Slice& object = slice->object();
    Members line;
    line.text("slice", object.name).text("driver", object.driver).text("pool", object.pool);
    line.number("generation", static_cast<std::uint64_t>(object.generation)).text("nodes", nodes_text(object));
    counts.write(line);
    pools.add(line.done());
    by_driver[object.driver].add(counts);
  }
  std::map<std::string_view, std::string> keys;
  for (const ClaimPtr& each : moment.claims) {
    const ClaimObject& claim = *each;
    keys.emplace(claim.uid, claim.key());
    Members line;
    line.text("claim", claim.key()).text("uid", claim.uid);
    line.json("allocated", claim.allocation == nullptr ? "false" : "true")
        .number("reservedFor", claim.reserved_for.size());
    if (claim.is_deleting) line.json("deleting", "true");
    if (claim.is_extended) line.text("extendedResourcesOf", claim.controller_name);
    if (claim.allocation != nullptr) line.json("devices", devices_json(*claim.allocation));
    claim_lines.add(line.done());
  }
  for (const DebugMoment::Flight& flight : moment.in_flight) {
    Members line;
    const auto known = keys.find(flight.uid);
    if (known != keys.end()) line.text("claim", known->second);
    line.text("uid", flight.uid).number("pods", flight.sharers).json("devices", devices_json(*flight.allocation));
    flight_lines.add(line.done());
  }
  Members drivers, page;
  for (const auto& [driver, counts] : by_driver) {
    Members its;
    counts.write(its);
    drivers.json(driver, its.done());
  }
  page.json("drivers", drivers.done()).number("withheldDevices", moment.withheld);
  page.json("inFlight", flight_lines.done()).json("claims", claim_lines.done()).json("slices", pools.done());
  return page.done();
}

}  // namespace devices
