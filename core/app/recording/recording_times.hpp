// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace berth::app {

/// What happened over the time of a recording, in slices of equal length.
struct RecordingTimes {
  /// Of one plugin, within one slice.
  struct Work {
    std::int64_t rejections = 0;  // decisions without a node that it is named for
    std::int64_t took_ns = 0;     // calls into it; written each ten seconds, and spread evenly over these
  };
  struct Slice {
    std::int64_t decisions = 0, without_node = 0;
    std::int64_t pending = 0;                  // pods that had no node when it ended; -1: the cluster was not known
    std::int64_t took_ns = 0, longest_ns = 0;  // of all its decisions together, and of the longest
    std::vector<Work> plugins = {};  // in the order of RecordingTimes::plugins, whose last ones may be missing
  };
  std::int64_t from_ms = 0, to_ms = 0;  // wall clock, both rounded up: of the first and of the last record
  std::int64_t slice_ms = 1;
  std::vector<Slice> slices;         // one at least; the last one holds to_ms
  std::vector<std::string> plugins;  // names
};

/// Reads the recording once, as a whole. Fails where it cannot be read, or is empty.
/// Bounds: as recording::Reader and State; k_slices_max slices of k_plugins_max plugins, beyond which none are counted.
Result<RecordingTimes> read_times(const std::string& path);

/// What read_times() said last of one recording, for as long as its files have the same names, sizes and times.
/// Bounds: one answer, of a megabyte at most. Threads: one.
class RememberedTimes {
 public:
  explicit RememberedTimes(std::string path) : path_(std::move(path)) {}
  /// The answer is valid until the next call.
  Result<const RecordingTimes*> read();

 private:
  struct File {
    std::string name;
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type written_at;
    friend bool operator==(const File&, const File&) = default;
  };
  /// Empty: that cannot be said.
  std::vector<File> files() const;

  const std::string path_;
  std::vector<File> read_files_;  // as they were before they were read
  RecordingTimes times_;
};

}  // namespace berth::app
