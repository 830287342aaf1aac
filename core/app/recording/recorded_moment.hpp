// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "decode/object_decoder.hpp"

namespace berth::app {

/// Which moment of a recording; nothing set: its end.
struct MomentWanted {
  std::string at;                        // "2026-01-31T08:30:00Z": what was known then; empty: at the end
  std::string pod;                       // of `attempt`: "namespace/name"
  std::optional<std::uint32_t> attempt;  // what that attempt of the pod saw: the last of this number up to `at`
};

/// A cluster as a recording says it was.
struct RecordedMoment {
  std::vector<decode::Decoded> objects;
  std::int64_t wall_ns = 0;
  std::string description;            // of the process that recorded (description.hpp); may be empty
  std::string configuration;          // in there, as YAML; empty: it is not said
  std::vector<std::string> problems;  // what could not be read, and was left out
};

/// Fails where it cannot be read, has no such moment, or does not know the whole cluster then. The symbols outlive the
/// result.
/// Bounds: as recording::Reader; a cluster is held twice at most.
Result<RecordedMoment> read_moment(const std::string& path, const MomentWanted& wanted, SymbolTable& symbols);

}  // namespace berth::app
