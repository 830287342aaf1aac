// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "report/decision.hpp"

namespace berth::report {

/// Writes decisions as JSON while they are made: what all nodes say about a pod may take megabytes, so that of one pod is
/// in memory at a time. The format is that of decisions_json().
///
/// Order:   open(), write() for each decision, finish(). Threads: one.
/// Errors:  the first one is kept, and nothing is written after it: no space, a pipe without a reader.
class DecisionsFile {
 public:
  explicit DecisionsFile(std::string path) : path_(std::move(path)) {}
  ~DecisionsFile();
  DecisionsFile(const DecisionsFile&) = delete;
  DecisionsFile& operator=(const DecisionsFile&) = delete;

  /// Begins the file.
  Status open();
  /// claims_come_later: finish() asks for them. From the first such decision on, what is written waits in a file without
  /// a name among temporary ones, because it cannot be put in between later.
  void write(const Decision& decision, bool claims_come_later);
  /// claims_of: those of a pod as JSON, or nothing.
  Status finish(const std::function<std::string(const model::Pod& pod)>& claims_of);
  const Status& status() const noexcept { return status_; }

 private:
  struct LaterClaims {
    std::uint64_t at;  // in the waiting file
    model::PodPtr pod;
  };
  void fail(std::string_view path, int error_number);
  void flush();
  bool begin_waiting();
  /// The waiting file up to there, from where the last call ended.
  void copy_waiting(std::uint64_t end);

  const std::string path_;
  std::string waiting_path_;
  Status status_ = Unit{};
  int file_ = -1, waiting_ = -1;
  std::string buffer_;
  std::uint64_t waiting_bytes_ = 0, copied_bytes_ = 0;
  std::vector<LaterClaims> later_;
  bool is_first_ = true;
};

}  // namespace berth::report
