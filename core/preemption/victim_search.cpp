// SPDX-License-Identifier: Apache-2.0
#include "preemption/victim_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bitmap.hpp"
#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"
#include "preemption/preemption_messages.hpp"
#include "preemption/victim_search_run.hpp"
#include "preemption/what_if.hpp"

namespace berth::preemption {

const VictimChoice& VictimSearch::run(framework::CycleContext& context, const berth_preemption_request_v1& request,
                                      void* self, const CandidateReview& review, const framework::PodFields& shown) {
  changed_answers_.clear();
  return last_ = VictimSearchRun(*this, context, request, self, review, shown).choose();
}

VictimSearchRun::VictimSearchRun(VictimSearch& search, framework::CycleContext& context,
                                 const berth_preemption_request_v1& request, void* self, const CandidateReview& review,
                                 const framework::PodFields& shown)
    : Buffers(std::move(search.buffers_)),
      search_(search),
      host_(search.host_),
      budgets_(search.budgets_),
      index_(search.index_),
      rows_(search.rows_),
      alone_blocks_(search.alone_blocks_),
      of_shapes_(search.of_shapes_),
      context_(context),
      request_(request),
      self_(self),
      review_(review),
      keep_all_(review != nullptr || request.sample_size != 0),
      shown_(shown) {
  without_room_.clear();
  choice_.cycle_id = context.cycle_id();
}

VictimChoice VictimSearchRun::choose() {
  choice_.outcome = decide();
  return std::move(choice_);
}

VictimChoice::Outcome VictimSearchRun::decide() {
  index_.refresh(request_.policy->importance, self_);
  match_budgets();
  rows_.begin_search(index_.shapes().size());
  if (index_.lowest_priority() >= request_.below_priority) {
    // No pod may go, wherever it is.
    nodes_.clear();
    node_count_ = without_victims_ = count_nodes();
    choice_.searched = node_count_;
  } else {
    collect_nodes();
    node_count_ = static_cast<std::uint32_t>(nodes_.size());
    if (!search_kept()) search(nodes_);
    rows_.end();
  }

  if (review_ && !candidates_.empty()) {
    if (const Status reviewed = review_(host_, *context_.pod(), candidates_); !reviewed.ok()) {
      choice_.text = reviewed.error().message;
      return Outcome::failed;
    }
    if (context_.exemption() != nullptr)
      std::erase_if(candidates_, [&](const Candidate& candidate) {
        return std::any_of(candidate.victims.begin(), candidate.victims.end(),
                           [&](cache::PodHandle victim) { return is_exempt(victim); });
      });
    if (candidates_.empty() && exempt_.empty()) {
      choice_.text = "no candidate node for preemption";
      return Outcome::none;
    }
    choice_.candidates = static_cast<std::uint32_t>(candidates_.size());
    rank_reviewed();
  }
  if (keep_all_) choose_of_all();
  if (choice_.best) {
    for (std::uint32_t w = 0; w < request_.policy->rank_words; ++w)
      choice_.criteria.emplace_back(framework::from_abi(request_.policy->criteria[w]));
    return Outcome::found;
  }
  if (!exempt_.empty()) {
    choice_.text = std::move(exempt_);
    return Outcome::none;
  }
  if (!broken_.empty()) {
    for (const auto& [slot, text] : broken_) choice_.text += (choice_.text.empty() ? "" : ", ") + text;
    return Outcome::failed;
  }
  choice_.text = why_none();
  return Outcome::none;
}

std::uint32_t VictimSearchRun::count_nodes() const noexcept {
  const std::size_t words = std::min<std::size_t>(request_.word_count, host_.snapshot.word_count());
  return static_cast<std::uint32_t>(bitmap::count_common(request_.nodes, host_.snapshot.nodes(), words));
}

void VictimSearchRun::collect_nodes() {
  nodes_.clear();
  for (const cache::Slot slot : host_.snapshot.order())
    if (slot / 64 < request_.word_count && bitmap::test(request_.nodes, slot)) nodes_.push_back(slot);
  if (request_.sample_size != 0 && !nodes_.empty())
    std::rotate(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(request_.sample_offset % nodes_.size()),
                nodes_.end());
}

void VictimSearchRun::search(std::span<const cache::Slot> nodes) {
  for (std::size_t first = 0, rows = k_first_rows; first < nodes.size() && !sample_is_full();
       first += std::exchange(rows, std::min(rows * 4, k_chunk_rows)))
    run_chunk(nodes.subspan(first, std::min(rows, nodes.size() - first)));
}

/// Upstream's rule: each list takes that many, and the search is over when both together hold as many and some node
/// needs no violation.
bool VictimSearchRun::sample_is_full() const noexcept {
  const std::uint32_t wanted = request_.sample_size;
  if (wanted == 0) return false;
  const std::uint32_t clean = std::min(choice_.candidates - violating_, wanted),
                      violating = std::min(violating_, wanted);
  return clean > 0 && clean + violating >= wanted;
}

// Budgets.

void VictimSearchRun::match_budgets() {
  budgets_.refresh();
  const auto& budgets = budgets_.all();
  const auto& shapes = index_.shapes();
  any_budget_ = !budgets.empty();
  const bool changed = budgets_.version() != of_shapes_.budgets_version;
  if (changed) search_.kept_.clear();
  if (changed || index_.numbering() != of_shapes_.numbering) of_shapes_.budgets.clear();
  of_shapes_.numbering = index_.numbering();
  of_shapes_.budgets_version = budgets_.version();
  for (std::size_t s = of_shapes_.budgets.size(); s < shapes.size(); ++s) {
    auto& matching = of_shapes_.budgets.emplace_back();
    for (std::uint32_t b = 0; b < budgets.size(); ++b)
      if (protects(budgets[b], shapes[s]->ns_symbol, shapes[s]->labels)) matching.push_back(b);
  }
  allowed_.resize(budgets.size());
  for (std::size_t b = 0; b < budgets.size(); ++b) allowed_[b] = budgets[b].allowed;
}

/// Those that a budget protects come first. Every node counts budgets from their present state.
void VictimSearchRun::order_turns(Row& row) {
  const auto first = turns_.begin() + row.offset;
  if (row.span == row.count) {
    std::iota(first, first + row.count, 0u);
  } else {
    auto next = first;
    each_victim(row, [&](std::uint32_t p) { *next++ = p - row.first; });
  }
  if (!any_budget_) return;
  const auto& budgets = budgets_.all();
  std::uint8_t* const violating = evicted_.data() + row.offset;  // borrowed: no pod is evicted yet
  touched_.clear();
  bool any = false;
  each_victim(row, [&](std::uint32_t p) {
    for (const std::uint32_t b : of_shapes_.budgets[pods_[p].shape]) {
      const auto& disrupted = budgets[b].disrupted;
      if (!disrupted.empty()) {
        const model::PodPtr pod = host_.pod_of(pods_[p].handle);
        if (pod && std::binary_search(disrupted.begin(), disrupted.end(), pod->name)) continue;
      }
      touched_.push_back(b);
      if (--allowed_[b] < 0) violating[p - row.first] = 1;
    }
    any = any || violating[p - row.first] != 0;
  });
  for (const std::uint32_t b : touched_) allowed_[b] = budgets[b].allowed;
  if (!any) return;
  const auto middle =
      std::stable_partition(first, first + row.count, [&](std::uint32_t v) { return violating[v] != 0; });
  row.protected_count = static_cast<std::uint32_t>(middle - first);
  std::fill_n(violating, row.span, std::uint8_t{0});
}

// One block of nodes.

void VictimSearchRun::collect_victims(std::span<const cache::Slot> slots) {
  chunk_.clear();
  chunk_slots_.clear();
  pods_ = index_.pods();
  facts_ = index_.facts();
  const framework::NominatedPods* const nominated = context_.nominated();
  std::uint32_t offset = 0;
  for (const cache::Slot slot : slots) {
    Row row = row_of(slot);
    row.offset = offset;
    if (row.count == 0) {
      ++without_victims_;
      if (keeping_ != nullptr) keeping_->keep(slot, KeptAnswers::Kind::no_victims);
      continue;
    }
    offset += row.span;
    if (nominated != nullptr && nominated->contains(slot)) row.alone = true;
    chunk_.push_back(row);
    chunk_slots_.push_back(slot);
  }
  evicted_.assign(offset, 0);
  turns_.resize(offset);
}

/// Which pods of a node may go. Where the policy is not asked and all have a lower priority, no pod is looked at.
VictimSearchRun::Row VictimSearchRun::row_of(cache::Slot slot) {
  const VictimIndex::Range range = index_.range(slot);
  const VictimIndex::Whole& whole = index_.whole(slot);
  Row row;
  if (range.count != 0 && request_.may_go == nullptr && whole.highest_priority < request_.below_priority) {
    row.first = range.first;
    row.count = row.span = range.count;
    row.alone = whole.has_lists;
    row.is_whole = true;
    return row;
  }
  std::uint32_t last = 0;
  for (std::uint32_t p = range.first; p < range.first + range.count; ++p) {
    if (!lets_go(p, slot)) continue;
    if (row.count++ == 0) row.first = p;
    last = p;
    row.alone = row.alone || pods_[p].has_lists;
  }
  if (row.count != 0) row.span = last - row.first + 1;
  return row;
}

/// Asks the policy about a pod that its priority would let go, and keeps the answer for the search.
bool VictimSearchRun::lets_go(std::uint32_t p, cache::Slot slot) {
  if (facts_[p].priority >= request_.below_priority) return false;
  if (request_.may_go == nullptr) return true;
  const model::PodPtr pod = host_.pod_of(pods_[p].handle);
  if (!pod) return false;
  view_arena_.reset();
  framework::PodView view;
  view.reset(*pod, view_arena_);
  if (request_.may_go(request_.may_go_arg, view.view(shown_), slot) != 0) return true;
  if (stays_.size() <= p) stays_.resize(p + 1, 0);
  stays_[p] = 1;
  return false;
}

/// Puts a pod back; the amounts of the one that had to go before it leave in the same pass.
void VictimSearchRun::put_back(std::uint32_t r, Row& row, std::uint32_t victim) {
  const PodOnNode& pod = pods_[row.first + victim];
  if (row.leaving == k_no_pod)
    rows_.charge(r, index_.amounts()[pod.amounts], +1);
  else if (const std::uint32_t leaving = pods_[row.first + row.leaving].amounts; leaving != pod.amounts)
    rows_.exchange(r, index_.amounts()[pod.amounts], index_.amounts()[leaving]);
  row.leaving = k_no_pod;
  if (rows_.needs_model(pod)) tell(r, pod, +1);
}

void VictimSearchRun::take_out(std::uint32_t r, Row& row, std::uint32_t victim) {
  row.leaving = victim;
  if (const PodOnNode& pod = pods_[row.first + victim]; rows_.needs_model(pod)) tell(r, pod, -1);
}

void VictimSearchRun::tell(std::uint32_t r, const PodOnNode& pod, int sign) {
  const model::PodPtr model = host_.pod_of(pod.handle);
  rows_.charge_rest(r, *model, sign);
  rows_.tell(r, *model, *index_.shapes()[pod.shape], pod.shape, sign > 0);
}

void VictimSearchRun::remove_all(std::uint32_t r, const Row& row) {
  const VictimIndex::Whole& whole = index_.whole(chunk_slots_[r]);
  if (row.is_whole && !rows_.needs_models(whole.has_scalars)) return rows_.charge(r, whole.sum, -1);
  Amounts sum{};
  each_victim(row, [&](std::uint32_t p) {
    const PodOnNode& pod = pods_[p];
    if (!row.is_whole)
      for (std::size_t a = 0; a < k_amounts; ++a) sum[a] += index_.amounts()[pod.amounts][a];
    if (rows_.needs_model(pod)) tell(r, pod, -1);
  });
  rows_.charge(r, row.is_whole ? whole.sum : sum, -1);
}

void VictimSearchRun::run_chunk(std::span<const cache::Slot> slots) {
  choice_.searched += static_cast<std::uint32_t>(slots.size());
  collect_victims(slots);
  if (chunk_.empty()) return;
  const std::span<const cache::Slot> nodes = chunk_slots_;
  rows_.begin(context_, nodes);
  const std::size_t words = bitmap::words_for(chunk_.size());
  alive_.assign(words, 0);
  const framework::NominatedPods* const nominated = context_.nominated();
  for (std::uint32_t r = 0; r < chunk_.size(); ++r) {
    Row& row = chunk_[r];
    if (row.alone && !rows_.reads_lists() && (nominated == nullptr || !nominated->contains(nodes[r])))
      row.alone = false;
    if (row.alone) continue;
    bitmap::set(alive_.data(), r);
    remove_all(r, row);
  }
  // 1. Without all of them.
  trial_ = alive_;
  if (wants_rejectors()) verdicts_.assign(words * 64, {});
  rows_.judge(alive_.data(), false, wants_rejectors() ? std::span(verdicts_) : std::span<framework::NodeVerdict>());
  bitmap::for_each(trial_.data(), words, [&](std::size_t r) {
    if (bitmap::test(alive_.data(), r)) return;
    const auto row = static_cast<std::uint32_t>(r);
    if (rows_.error(row).empty())
      no_room(nodes[r], wants_rejectors() ? verdicts_[r].plugin : nullptr);
    else
      broken_.emplace(nodes[r], rows_.error(row));
  });
  bitmap::for_each(alive_.data(), words, [&](std::size_t r) { order_turns(chunk_[r]); });
  // 2. One after the other back.
  take_back(nodes);
  for (std::uint32_t r = 0; r < chunk_.size(); ++r) {
    if (!chunk_[r].alone) continue;
    bool fits = false;
    search_alone(chunk_[r], nodes[r], fits);
    if (fits) bitmap::set(alive_.data(), r);
  }
  // 3. What is left is a candidate.
  finish(nodes);
}

void VictimSearchRun::take_back(std::span<const cache::Slot> slots) {
  const std::size_t words = alive_.size();
  const bool gives_up = gives_up_early();
  gave_up_ = false;
  for (std::uint32_t turn = 0;; ++turn) {
    trial_.assign(words, 0);
    bool any = false;
    bitmap::for_each(alive_.data(), words, [&](std::size_t r) {
      Row& row = chunk_[r];
      if (turn >= row.count) return;
      any = true;
      bitmap::set(trial_.data(), r);
      put_back(static_cast<std::uint32_t>(r), row, turns_[row.offset + turn]);
    });
    if (!any) break;
    ranks_.assign(trial_.begin(), trial_.end());  // who was asked
    rows_.judge(trial_.data(), true, {});
    changed_.clear();
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t rest = ranks_[w] & ~trial_[w]; rest != 0; rest &= rest - 1)
        changed_.push_back(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
    for (const std::uint32_t r : changed_) {
      Row& row = chunk_[r];
      const std::uint32_t v = turns_[row.offset + turn];
      evicted_[row.offset + v] = 1;
      ++row.evicted;
      if (turn < row.protected_count) ++row.violations;
      take_out(r, row, v);
      if (rows_.any_error() && !rows_.error(r).empty()) {
        bitmap::clear(alive_.data(), r);
        broken_.emplace(slots[r], rows_.error(r));
      }
    }
    if (gives_up) give_up_hopeless();
  }
  quiet_chunks_ = gave_up_ ? 0 : quiet_chunks_ + 1;
}

void VictimSearchRun::rank_rows(std::span<const std::uint32_t> rows) {
  to_rank_.clear();
  for (const std::uint32_t r : rows)
    to_rank_.push_back(
        {facts_ + chunk_[r].first, evicted_.data() + chunk_[r].offset, chunk_[r].span, chunk_[r].violations});
  ranks_.resize(rows.size() * request_.policy->rank_words);
  if (!rows.empty())
    request_.policy->rank(self_, to_rank_.data(), static_cast<std::uint32_t>(to_rank_.size()), ranks_.data());
}

/// Nodes that cannot win any more: more victims only make it worse, and of equals the earlier node is taken.
bool VictimSearchRun::gives_up_early() const noexcept {
  // Where nodes are all alike it never helps; then it is only tried now and then.
  return choice_.best && !keep_all_ && keeping_ == nullptr && (quiet_chunks_ < 2 || quiet_chunks_ % 8 == 0);
}

void VictimSearchRun::give_up_hopeless() {
  std::erase_if(changed_, [&](std::uint32_t r) { return !bitmap::test(alive_.data(), r); });
  rank_rows(changed_);
  const std::uint32_t words = request_.policy->rank_words;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    if (smaller(&ranks_[i * words], choice_.best->rank.data())) continue;
    bitmap::clear(alive_.data(), changed_[i]);
    gave_up_ = true;
    ++choice_.candidates;  // evictions would make room there
    if (chunk_[changed_[i]].violations != 0) ++violating_;
  }
}

bool VictimSearchRun::smaller(const std::uint64_t* a, const std::uint64_t* b) const noexcept {
  for (std::uint32_t w = 0; w < request_.policy->rank_words; ++w)
    if (a[w] != b[w]) return a[w] < b[w];
  return false;
}

Candidate VictimSearchRun::candidate_of(const Row& row, cache::Slot slot, const std::uint64_t* rank) const {
  Candidate candidate;
  candidate.slot = slot;
  candidate.violations = row.violations;
  std::copy_n(rank, request_.policy->rank_words, candidate.rank.begin());
  for (std::uint32_t v = 0; v < row.span; ++v)
    if (evicted_[row.offset + v] != 0) candidate.victims.push_back(pods_[row.first + v].handle);
  return candidate;
}

bool VictimSearchRun::is_exempt(cache::PodHandle handle) {
  const model::PodPtr pod = host_.pod_of(handle);
  const char* const why = pod == nullptr ? nullptr : (*context_.exemption())(*pod);
  if (why != nullptr && exempt_.empty()) exempt_ = framework::sparing(*pod, why);
  return why != nullptr;
}

bool VictimSearchRun::evicts_exempt(const Row& row) {
  for (std::uint32_t v = 0; v < row.span; ++v)
    if (evicted_[row.offset + v] != 0 && is_exempt(pods_[row.first + v].handle)) return true;
  return false;
}

void VictimSearchRun::finish(std::span<const cache::Slot> slots) {
  changed_.clear();
  bitmap::for_each(alive_.data(), alive_.size(), [&](std::size_t r) {
    if (chunk_[r].evicted != 0) {
      changed_.push_back(static_cast<std::uint32_t>(r));
      return;
    }
    // Filters that let the pod in with all victims back contradict what they said before.
    broken_.emplace(slots[r], fmt::format("expected at least one victim pod on node \"{}\"",
                                          host_.snapshot.row(slots[r]).node->name));
  });
  if (context_.exemption() != nullptr)
    std::erase_if(changed_, [&](std::uint32_t r) { return evicts_exempt(chunk_[r]); });
  rank_rows(changed_);
  const std::uint32_t words = request_.policy->rank_words;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const Row& row = chunk_[changed_[i]];
    const cache::Slot slot = slots[changed_[i]];
    if (keeping_ != nullptr) {
      keeping_->keep_room(slot, row.violations, &ranks_[i * words]);
      continue;
    }
    if (keep_all_) {
      if (sample_is_full()) return;
      const std::uint32_t wanted = request_.sample_size;
      const std::uint32_t held = row.violations != 0 ? violating_ : choice_.candidates - violating_;
      if (wanted == 0 || held < wanted) candidates_.push_back(candidate_of(row, slot, &ranks_[i * words]));
    } else if (!choice_.second || smaller(&ranks_[i * words], choice_.second->rank.data())) {
      take(candidate_of(row, slot, &ranks_[i * words]));
    }
    ++choice_.candidates;
    if (row.violations != 0) ++violating_;
  }
}

/// Upstream lists nodes without violations first; the earliest of equals wins.
void VictimSearchRun::choose_of_all() {
  std::stable_partition(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.violations == 0; });
  for (Candidate& candidate : candidates_) take(candidate);
}

/// Others may have named nodes and victims of their own: what follows from these is computed again.
void VictimSearchRun::rank_reviewed() {
  for (Candidate& candidate : candidates_) {
    const VictimIndex::Range range = index_.range(candidate.slot);
    evicted_.assign(range.count, 0);
    std::vector<cache::PodHandle> by_importance;
    for (std::uint32_t p = 0; p < range.count; ++p) {
      const cache::PodHandle handle = index_.pods()[range.first + p].handle;
      if (std::find(candidate.victims.begin(), candidate.victims.end(), handle) == candidate.victims.end()) continue;
      evicted_[p] = 1;
      by_importance.push_back(handle);
    }
    candidate.victims = std::move(by_importance);
    const berth_victims_v1 victims{index_.facts() + range.first, evicted_.data(), range.count, candidate.violations};
    request_.policy->rank(self_, &victims, 1, candidate.rank.data());
  }
}

/// Keeps the best and the second best.
void VictimSearchRun::take(Candidate candidate) {
  if (!choice_.best || smaller(candidate.rank.data(), choice_.best->rank.data())) {
    choice_.second = std::move(choice_.best);
    choice_.best = std::move(candidate);
  } else if (!choice_.second || smaller(candidate.rank.data(), choice_.second->rank.data())) {
    choice_.second = std::move(candidate);
  }
}

// One node by itself.

Result<framework::NodeVerdict> VictimSearchRun::judge_alone(const Row& row, cache::Slot slot) {
  const std::vector<const framework::PluginInstance*> filters(context_.profile().filter.begin(),
                                                              context_.profile().filter.end());
  const framework::NominatedPods* const nominated = context_.nominated();
  const auto others = nominated == nullptr ? framework::NominatedPods::const_iterator{} : nominated->find(slot);
  const bool with_others = nominated != nullptr && others != nominated->end();
  const auto judge = [&](bool with) -> Result<framework::NodeVerdict> {
    Status told = Unit{};
    WhatIf what_if(context_, alone_blocks_, slot, filters);
    // All of them leave before some come back, as upstream: what two pods hold, a host port for one, is free only once both
    // are gone, and is taken again by the first that comes back.
    each_victim(row, [&](std::uint32_t p) {
      if (told.ok()) told = what_if.remove(*host_.pod_of(pods_[p].handle), pods_[p].handle);
    });
    each_victim(row, [&](std::uint32_t p) {
      if (told.ok() && evicted_[row.offset + (p - row.first)] == 0)
        told = what_if.add(*host_.pod_of(pods_[p].handle), pods_[p].handle);
    });
    if (with)
      for (const model::PodPtr& pod : others->second)
        if (told.ok()) told = what_if.add(*pod);
    if (!told.ok()) return told.error();
    return what_if.judge();
  };
  if (with_others)
    if (auto verdict = judge(true); !verdict.ok() || verdict->code != framework::Code::success) return verdict;
  return judge(false);
}

void VictimSearchRun::evict_all(const Row& row) {
  each_victim(row, [&](std::uint32_t p) { evicted_[row.offset + (p - row.first)] = 1; });
}

void VictimSearchRun::search_alone(Row& row, cache::Slot slot, bool& fits) {
  fits = false;
  const auto broken = [&](const Result<framework::NodeVerdict>& verdict) {
    if (!verdict.ok())
      broken_.emplace(slot, verdict.error().message);
    else if (verdict->code == framework::Code::error)
      broken_.emplace(slot, framework::Verdict{verdict->code, verdict->plugin->index(),
                                               framework::sentences(*verdict->plugin, verdict->reason)}
                                .message());
    return !verdict.ok() || verdict->code == framework::Code::error;
  };
  order_turns(row);
  evict_all(row);
  Result<framework::NodeVerdict> verdict = judge_alone(row, slot);
  if (broken(verdict)) return;
  if (verdict->code != framework::Code::success) return no_room(slot, verdict->plugin);
  for (std::uint32_t turn = 0; turn < row.count; ++turn) {
    const std::uint32_t v = row.offset + turns_[row.offset + turn];
    evicted_[v] = 0;
    verdict = judge_alone(row, slot);
    if (broken(verdict)) return;
    if (verdict->code == framework::Code::success) continue;
    evicted_[v] = 1;
    ++row.evicted;
    if (turn < row.protected_count) ++row.violations;
  }
  fits = true;
}

// Where no node was found.

std::string VictimSearchRun::why_none() {
  const std::string_view no_victims = framework::from_abi(request_.no_victims),
                         not_searched = framework::from_abi(request_.not_searched);
  const std::uint32_t left_out = host_.snapshot.node_count() - std::min(node_count_, host_.snapshot.node_count());
  RuledOutNodes ruled_out;
  if (without_room_.empty() && no_victims != not_searched) {
    // Most pods that fit nowhere have a priority that nothing is below.
    ruled_out.add(without_victims_, no_victims);
    ruled_out.add(left_out, not_searched);
    return std::move(ruled_out).sentence(host_.snapshot.node_count());
  }
  std::map<std::string, std::uint32_t> counted;
  if (without_victims_ != 0) counted[std::string(no_victims)] += without_victims_;
  if (left_out != 0) counted[std::string(not_searched)] += left_out;

  std::map<std::pair<const framework::PluginInstance*, berth_reason>, std::uint32_t> by_reason;
  const auto add = [&](const framework::NodeVerdict& verdict) {
    if (verdict.plugin != nullptr) ++by_reason[{verdict.plugin, verdict.reason}];
  };
  std::vector<cache::Slot> slots;
  std::swap(slots, without_room_);
  std::vector<framework::NodeVerdict> verdicts;
  for (std::size_t first = 0; first < slots.size(); first += k_chunk_rows) {
    const auto chunk = std::span<const cache::Slot>(slots).subspan(first, std::min(k_chunk_rows, slots.size() - first));
    collect_victims(chunk);
    const framework::NominatedPods* const nominated = context_.nominated();
    rows_.begin(context_, chunk_slots_);
    alive_.assign(bitmap::words_for(chunk_.size()), 0);
    for (std::uint32_t r = 0; r < chunk_.size(); ++r) {
      const Row& row = chunk_[r];
      if (row.alone && (rows_.reads_lists() || (nominated != nullptr && nominated->contains(chunk_slots_[r])))) {
        evict_all(row);
        if (const auto verdict = judge_alone(row, chunk_slots_[r]); verdict.ok()) add(*verdict);
        continue;
      }
      bitmap::set(alive_.data(), r);
      remove_all(r, row);
    }
    verdicts.assign(alive_.size() * 64, {});
    rows_.judge(alive_.data(), false, verdicts);
    for (const framework::NodeVerdict& verdict : verdicts) add(verdict);
  }
  rows_.end();
  for (const auto& [key, count] : by_reason)
    for (std::string& reason : framework::sentences(*key.first, key.second)) counted[std::move(reason)] += count;

  for (const auto& [reason, count] : counted) ruled_out.add(count, reason);
  return std::move(ruled_out).sentence(host_.snapshot.node_count());
}

}  // namespace berth::preemption
