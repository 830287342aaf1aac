// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <list>
#include <vector>

#include "berth/ext/preemption.h"
#include "cache/snapshot.hpp"

namespace berth::preemption {

/// What all nodes said when pods of one class asked whom to evict, kept from one search to the next. A node is asked again
/// when it has changed, and no other is: where every filter judges a node by the node alone, so is the answer.
///
/// Place:   VictimSearch, which says for which searches that holds. Threads: the scheduling thread.
class KeptAnswers {
 public:
  /// What answers depend on besides a node and its pods.
  struct Question {
    std::uint64_t pod_class = 0;
    std::int64_t below_priority = 0;
    void (*importance)(void* self, const berth_victim_v1* pods, std::uint32_t count, std::uint64_t* keys) = nullptr;
    void (*rank)(void* self, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) = nullptr;
    void* self = nullptr;
    std::uint32_t rank_words = 0;
    std::uint64_t epochs = 0;                // of the plugins, added up: an answer may be another when one grows
    std::vector<std::uint8_t> skipped = {};  // by filter
    friend bool operator==(const Question&, const Question&) = default;
  };
  enum class Kind : std::uint8_t { unknown, no_victims, no_room, room };

  explicit KeptAnswers(Question question) : question_(std::move(question)) {}
  const Question& question() const noexcept { return question_; }

  /// Forgets the answers of nodes that have changed since the last call.
  void catch_up(const cache::Snapshot& snapshot);

  Kind kind(cache::Slot slot) const noexcept { return answers_[slot].kind; }
  std::uint32_t violations(cache::Slot slot) const noexcept { return answers_[slot].violations; }
  /// Requires: its kind is room.
  const std::uint64_t* rank(cache::Slot slot) const noexcept { return &ranks_[slot * question_.rank_words]; }
  void forget(cache::Slot slot) noexcept { answers_[slot].kind = Kind::unknown; }
  void keep(cache::Slot slot, Kind kind) noexcept { answers_[slot].kind = kind; }
  void keep_room(cache::Slot slot, std::uint32_t violations, const std::uint64_t* rank) noexcept;

  std::size_t bytes() const noexcept {
    return sizeof(*this) + answers_.capacity() * sizeof(Answer) + ranks_.capacity() * sizeof(std::uint64_t);
  }

 private:
  struct Answer {
    std::uint32_t violations = 0;
    Kind kind = Kind::unknown;
  };

  const Question question_;
  std::uint64_t position_ = 0, membership_ = 0;
  std::vector<Answer> answers_;       // by slot
  std::vector<std::uint64_t> ranks_;  // by slot, then word
};

/// The answers that are kept, those to the latest questions first. A question that is asked for the first time is only
/// noted: most are asked once, and to keep an answer takes a search of all nodes to its end.
///
/// Budget: k_questions_max, and k_bytes_max of answers and one question. Threads: the scheduling thread.
class KeptAnswersTable {
 public:
  static constexpr std::size_t k_questions_max = 64;
  static constexpr std::size_t k_bytes_max = std::size_t{16} << 20;

  /// Null when it is the first time. Valid until the next call.
  KeptAnswers* find(const KeptAnswers::Question& question);
  void drop(const KeptAnswers& answers);
  void clear() noexcept { entries_.clear(); }
  /// Takes the size of the answers to the latest question into account.
  void settle();
  std::size_t bytes() const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  std::list<KeptAnswers> entries_;
};

}  // namespace berth::preemption
