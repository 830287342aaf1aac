// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "recording/frames.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// The records of a recording, oldest first, from one segment file or a directory of them.
///
/// Bounds:   one segment is in memory at a time, of k_segment_bytes_max; see Decoder for what records take.
/// Failure:  what cannot be read is left out to the end of its segment, and said in problems(); a record of kind gap
///           stands for it where more follows.
/// Threads:  one. The symbols outlive it and what it returns.
class Reader {
 public:
  /// Fails where nothing is there that is a segment.
  static Result<Reader> open(const std::string& path, SymbolTable& symbols);
  /// As open(), without the segments of a directory before the last that was begun at `wall_ns` or earlier, but with
  /// `earlier_segments` of them: each begins with the whole cluster, but a torn one may not tell it.
  static Result<Reader> open_near(const std::string& path, std::int64_t wall_ns, std::size_t earlier_segments,
                                  SymbolTable& symbols);
  Reader(Reader&&) noexcept;
  ~Reader();

  /// False at the end.
  bool next(Record& record);
  /// Whether the record that next() returned last began a segment of another process than the one before.
  bool begins_run() const noexcept;
  const std::vector<std::string>& problems() const noexcept;
  std::size_t segments() const noexcept;           // to be read, of all
  std::size_t segments_left_out() const noexcept;  // before them
  std::size_t bytes() const noexcept;              // of the segments read so far

  /// Of one segment in memory: for tests, and what feeds bytes that are no file. `name` is for problems().
  static Reader of_bytes(std::string bytes, std::string name, SymbolTable& symbols);

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace berth::recording
