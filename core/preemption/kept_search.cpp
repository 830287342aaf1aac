// SPDX-License-Identifier: Apache-2.0
// The search for victims by answers that nodes gave to an earlier pod of the class.
#include <algorithm>
#include <utility>

#include "framework/profile_runtime.hpp"
#include "preemption/victim_search_run.hpp"

namespace berth::preemption {

/// A filter that is told of single pods judges a node by more than the node, and so may one whose answers are not reused.
std::optional<KeptAnswers::Question> VictimSearchRun::question_to_keep() const {
  if (search_.reuse_ == AnswerReuse::off || context_.pod_class() == 0 || keep_all_ || request_.may_go != nullptr ||
      context_.exemption() != nullptr)
    return std::nullopt;
  KeptAnswers::Question question{
      context_.pod_class(),       request_.below_priority, request_.policy->importance, request_.policy->rank, self_,
      request_.policy->rank_words};
  const framework::ProfileRuntime& profile = context_.profile();
  for (const framework::PluginInstance* plugin : profile.filter) {
    const bool skips = context_.skips_filter(*plugin);
    const bool watches = plugin->prepare != nullptr &&
                         (plugin->prepare->pod_added != nullptr || plugin->prepare->pod_removed != nullptr);
    if (!skips && (watches || !plugin->filter_is_reusable())) return std::nullopt;
    question.skipped.push_back(static_cast<std::uint8_t>(skips));
  }
  for (const auto& plugin : profile.instances) question.epochs += plugin->epoch();
  return question;
}

bool VictimSearchRun::search_kept() {
  const auto question = question_to_keep();
  KeptAnswers* const kept = question ? search_.kept_.find(*question) : nullptr;
  if (kept == nullptr) return false;
  kept->catch_up(host_.snapshot);
  const framework::NominatedPods* const nominated = context_.nominated();
  const bool any_nominated = nominated != nullptr && !nominated->empty();
  asked_.clear();
  for (const cache::Slot slot : nodes_) {
    if (any_nominated && nominated->contains(slot)) kept->forget(slot);  // such pods are no part of the node
    if (kept->kind(slot) == KeptAnswers::Kind::unknown) asked_.push_back(slot);
  }
  keeping_ = kept;
  search(asked_);
  keeping_ = nullptr;
  if (search_.reuse_ == AnswerReuse::verify) check_kept(*kept);
  search_.kept_.settle();
  ++search_.kept_counts_.searches;
  search_.kept_counts_.asked += asked_.size();

  without_room_.clear();
  without_victims_ = 0;
  cache::Slot best = cache::k_no_slot, second = cache::k_no_slot;
  std::uint32_t candidates = 0;
  for (const cache::Slot slot : nodes_) {
    switch (kept->kind(slot)) {
      case KeptAnswers::Kind::unknown:
        break;  // broken_ says why
      case KeptAnswers::Kind::no_victims:
        ++without_victims_;
        break;
      case KeptAnswers::Kind::no_room:
        without_room_.push_back(slot);
        break;
      case KeptAnswers::Kind::room:
        ++candidates;
        if (best == cache::k_no_slot || smaller(kept->rank(slot), kept->rank(best)))
          second = std::exchange(best, slot);
        else if (second == cache::k_no_slot || smaller(kept->rank(slot), kept->rank(second)))
          second = slot;
        break;
    }
  }
  if (best != cache::k_no_slot) {
    // Who has to go is not kept: the node is asked for that, and what it says has to agree.
    run_chunk(std::span(&best, 1));
    if (!choice_.best ||
        !std::equal(kept->rank(best), kept->rank(best) + request_.policy->rank_words, choice_.best->rank.begin())) {
      ++search_.kept_counts_.refuted;
      kept->refute();
      choice_ = {};
      choice_.cycle_id = context_.cycle_id();
      violating_ = 0;
      broken_.clear();
      without_room_.clear();
      without_victims_ = 0;
      return false;
    }
    if (second != cache::k_no_slot) {
      choice_.second.emplace();
      choice_.second->slot = second;
      choice_.second->violations = kept->violations(second);
      std::copy_n(kept->rank(second), request_.policy->rank_words, choice_.second->rank.begin());
    }
  }
  choice_.candidates = candidates;
  choice_.searched = node_count_;
  if (any_nominated)
    for (const auto& [slot, pods] : *nominated) kept->forget(slot);
  return true;
}

/// Asks every node again. What differs is told, and what the nodes say now takes the place of what they said.
void VictimSearchRun::check_kept(KeptAnswers& kept) {
  KeptAnswers fresh(kept.question(), true);
  fresh.catch_up(host_.snapshot);
  keeping_ = &fresh;
  search(nodes_);
  keeping_ = nullptr;
  for (const cache::Slot slot : nodes_) {
    using Kind = KeptAnswers::Kind;
    const Kind was = kept.kind(slot), is = fresh.kind(slot);
    if (is == Kind::unknown || was == Kind::unknown || kept.agrees(fresh, slot)) continue;
    const framework::PluginInstance* const plugin = is == Kind::no_room    ? fresh.rejector(slot)
                                                    : was == Kind::no_room ? kept.rejector(slot)
                                                                           : only_filter();
    search_.changed_answers_.push_back({slot, plugin, text_of(kept, slot), text_of(fresh, slot)});
    if (search_.changed_answers_.size() == VictimSearch::k_changed_answers_max) break;
  }
  search_.kept_counts_.changed += search_.changed_answers_.size();
  kept.take(fresh);
}

const framework::PluginInstance* VictimSearchRun::only_filter() const noexcept {
  const framework::PluginInstance* only = nullptr;
  for (const framework::PluginInstance* filter : context_.profile().filter) {
    if (context_.skips_filter(*filter)) continue;
    if (only != nullptr) return nullptr;
    only = filter;
  }
  return only;
}

std::string VictimSearchRun::text_of(const KeptAnswers& answers, cache::Slot slot) const {
  switch (answers.kind(slot)) {
    case KeptAnswers::Kind::no_victims:
      return "no pod may go";
    case KeptAnswers::Kind::no_room:
      return "evictions make no room";
    case KeptAnswers::Kind::room:
      break;
    case KeptAnswers::Kind::unknown:
      return "not asked";
  }
  std::string text = "evictions make room, of rank";
  for (std::uint32_t w = 0; w < request_.policy->rank_words; ++w) text += fmt::format(" {}", answers.rank(slot)[w]);
  return text;
}

void VictimSearchRun::no_room(cache::Slot slot, const framework::PluginInstance* rejector) {
  if (keeping_ != nullptr) keeping_->keep(slot, KeptAnswers::Kind::no_room, rejector);
  without_room_.push_back(slot);
}

}  // namespace berth::preemption
