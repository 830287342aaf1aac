// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>

#include "recording/record.hpp"

namespace berth::recording {

/// How much memory a cluster takes that records come to: the last record of each of its objects. A recording is small
/// where texts come again, and so may be a cluster that no berth recorded.
///
/// Threads: one. Memory: an entry for each object, which counts.
class HeldBytes {
 public:
  static constexpr std::size_t k_bytes_max = std::size_t{1} << 30;

  /// Counts what the record, as a reader returned it, adds, replaces or removes. False: it is more than k_bytes_max
  /// then, and the record must not be kept.
  bool take(const Record& record);
  std::size_t bytes() const noexcept { return bytes_; }
  void clear() noexcept;
  /// For messages: "1024 MiB".
  static std::string limit();

 private:
  void put(std::string key, std::size_t bytes);
  void remove(const std::string& key);

  std::unordered_map<std::string, std::size_t> bytes_of_;  // by kind and name
  std::size_t bytes_ = 0;
};

}  // namespace berth::recording
