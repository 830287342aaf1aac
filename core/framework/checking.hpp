// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"

namespace berth::framework {

/// What a host withholds from a plugin while it is made, as one of an older minor would.
struct Withheld {
  std::string plugin;
  std::optional<std::size_t> column = {};  // the column that it asks for after so many others is not known
  bool pod_fields = false;                 // no group of a pod's fields is known
};

/// What plugins did that they may not do, for checks that look for it. One plugin that does it again and again is said once.
///
/// Budget: 100 sentences. Threads: any.
class MisuseRecord {
 public:
  static constexpr std::size_t k_sentences_max = 100;

  void add(std::string sentence) {
    const Lock lock(mutex_);
    const bool is_known = std::find(sentences_.begin(), sentences_.end(), sentence) != sentences_.end();
    if (!is_known && sentences_.size() < k_sentences_max) sentences_.push_back(std::move(sentence));
  }
  std::vector<std::string> sentences() const {
    const Lock lock(mutex_);
    return sentences_;
  }

 private:
  mutable Mutex mutex_;  // a leaf
  std::vector<std::string> sentences_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
