// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"

namespace berth::framework {

/// What a host withholds from a plugin while it is made, as one of an older minor would.
struct Withheld {
  std::string plugin;
  std::optional<std::size_t> column = {};  // the column that it asks for after so many others is not known
  bool pod_fields = false;                 // no group of a pod's fields is known
};

/// What a plugin did that it may not do.
enum class Misuse : std::uint8_t {
  denied_call,   // a function of the host was called where it may not be called
  second_answer  // a pre-bind or bind was completed twice
};

/// Misuse that was seen, for checks that look for it. One plugin that does it again and again is said once.
///
/// Budget: k_sentences_max. Threads: any.
class MisuseRecord {
 public:
  static constexpr std::size_t k_sentences_max = 100;

  void add(Misuse kind, std::string sentence) {
    const Lock lock(mutex_);
    std::pair entry(kind, std::move(sentence));
    const bool is_known = std::find(entries_.begin(), entries_.end(), entry) != entries_.end();
    if (!is_known && entries_.size() < k_sentences_max) entries_.push_back(std::move(entry));
  }
  std::vector<std::string> sentences(Misuse kind) const {
    const Lock lock(mutex_);
    std::vector<std::string> of_kind;
    for (const auto& [each, sentence] : entries_)
      if (each == kind) of_kind.push_back(sentence);
    return of_kind;
  }

 private:
  mutable Mutex mutex_;  // a leaf
  std::vector<std::pair<Misuse, std::string>> entries_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
