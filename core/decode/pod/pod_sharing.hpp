// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "model/pod.hpp"

namespace berth::decode {

/// Lets pods that are decoded one after another have in common what is equal in them: replicas differ in little more
/// than their names. Remembers a few hundred values of each kind, the newest of those that fall together.
/// Bound:   k_table_bytes_max for each of 18 kinds of values, whatever pods bring; a larger value than
///          k_value_bytes_max is not remembered.
/// Threads: any; synchronises itself.
class PodSharing {
 public:
  static constexpr std::size_t k_value_bytes_max = std::size_t{16} << 10;
  static constexpr std::size_t k_table_bytes_max = std::size_t{1} << 20;

  PodSharing();
  ~PodSharing();
  /// Replaces parts of the pod by equal ones that were seen before.
  void share(model::Pod& pod);
  /// What it keeps in memory: a value that several kinds contain counts for each.
  std::size_t bytes() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace berth::decode
