// SPDX-License-Identifier: Apache-2.0
#include "preemption/kept_answers.hpp"

#include <algorithm>

namespace berth::preemption {

void KeptAnswers::catch_up(const cache::Snapshot& snapshot) {
  const std::uint64_t end = snapshot.journal_end();
  if (answers_.size() != snapshot.slot_count() || membership_ != snapshot.membership_generation() ||
      end - position_ > cache::Snapshot::k_journal_capacity) {
    answers_.assign(snapshot.slot_count(), {});
    ranks_.resize(answers_.size() * question_.rank_words);
    if (keeps_rejectors_) rejectors_.assign(answers_.size(), nullptr);
  } else {
    for (std::uint64_t p = position_; p != end; ++p) forget(snapshot.journal(p));
  }
  membership_ = snapshot.membership_generation();
  position_ = end;
}

void KeptAnswers::keep_room(cache::Slot slot, std::uint32_t violations, const std::uint64_t* rank) noexcept {
  answers_[slot] = {violations, Kind::room};
  std::copy_n(rank, question_.rank_words, &ranks_[slot * question_.rank_words]);
}

bool KeptAnswers::agrees(const KeptAnswers& other, cache::Slot slot) const noexcept {
  const Answer &mine = answers_[slot], &theirs = other.answers_[slot];
  if (mine.kind != theirs.kind) return false;
  return mine.kind != Kind::room || (mine.violations == theirs.violations &&
                                     std::equal(rank(slot), rank(slot) + question_.rank_words, other.rank(slot)));
}

void KeptAnswers::take(KeptAnswers& other) noexcept {
  std::swap(answers_, other.answers_);
  std::swap(ranks_, other.ranks_);
  std::swap(rejectors_, other.rejectors_);
}

void KeptAnswers::refute() noexcept {
  refuted_ = true;
  answers_ = {};
  ranks_ = {};
  rejectors_ = {};
}

KeptAnswers* KeptAnswersTable::find(const KeptAnswers::Question& question) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const KeptAnswers& each) { return each.question() == question; });
  if (at != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front().is_refuted() ? nullptr : &entries_.front();
  }
  // An answer that a plugin has taken back is of no use to anyone.
  std::erase_if(entries_, [&](const KeptAnswers& each) { return each.question().epochs != question.epochs; });
  if (entries_.size() == k_questions_max) entries_.pop_back();
  entries_.emplace_front(question, keeps_rejectors_);
  return nullptr;
}

void KeptAnswersTable::settle() {
  std::size_t left = bytes();
  while (left > k_bytes_max && entries_.size() > 1) {
    left -= entries_.back().bytes();
    entries_.pop_back();
  }
}

std::size_t KeptAnswersTable::bytes() const noexcept {
  std::size_t sum = 0;
  for (const KeptAnswers& each : entries_) sum += each.bytes();
  return sum;
}

}  // namespace berth::preemption
