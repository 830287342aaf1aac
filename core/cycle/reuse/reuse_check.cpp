// SPDX-License-Identifier: Apache-2.0
#include "cycle/reuse/reuse_check.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/bitmap.hpp"

namespace berth::cycle {
namespace {

constexpr const char* k_fits = "fits";
constexpr const char* k_does_not_fit = "does not fit";

std::string score_text(std::int64_t score) { return fmt::format("score {}", score); }

/// Where the filter stands in its profile; one that there is none of stands behind them all.
std::size_t place_of(const framework::CycleContext& context, const framework::PluginInstance* filter) {
  const auto& filters = context.profile().filter;
  return static_cast<std::size_t>(std::find(filters.begin(), filters.end(), filter) - filters.begin());
}

}  // namespace

std::string UndeclaredInput::sentence() const {
  const std::string who = plugin != nullptr   ? fmt::format("plugin {}", plugin->name())
                          : point == "choice" ? std::string("berth's ranking")
                                              : std::string("a plugin that is not known yet");
  return fmt::format("{}: {} of node {} for pod {}: the kept answer was \"{}\", a fresh one is \"{}\"{}", who, point,
                     node, pod, kept, fresh,
                     point == "choice" ? "" : ", though nothing has changed that the plugin declares in deps");
}

void ReuseCheck::begin(ClassEntry& entry) {
  found_.clear();
  is_fresh_ = false;
  if (close_look_ != 0) --close_look_;
  checks_ = looks_at_all() || sample_.next();
  if (looks_at_all()) entry.keep_parts();
}

void ReuseCheck::check_filters(framework::CycleContext& context, ClassEntry& entry, std::size_t start) {
  if (!checks_) return;
  start_ = start;
  const std::uint32_t words = (blocks_.snapshot().slot_count() + 63) / 64;
  first_ = looks_at_all() || words == 0 ? 0 : 64 * sample_.any(words);
  if (!looks_at_all() && filters_agree(context, entry)) return;
  if (!look_at_all(context)) return;
  compare_filters(context, entry);
  replace(entry);
}

void ReuseCheck::check_scores(framework::CycleContext& context, ClassEntry& entry) {
  if (!checks_) return;
  if (!looks_at_all() && scores_agree(context, entry)) return;
  if (!is_fresh_) {
    if (!look_at_all(context)) return;
    compare_filters(context, entry);
  }
  if (!fresh_.update_scores(context, blocks_, buffers_).ok()) return;
  compare_scores(context, entry);
  replace(entry);
}

bool ReuseCheck::look_at_all(framework::CycleContext& context) {
  fresh_.forget();
  fresh_.keep_parts();
  is_fresh_ = fresh_.update_filters(context, blocks_, buffers_);
  if (is_fresh_) fresh_.update_feasible(blocks_.snapshot(), start_, buffers_);
  checks_ = is_fresh_;
  return is_fresh_;
}

framework::Block ReuseCheck::sampled() const {
  return blocks_.contiguous(first_, std::min(k_sampled_rows, blocks_.snapshot().slot_count() - first_));
}

bool ReuseCheck::filters_agree(framework::CycleContext& context, const ClassEntry& entry) {
  const framework::Block block = sampled();
  const std::uint64_t* const nodes = blocks_.snapshot().nodes() + first_ / 64;
  buffers_.bits.assign(nodes, nodes + block.words());
  buffers_.filters.clear();
  for (const framework::PluginInstance* filter : context.profile().filter)
    if (filter->filter_is_reusable() && !context.skips_filter(*filter)) buffers_.filters.push_back(filter);
  if (!framework::run_filters(context, blocks_, block, buffers_.filters, buffers_.bits.data(), buffers_.filter,
                              buffers_.failure))
    return true;
  return std::equal(buffers_.bits.begin(), buffers_.bits.end(), entry.pass() + first_ / 64);
}

bool ReuseCheck::scores_agree(framework::CycleContext& context, const ClassEntry& entry) {
  const framework::Block block = sampled();
  const auto positions = blocks_.snapshot().order_index();
  const std::uint64_t* const feasible = entry.pass() + first_ / 64;
  buffers_.raw.resize(block.words() * 64);
  sums_.assign(block.words() * 64, 0);
  bool agree = true;
  const auto at = [&](std::size_t row) { return positions[first_ + row]; };
  for (std::size_t i = 0; i < entry.scorer_count() && agree; ++i) {
    const framework::Scorer& scorer = entry.scorer(i);
    if (!framework::run_score(context, blocks_, block, *scorer.plugin, feasible, buffers_.raw.data()).ok()) return true;
    bitmap::for_each(feasible, block.words(), [&](std::size_t row) {
      if (i < entry.plain_count())
        sums_[row] += scorer.weight * buffers_.raw[row];
      else
        agree = agree && entry.raw_score(i, at(row)) == buffers_.raw[row];
    });
  }
  bitmap::for_each(feasible, block.words(),
                   [&](std::size_t row) { agree = agree && entry.plain_sum(at(row)) == sums_[row]; });
  return agree;
}

void ReuseCheck::compare_filters(const framework::CycleContext& context, const ClassEntry& entry) {
  const cache::Snapshot& snapshot = blocks_.snapshot();
  for (std::size_t w = 0; w < snapshot.word_count(); ++w) {
    if (!entry.keeps_parts() && entry.pass()[w] == fresh_.pass()[w]) continue;
    for (std::uint64_t left = snapshot.nodes()[w]; left != 0; left &= left - 1) {
      const auto slot = static_cast<cache::Slot>(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      const bool kept = bitmap::test(entry.pass(), slot), fresh = bitmap::test(fresh_.pass(), slot);
      const framework::PluginInstance* const now = fresh_.rejector(slot);
      const framework::PluginInstance* const before = entry.rejector(slot);
      if (kept == fresh && (!entry.keeps_parts() || before == now)) continue;
      // The one that stands first has changed its mind: what comes behind it was not asked before, or is not now.
      if (kept || (entry.keeps_parts() && !fresh && place_of(context, now) < place_of(context, before)))
        add(context, now, "filter", slot, k_fits, k_does_not_fit);
      else
        add(context, entry.keeps_parts() ? before : fresh_.only_filter(), "filter", slot, k_does_not_fit, k_fits);
    }
  }
}

void ReuseCheck::compare_scores(const framework::CycleContext& context, ClassEntry& entry) {
  const auto positions = blocks_.snapshot().order_index();
  const std::size_t plain = fresh_.plain_count();
  for (const cache::Slot slot : fresh_.feasible()) {
    if (!bitmap::test(entry.pass(), slot)) continue;  // it has no kept score
    const std::size_t at = positions[slot];
    for (std::size_t i = entry.keeps_parts() ? 0 : plain; i < fresh_.scorer_count(); ++i)
      if (entry.raw_score(i, at) != fresh_.raw_score(i, at))
        add(context, fresh_.scorer(i).plugin, "score", slot, score_text(entry.raw_score(i, at)),
            score_text(fresh_.raw_score(i, at)));
    if (!entry.keeps_parts() && entry.plain_sum(at) != fresh_.plain_sum(at))
      add(context, plain == 1 ? fresh_.scorer(0).plugin : nullptr, "score", slot, score_text(entry.plain_sum(at)),
          score_text(fresh_.plain_sum(at)));
  }
  if (!found_.empty() || !entry.has_ranking()) return;
  const cache::Slot kept = entry.best().slot, fresh = fresh_.best().slot;
  if (kept != fresh) add(context, nullptr, "choice", fresh, blocks_.snapshot().row(kept).node->name, "the node itself");
}

void ReuseCheck::add(const framework::CycleContext& context, const framework::PluginInstance* plugin, const char* point,
                     cache::Slot slot, std::string kept, std::string fresh) {
  const bool known = std::any_of(found_.begin(), found_.end(), [&](const UndeclaredInput& other) {
    return other.plugin == plugin && other.point == point;
  });
  if (known) return;
  found_.push_back({plugin, point, blocks_.snapshot().row(slot).node->name, context.pod()->key(), std::move(kept),
                    std::move(fresh)});
}

void ReuseCheck::add_choice(const framework::CycleContext& context, cache::Slot kept) {
  add(context, nullptr, "choice", kept, "the best of its groups", "another");
}

void ReuseCheck::add_victims(const framework::CycleContext& context, const preemption::ChangedAnswer& answer) {
  add(context, answer.plugin, "victims", answer.slot, answer.kept, answer.fresh);
}

void ReuseCheck::replace(ClassEntry& entry) {
  if (found_.empty()) return;
  checks_ = false;
  std::swap(entry, fresh_);
  if (!every_ && std::any_of(found_.begin(), found_.end(), [](const auto& f) { return f.plugin == nullptr; }))
    close_look_ = k_close_look + 1;
}

std::vector<UndeclaredInput> ReuseCheck::settle(framework::Framework& framework, std::uint64_t epochs) {
  std::vector<UndeclaredInput> found = std::exchange(found_, {});
  if (framework.epochs() != epochs) return {};
  for (const UndeclaredInput& input : found)
    if (input.plugin != nullptr) framework.stop_reuse(input.plugin->index());
  return found;
}

}  // namespace berth::cycle
