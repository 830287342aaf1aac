// SPDX-License-Identifier: Apache-2.0
#include "framework/view/candidate_nodes.hpp"

#include <bit>
#include <utility>

#include "base/bitmap.hpp"

namespace berth::framework {

void CandidateNodes::clear_own() {
  if (form_ == Form::bitmap) own_.assign(words_, 0);
  for (const cache::Slot slot : few_) bitmap::clear(own_.data(), slot);
  few_.clear();
}

void CandidateNodes::begin(const cache::Snapshot& snapshot) {
  clear_own();
  form_ = Form::all;
  all_ = snapshot.nodes();
  words_ = snapshot.word_count();
  count_ = snapshot.node_count();
}

std::size_t CandidateNodes::keep(const std::uint64_t* kept) {
  const std::size_t left = bitmap::count_common(bits(), kept, words_);
  if (left == count_) return left;
  count_ = left;
  if (left > k_few_max) {
    if (form_ == Form::all) own_.assign(all_, all_ + words_);
    form_ = Form::bitmap;
    return bitmap::keep_common(own_.data(), kept, words_);
  }
  left_.clear();
  for (std::size_t w = 0; left_.size() != left; ++w)
    for (std::uint64_t rest = bits()[w] & kept[w]; rest != 0; rest &= rest - 1)
      left_.push_back(static_cast<cache::Slot>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
  clear_own();
  std::swap(few_, left_);
  if (own_.size() < words_) own_.resize(words_);
  for (const cache::Slot slot : few_) bitmap::set(own_.data(), slot);
  form_ = Form::few;
  return left;
}

void CandidateNodes::leave_out(cache::Slot slot) {
  if (!contains(slot)) return;
  if (form_ == Form::all) {
    own_.assign(all_, all_ + words_);
    form_ = Form::bitmap;
  }
  bitmap::clear(own_.data(), slot);
  std::erase(few_, slot);
  --count_;
}

bool CandidateNodes::contains(cache::Slot slot) const noexcept {
  return slot / 64 < words_ && bitmap::test(bits(), slot);
}

}  // namespace berth::framework
