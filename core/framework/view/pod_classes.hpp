// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>

#include "base/guarded.hpp"
#include "base/text_hash.hpp"
#include "framework/view/pod_view.hpp"

namespace berth::framework {

/// Numbers for pods that look the same to a profile's plugins: equal numbers, equal values of every requested field.
///
/// The key is the canonical bytes of those fields (equality, not only a hash). Numbers are never reused, so a class that
/// was forgotten for size costs time, never a wrong answer. Keys hold numbers of symbols that the pods held: the
/// table is emptied before those can mean something else (SymbolTable::generation()).
/// Bound: k_key_bytes_max. Classes that no pod was of for long go first: jobs bring a class for each pod, of which most
/// never come again. Threads: synchronises itself.
class PodClasses {
 public:
  /// symbols: null where they are never given back.
  explicit PodClasses(PodFields fields, std::uint64_t profile_number, const SymbolTable* symbols = nullptr)
      : fields_(std::move(fields)), symbols_(symbols), next_((profile_number << 48) + 1) {}
  /// Never 0. Pods whose fields include their identity get a number each.
  std::uint64_t class_of(const model::Pod& pod);
  static constexpr std::size_t k_key_bytes_max = std::size_t{2} << 20;
  static constexpr std::size_t k_upkeep_bytes = 64;  // of a class, without its key

  /// What the keys take.
  std::size_t bytes() const {
    const Lock lock(mutex_);
    return recent_.bytes + earlier_.bytes;
  }

 private:
  static constexpr std::size_t k_scratch_bytes_max = std::size_t{1} << 20;
  struct Part {
    boost::unordered_flat_map<std::string, std::uint64_t, TextHash> numbers;
    std::size_t bytes = 0;
  };
  void write_key(const model::Pod& pod) REQUIRES(mutex_);
  /// The number that the key had, which goes; 0 when it had none.
  std::uint64_t taken_from_earlier() REQUIRES(mutex_);

  const PodFields fields_;
  const SymbolTable* const symbols_;
  mutable Mutex mutex_;
  std::string key_ GUARDED_BY(mutex_);
  Part recent_ GUARDED_BY(mutex_), earlier_
      GUARDED_BY(mutex_);                            // when one half of the budget is full, it becomes the earlier one
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;  // of symbols_ when the table was empty
  std::uint64_t next_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
