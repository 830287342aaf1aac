// SPDX-License-Identifier: Apache-2.0
/// What kube-scheduler v1.36.2 made of 1,042 expressions on five devices.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/cel/cel.hpp"

namespace berth::cel {

struct RecordedResult {
  std::string result;                 ///< true, false, error
  std::optional<std::uint64_t> cost;  ///< not there where it depends on the order of a map
  std::string error;
};

struct Vector {
  std::string id;
  std::string expression;
  bool compiles = false;
  std::map<std::string, RecordedResult> results;  ///< by device
};

struct Recording {
  std::map<std::string, Device> devices;
  std::vector<Vector> vectors;
};

/// Reads tests/cel/vectors.json.gz; throws std::runtime_error if it is not what it should be.
Recording read_recording();

}  // namespace berth::cel
