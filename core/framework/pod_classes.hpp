// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <mutex>
#include <string>

#include "framework/pod_view.hpp"

namespace berth::framework {

/// Numbers for pods that look the same to a profile's plugins: equal numbers, equal values of every requested field.
///
/// The key is the canonical bytes of those fields (equality, not only a hash). Numbers are never reused, so a table
/// that was emptied for size costs time, never a wrong answer. Threads: synchronises itself.
class PodClasses {
 public:
  explicit PodClasses(PodFields fields, std::uint64_t profile_number)
      : fields_(std::move(fields)), next_((profile_number << 48) + 1) {}
  /// Never 0. Pods whose fields include their identity get a number each.
  std::uint64_t class_of(const model::Pod& pod);

 private:
  static constexpr std::size_t k_max_classes = 1 << 20;
  void write_key(const model::Pod& pod);

  const PodFields fields_;
  std::mutex mutex_;  // guards everything below
  std::string key_;
  boost::unordered_flat_map<std::string, std::uint64_t> numbers_;
  std::uint64_t next_;
};

}  // namespace berth::framework
