// SPDX-License-Identifier: Apache-2.0
/// Recorded allocations: objects in, allocations out, as JSON. README.md describes the format.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocator.hpp"

namespace berth::dra {

struct RecordedCase {
  std::string id;
  std::string label;
  Node node;
  std::vector<std::shared_ptr<const DeviceClass>> classes;
  std::vector<Slice> slices;
  std::vector<std::shared_ptr<const Claim>> claims;
  struct Taken {
    std::string driver;
    std::string pool;
    std::string device;
    std::optional<std::string> share_id;
    std::optional<std::vector<NamedAmount>> consumed;
  };
  std::vector<Taken> taken;
  std::optional<std::vector<ClaimAllocation>> results;  ///< nothing: the claims do not fit, or an error
  std::string error;
};

/// Reads a file, packed with gzip or not. Throws std::runtime_error if it is not what it should be.
std::vector<RecordedCase> read_recorded_cases(const std::string& path);

/// Runs the case; empty if the outcome is the recorded one, else what differs.
std::string compare_with_recording(const RecordedCase& recorded);

}  // namespace berth::dra
