// SPDX-License-Identifier: Apache-2.0
/// A small cluster for tests of the allocator: slices, classes and claims in, outcomes out.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "allocator/allocator.hpp"

namespace berth::dra {

/// Slices and allocations on one table of ids. One class per driver, named as the driver, and `any`.
struct Scene {
  std::shared_ptr<DeviceIds> ids = std::make_shared<DeviceIds>();
  AllocatedState state{ids};
  std::vector<std::shared_ptr<const PreparedSlice>> slices;
  std::vector<DeviceClass> classes;
  cel::ProgramCache programs;
  Workspace workspace;

  void add(Slice slice) {
    PreparedSlice::Made made = PreparedSlice::prepare(std::move(slice), *ids);
    if (made.slice == nullptr) throw std::runtime_error(made.error);
    slices.push_back(std::move(made.slice));
  }
  std::shared_ptr<const DeviceClass> find_class(std::string_view name) const {
    for (const DeviceClass& each : classes)
      if (each.name == name) return std::make_shared<DeviceClass>(each);
    if (name == "any") return std::make_shared<DeviceClass>(DeviceClass{"any", {}, {}});
    return std::make_shared<DeviceClass>(
        DeviceClass{std::string(name), {"device.driver == \"" + std::string(name) + '"'}, {}});
  }
  std::shared_ptr<const PreparedClaim> prepare(Claim claim) {
    SelectorBudget budget;
    return std::make_shared<PreparedClaim>(
        std::make_shared<Claim>(std::move(claim)), [this](std::string_view name) { return find_class(name); }, programs,
        budget);
  }
  Outcome allocate(const std::vector<Claim>& claims, const Limits& limits = {}, const Node& node = {"n1", {}}) {
    std::vector<std::shared_ptr<const PreparedClaim>> prepared;
    for (const Claim& claim : claims) prepared.push_back(prepare(claim));
    return Allocator(std::make_shared<AllocatedState>(state))
        .allocate(Inventory(slices).gather(node), prepared, limits, workspace);
  }
  /// "what: devices" of each refusal.
  std::vector<std::string> diagnose(const std::vector<Claim>& claims, const Node& node = {"n1", {}}) {
    std::vector<std::shared_ptr<const PreparedClaim>> prepared;
    for (const Claim& claim : claims) prepared.push_back(prepare(claim));
    std::vector<std::string> said;
    for (const Refusal& refusal : Allocator(std::make_shared<AllocatedState>(state))
                                      .diagnose(Inventory(slices).gather(node), prepared, {}, workspace))
      said.push_back(refusal.what + ": " + std::to_string(refusal.devices));
    return said;
  }
};

inline Device device_named(std::string name) {
  Device made;
  made.name = std::move(name);
  return made;
}

/// Of generation 1, the only slice of its pool.
inline Slice slice_on(const std::string& node, const std::string& driver, const std::string& pool,
                      std::vector<Device> devices) {
  Slice made;
  made.name = pool + "-" + driver;
  made.driver = driver;
  made.pool = pool;
  made.generation = 1;
  made.slice_count = 1;
  made.nodes.node_name = node;
  made.devices = std::move(devices);
  return made;
}

inline Request request_of(const std::string& name, const std::string& class_name, std::int64_t count = 1) {
  DeviceRequest exactly;
  exactly.name = name;
  exactly.class_name = class_name;
  exactly.allocation_mode = "ExactCount";
  exactly.count = count;
  return {name, exactly, {}};
}

inline Claim claim_of(std::vector<Request> requests) {
  Claim made;
  made.claim_namespace = "ns";
  made.name = "c";
  made.requests = std::move(requests);
  return made;
}

/// `request=driver/pool/device …` of all claims, or what went wrong.
inline std::string text_of(const Outcome& outcome) {
  if (outcome.allocation == nullptr) return outcome.error.empty() ? "no solution" : outcome.error;
  std::string text;
  for (std::size_t claim = 0; claim < outcome.allocation->claims(); ++claim) {
    int shares = 0;
    const auto described = outcome.allocation->describe(claim, [&] { return "s" + std::to_string(shares++); });
    for (const ClaimAllocation::Result& each : described.results) {
      text += (text.empty() ? "" : " ") + each.request + '=' + each.driver + '/' + each.pool + '/' + each.device;
      if (each.share_id) text += '#' + *each.share_id;
      for (const NamedAmount& amount : each.consumed_capacity) text += '[' + amount.name + ' ' + amount.amount + ']';
    }
  }
  return text;
}

}  // namespace berth::dra
