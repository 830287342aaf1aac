// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "berth/ext/preemption.h"
#include "cache/snapshot.hpp"
#include "framework/plugin_instance.hpp"

namespace berth::preemption {

/// Whether answers are kept: no; yes; or yes, and each is held against a fresh one before it counts.
enum class AnswerReuse : std::uint8_t { off, on, verify };

/// A kept answer that is not what the node says now, though nothing has changed that it should depend on.
struct ChangedAnswer {
  cache::Slot slot = cache::k_no_slot;
  const framework::PluginInstance* plugin = nullptr;  // the filter that says otherwise; null: not known
  std::string kept, fresh;  // "no pod may go", "evictions make no room", "evictions make room"
};

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

  /// keeps_rejectors: which filter said that evictions make no room is to be known later.
  explicit KeptAnswers(Question question, bool keeps_rejectors = false)
      : question_(std::move(question)), keeps_rejectors_(keeps_rejectors) {}
  const Question& question() const noexcept { return question_; }

  /// Forgets the answers of nodes that have changed since the last call.
  void catch_up(const cache::Snapshot& snapshot);

  Kind kind(cache::Slot slot) const noexcept { return answers_[slot].kind; }
  std::uint32_t violations(cache::Slot slot) const noexcept { return answers_[slot].violations; }
  /// Requires: its kind is room.
  const std::uint64_t* rank(cache::Slot slot) const noexcept { return &ranks_[slot * question_.rank_words]; }
  void forget(cache::Slot slot) noexcept { answers_[slot].kind = Kind::unknown; }
  void keep(cache::Slot slot, Kind kind, const framework::PluginInstance* rejector = nullptr) noexcept {
    answers_[slot].kind = kind;
    if (keeps_rejectors_) rejectors_[slot] = rejector;
  }
  void keep_room(cache::Slot slot, std::uint32_t violations, const std::uint64_t* rank) noexcept;

  /// The filter that said last that evictions make no room; null: not known.
  const framework::PluginInstance* rejector(cache::Slot slot) const noexcept {
    return keeps_rejectors_ ? rejectors_[slot] : nullptr;
  }
  bool keeps_rejectors() const noexcept { return keeps_rejectors_; }

  /// Whether both hold the same answer of the node.
  bool agrees(const KeptAnswers& other, cache::Slot slot) const noexcept;
  /// Takes the answers of the other, which is to the same question and of the same snapshot.
  void take(KeptAnswers& other) noexcept;

  /// Some answer turned out to be none of the node's: none is kept to this question any more.
  void refute() noexcept;
  bool is_refuted() const noexcept { return refuted_; }

  std::size_t bytes() const noexcept {
    return sizeof(*this) + rejectors_.capacity() * sizeof(rejectors_[0]) + answers_.capacity() * sizeof(Answer) +
           ranks_.capacity() * sizeof(std::uint64_t);
  }

 private:
  struct Answer {
    std::uint32_t violations = 0;
    Kind kind = Kind::unknown;
  };

  const Question question_;
  const bool keeps_rejectors_;
  bool refuted_ = false;
  std::uint64_t position_ = 0, membership_ = 0;
  std::vector<Answer> answers_;                              // by slot
  std::vector<std::uint64_t> ranks_;                         // by slot, then word
  std::vector<const framework::PluginInstance*> rejectors_;  // by slot, or none
};

/// The answers that are kept, those to the latest questions first. A question that is asked for the first time is only
/// noted: most are asked once, and to keep an answer takes a search of all nodes to its end.
///
/// Budget: k_questions_max, and k_bytes_max of answers and one question. Threads: the scheduling thread.
class KeptAnswersTable {
 public:
  static constexpr std::size_t k_questions_max = 64;
  static constexpr std::size_t k_bytes_max = std::size_t{16} << 20;

  explicit KeptAnswersTable(bool keeps_rejectors = false) : keeps_rejectors_(keeps_rejectors) {}

  /// Null when it is the first time, or when an answer to it was refuted. Valid until the next call.
  KeptAnswers* find(const KeptAnswers::Question& question);
  void clear() noexcept { entries_.clear(); }
  /// Takes the size of the answers to the latest question into account.
  void settle();
  std::size_t bytes() const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  const bool keeps_rejectors_;
  std::list<KeptAnswers> entries_;
};

}  // namespace berth::preemption
