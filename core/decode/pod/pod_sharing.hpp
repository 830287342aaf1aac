// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "model/pod.hpp"

namespace berth::decode {

/// Lets pods that are decoded one after another have in common what is equal in them: replicas differ in little more
/// than their names. Remembers a few hundred values of each kind, the newest of those that fall together.
/// Threads: any; synchronises itself.
class PodSharing {
 public:
  PodSharing();
  ~PodSharing();
  /// Replaces parts of the pod by equal ones that were seen before.
  void share(model::Pod& pod);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace berth::decode
