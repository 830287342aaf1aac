// SPDX-License-Identifier: Apache-2.0
/// What kube-scheduler made of expressions on devices, and whether this library makes the same of them. README.md describes
/// the format.
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

/// Reads a file, packed with gzip or not; throws std::runtime_error if it is not what it should be.
Recording read_recording(const std::string& path);

/// What came out for one expression.
struct Comparison {
  std::string differs;  ///< empty: it compiles where it did, with the same verdict on every device
  std::size_t results = 0, same_results = 0;
  std::size_t costs = 0, same_costs = 0;    ///< of verdicts that agree
  std::size_t errors = 0, same_errors = 0;  ///< likewise: texts of errors
  std::string other;                        ///< costs and texts that differ; for information
};
Comparison compare_with_recording(const Recording& recording, const Vector& vector, Evaluator& evaluator);

}  // namespace berth::cel
