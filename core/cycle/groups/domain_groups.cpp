// SPDX-License-Identifier: Apache-2.0
#include "cycle/groups/domain_groups.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cycle/reuse/allocated_bytes.hpp"

namespace berth::cycle {

std::shared_ptr<const DomainSlots> DomainSlotsCache::get(const framework::PluginInstance& plugin,
                                                         const berth_domain_column_v1& column,
                                                         const cache::Snapshot& snapshot) {
  ++clock_;
  for (Known& known : known_)
    if (known.plugin == &plugin && known.table == column.table && column.table != 0) {
      known.used = clock_;
      return known.slots;
    }
  auto made = std::make_shared<DomainSlots>();
  made->first.assign(std::size_t{column.domain_count} + 1, 0);
  const auto domain_at = [&](cache::Slot slot) {
    const std::uint32_t domain = column.domain_of[slot];
    return domain < column.domain_count ? domain : 0;
  };
  bitmap::for_each(snapshot.nodes(), snapshot.word_count(),
                   [&](std::size_t slot) { ++made->first[domain_at(static_cast<cache::Slot>(slot)) + 1]; });
  for (std::size_t d = 0; d < column.domain_count; ++d) made->first[d + 1] += made->first[d];
  made->slots.resize(made->first.back());
  std::vector<std::uint32_t> next(made->first.begin(), made->first.end() - 1);
  bitmap::for_each(snapshot.nodes(), snapshot.word_count(), [&](std::size_t at) {
    const auto slot = static_cast<cache::Slot>(at);
    made->slots[next[domain_at(slot)]++] = slot;
  });
  if (column.table == 0) return made;
  if (known_.size() < k_tables_max) {
    known_.emplace_back();
  } else {
    std::swap(
        *std::min_element(known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.used < b.used; }),
        known_.back());
  }
  known_.back() = {&plugin, column.table, clock_, made};
  return made;
}

bool DomainGroups::same_columns(const framework::DomainColumns& columns, std::span<const RowScores> rows) const {
  if (columns.columns.size() != columns_.size() || rows.size() != row_scorers_.size()) return false;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].scorer != row_scorers_[i]) return false;
  for (const auto* ranges : {&columns.filters, &columns.scorers})
    for (const framework::DomainColumns::Range& range : *ranges)
      for (std::uint32_t c = range.first; c < range.first + range.count; ++c) {
        const Column& mine = columns_[c];
        const berth_domain_column_v1& now = columns.columns[c];
        if (mine.plugin != range.plugin || mine.raw.version != now.version || mine.raw.flags != now.flags ||
            mine.raw.domain_count != now.domain_count || now.changed_end < mine.seen ||
            now.changed_end - mine.seen > now.changed_count)
          return false;
      }
  return true;
}

std::optional<GroupRanking::Group> DomainGroups::spare_group() {
  if (spare_.empty() && groups_ >= next_sweep_) {  // those that have become empty make room
    boost::unordered::erase_if(by_key_, [this](const auto& known) {
      if (ranking_.size(known.second) != 0) return false;
      spare_.push_back(known.second);
      return true;
    });
    next_sweep_ = std::clamp<std::size_t>(2 * by_key_.size(), k_first_sweep, GroupRanking::k_groups_max);
  }
  if (spare_.empty() && groups_ < GroupRanking::k_groups_max) return static_cast<GroupRanking::Group>(groups_++);
  if (spare_.empty()) return std::nullopt;
  const GroupRanking::Group group = spare_.back();
  spare_.pop_back();
  return group;
}

std::optional<GroupRanking::Group> DomainGroups::group_for() {
  const auto parts_of = [this](GroupRanking::Group group) {
    return parts_.begin() + static_cast<std::ptrdiff_t>(group * width_);
  };
  // Neighbours are often alike.
  if (last_ != GroupRanking::k_no_group && std::equal(key_.begin(), key_.end(), parts_of(last_))) return last_;
  key_bytes_.clear();
  for (const Part& each : key_) {
    key_bytes_.append(reinterpret_cast<const char*>(&each.domain), sizeof each.domain);
    key_bytes_.append(reinterpret_cast<const char*>(&each.value), sizeof each.value);
  }
  if (const auto known = by_key_.find(key_bytes_); known != by_key_.end()) return last_ = known->second;
  last_ = GroupRanking::k_no_group;
  const std::optional<GroupRanking::Group> group = spare_group();
  if (!group) return std::nullopt;
  by_key_.emplace(key_bytes_, *group);
  ranking_.open(*group);
  parts_.resize(std::max(parts_.size(), (*group + std::size_t{1}) * width_));
  std::copy(key_.begin(), key_.end(), parts_of(*group));
  return last_ = *group;
}

bool DomainGroups::place(const Nodes& nodes, std::span<const RowScores> rows, cache::Slot slot) {
  const std::uint32_t at = nodes.snapshot.order_index()[slot];
  if (at == cache::k_no_slot) return true;
  if (!bitmap::test(nodes.pass, slot)) {
    ranking_.remove(turned(at));
    return true;
  }
  std::size_t i = 0;
  for (const Column& column : columns_) {
    const std::uint32_t told = column.raw.domain_of[slot];
    const std::uint32_t domain = told < column.raw.domain_count ? told : 0;
    key_[i++] = column.told_apart ? Part{domain, 0} : domain == 0 ? Part{} : Part{1, column.raw.values[domain]};
  }
  for (const RowScores& row : rows) key_[i++] = {1, row.raw[at]};
  const std::optional<GroupRanking::Group> group = group_for();
  if (!group) return false;
  ranking_.put(turned(at), *group, nodes.totals[at]);
  return true;
}

bool DomainGroups::rebuild(const Nodes& nodes, const framework::DomainColumns& columns, std::span<const RowScores> rows,
                           DomainSlotsCache& slots) {
  start_ = nodes.start;
  membership_ = nodes.snapshot.membership_generation();
  moved_ = true;
  columns_.assign(columns.columns.size(), {});
  for (const auto* ranges : {&columns.filters, &columns.scorers})
    for (const framework::DomainColumns::Range& range : *ranges)
      for (std::uint32_t c = range.first; c < range.first + range.count; ++c) {
        const berth_domain_column_v1& raw = columns.columns[c];
        const bool told_apart = (raw.flags & BERTH_DOMAIN_TELL_APART) != 0;
        columns_[c] = {range.plugin, raw, told_apart, raw.changed_end, nullptr};
        if (!told_apart) columns_[c].slots = slots.get(*range.plugin, raw, nodes.snapshot);
      }
  row_scorers_.clear();
  for (const RowScores& row : rows) row_scorers_.push_back(row.scorer);
  width_ = columns_.size() + rows.size();
  key_.assign(width_, {});
  parts_.clear();
  by_key_.clear();
  spare_.clear();
  groups_ = 0;
  next_sweep_ = k_first_sweep;
  last_ = GroupRanking::k_no_group;
  ranking_.reset(nodes.snapshot.order().size());
  return std::all_of(nodes.snapshot.order().begin(), nodes.snapshot.order().end(),
                     [&](cache::Slot slot) { return place(nodes, rows, slot); });
}

bool DomainGroups::update(const Nodes& nodes, const framework::DomainColumns& columns, std::span<const RowScores> rows,
                          DomainSlotsCache& slots) {
  if (!known_ || nodes.all_changed || start_ != nodes.start || membership_ != nodes.snapshot.membership_generation() ||
      !same_columns(columns, rows))
    return known_ = rebuild(nodes, columns, rows, slots);
  known_ = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].raw = columns.columns[c];
  for (Column& column : columns_) {
    const berth_domain_column_v1& raw = column.raw;
    const std::uint64_t first = raw.changed_end - raw.changed_count;
    moved_ = moved_ || column.seen != raw.changed_end;
    for (std::uint64_t i = column.seen; i != raw.changed_end && !column.told_apart; ++i) {
      const std::uint32_t domain = raw.changed[i - first];
      if (domain == 0 || domain >= raw.domain_count) continue;
      for (const cache::Slot slot : column.slots->of(domain))
        if (!place(nodes, rows, slot)) return false;
    }
    column.seen = raw.changed_end;
  }
  for (const cache::Slot slot : nodes.changed)
    if (!place(nodes, rows, slot)) return false;
  return known_ = true;
}

void DomainGroups::show(std::span<const GroupRanking::Group> groups) {
  view_.count = static_cast<std::uint32_t>(groups.size());
  view_.values.resize(columns_.size());
  view_.domains.resize(columns_.size());
  view_.nodes.resize(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) view_.nodes[g] = ranking_.size(groups[g]);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    view_.values[c].resize(groups.size());
    view_.domains[c].resize(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Part& key = part(groups[g], c);
      view_.domains[c][g] = key.domain;
      view_.values[c][g] = !column.told_apart ? key.value : key.domain == 0 ? 0 : column.raw.values[key.domain];
    }
  }
}

bool DomainGroups::judge(framework::CycleContext& context, const framework::DomainColumns& columns) {
  open_.clear();
  feasible_ = 0;
  for (std::size_t g = 0; g < groups_; ++g)
    if (ranking_.size(static_cast<GroupRanking::Group>(g)) != 0) open_.push_back(static_cast<GroupRanking::Group>(g));
  if (!columns.filters.empty() && !open_.empty()) {
    show(open_);
    passed_.assign((open_.size() + 63) / 64, ~std::uint64_t{0});
    for (const framework::DomainColumns::Range& range : columns.filters) {
      if (!framework::run_filter_groups(context, range, view_, pass_)) return false;
      for (std::size_t w = 0; w < passed_.size(); ++w) passed_[w] &= pass_[w];
    }
    std::size_t kept = 0;
    for (std::size_t g = 0; g < open_.size(); ++g)
      if (bitmap::test(passed_.data(), g)) open_[kept++] = open_[g];
    open_.resize(kept);
  }
  for (const GroupRanking::Group group : open_) feasible_ += ranking_.size(group);
  return true;
}

void DomainGroups::list_candidates(bool with_sums) {
  candidates_.clear();
  for (std::size_t g = 0; g < open_.size(); ++g)
    candidates_.push_back({open_[g], with_sums ? static_cast<std::int32_t>(sums_[g]) : 0});
}

cache::Slot DomainGroups::only(const cache::Snapshot& snapshot) {
  list_candidates(false);
  return slot_at(snapshot, ranking_.first(candidates_));
}

bool DomainGroups::add_scores(const framework::Scorer& scorer, std::uint32_t kind) {
  framework::NormRange range;
  if (kind != BERTH_NORM_NONE) {
    const auto [min, max] = std::minmax_element(scores_.begin(), scores_.end());
    range = framework::by_minimum(kind) ? framework::NormRange{*max, *min}
                                        : framework::NormRange{std::max<std::int64_t>(*max, 0), 0};
  }
  for (std::size_t g = 0; g < scores_.size(); ++g) {
    const std::int64_t score = framework::normalized(kind, scores_[g], range);
    if (score < 0 || score > BERTH_SCORE_MAX) return false;
    sums_[g] += scorer.weight * score;
  }
  return true;
}

std::optional<BestNode> DomainGroups::best(framework::CycleContext& context, const framework::DomainColumns& columns,
                                           std::span<const RowScores> rows, const cache::Snapshot& snapshot) {
  sums_.assign(open_.size(), 0);
  if (!columns.scorers.empty()) show(open_);
  for (const framework::DomainColumns::Range& range : columns.scorers) {
    for (const framework::Scorer& scorer : context.profile().score) {
      if (scorer.plugin != range.plugin) continue;
      if (!framework::run_score_groups(context, range, view_, scores_)) return std::nullopt;
      const std::uint32_t kind = scorer.plugin->score->normalize_kind;
      if (!add_scores(scorer, kind == BERTH_NORM_CUSTOM ? std::uint32_t{BERTH_NORM_NONE} : kind)) return std::nullopt;
    }
  }
  scores_.resize(open_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t g = 0; g < open_.size(); ++g) scores_[g] = part(open_[g], columns_.size() + i).value;
    if (!add_scores(*rows[i].scorer, rows[i].scorer->plugin->score->normalize_kind)) return std::nullopt;
  }
  list_candidates(true);
  const GroupRanking::Best best = ranking_.best(candidates_);
  return BestNode{slot_at(snapshot, best.position), best.total};
}

std::size_t DomainGroups::bytes() const noexcept {
  return sizeof *this + ranking_.bytes() + allocated_bytes(parts_) + by_key_.size() * (sizeof(std::string) + 64) +
         allocated_bytes(columns_) + allocated_bytes(row_scorers_) + allocated_bytes(open_) + allocated_bytes(pass_) +
         allocated_bytes(passed_) + allocated_bytes(scores_) + allocated_bytes(sums_) + allocated_bytes(candidates_);
}

}  // namespace berth::cycle
