// SPDX-License-Identifier: Apache-2.0
/// Counts over placed pods that are kept from one pod of a class to the next, instead of being counted for each.
///
///   DomainValues   a value for each domain of a table, and which of them have changed: a column of berth.domains/1
///   ShapeShares    what each shape of pods adds to which sums, found out once per shape
///   PodJournal     brings sums up to date from the changes of pods since the last time
///   KeptByClass    one T per class of pods, the longest unused of them dropped when they take too much
///
/// Units:   bytes() are what the elements take, about.
/// Threads: [cycle], all of it. What filters of an attempt read stays as it is until the next pod of the class.
/// Source:  berth/ext/pod_index.h and domains.h. Where the host counts no changes of pods PodJournal never holds.
/// Errors:  std::bad_alloc, and what a policy's function throws; after either the sums are counted again. Failure where the host
///          refuses a column.
#pragma once
#include <berth/ext/domains.h>
#include <berth/domains.hpp>
#include <berth/services.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace berth {
inline namespace sdk {

/// One count per domain, with a journal of the domains that changed. Owns the counts, shares the table of domains.
class DomainValues {
 public:
  DomainValues() = default;
  /// All 0. A new version, so that the host reads every value.
  explicit DomainValues(DomainCache::Table table)
      : table_(std::move(table)), values_(table_->size(), 0), version_(detail::next_number()) {}

  /// What the domains are of. When the cache gives another table, values are made again for it.
  const DomainCache::Table& table() const noexcept { return table_; }
  /// By domain; [0] stays 0.
  const std::vector<std::int64_t>& values() const noexcept { return values_; }
  /// Requires: domain < table()->size().
  std::int64_t operator[](std::size_t domain) const noexcept { return values_[domain]; }
  /// Domains whose value is not 0.
  std::int64_t pairs() const noexcept { return pairs_; }

  /// Changes one value. Requires: domain != 0. The last 4,096 changes at least are remembered once begin_log() was
  /// called.
  void add(std::uint32_t domain, std::int64_t by) {
    if (by == 0) return;
    std::int64_t& value = values_[domain];
    pairs_ += (value == 0 ? 1 : 0) - (value + by == 0 ? 1 : 0);
    value += by;
    ++changes_;
    if (!logs_) return;
    changed_.push_back(domain);
    if (changed_.size() >= 2 * k_log_max) changed_.erase(changed_.begin(), changed_.begin() + k_log_max);
  }
  /// From here on changes are remembered: the first count is over.
  void begin_log() noexcept { logs_ = true; }

  /// Up to that many domains are told apart by default (BERTH_DOMAIN_TELL_APART).
  static constexpr std::size_t k_few = 32;
  /// Whether add() of DomainColumnList tells domains apart: each is a group of its own then, so a change of a value
  /// moves no node.
  bool is_few() const noexcept { return values_.size() <= k_few + 1; }
  /// The column as the ABI has it (domains.h). Borrows: good until the next add(), or the end of this object.
  berth_domain_column_v1 column(bool told_apart) const noexcept {
    berth_domain_column_v1 out{};
    out.struct_size = sizeof out;
    if (told_apart) out.flags = BERTH_DOMAIN_TELL_APART;
    out.domain_of = table_->of.data();
    out.values = values_.data();
    out.domain_count = static_cast<std::uint32_t>(values_.size());
    out.version = version_;
    out.table = table_->number;
    out.changed = changed_.data();
    out.changed_end = changes_;
    out.changed_count = static_cast<std::uint32_t>(changed_.size());
    return out;
  }
  /// Of values and journal; the table is the cache's.
  std::size_t bytes() const noexcept {
    return values_.capacity() * sizeof(std::int64_t) + changed_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::ptrdiff_t k_log_max = 4096;

  DomainCache::Table table_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> changed_;  // the last of changes_
  std::uint64_t version_ = 0, changes_ = 0;
  std::int64_t pairs_ = 0;
  bool logs_ = false;
};

/// Where a policy names its columns, in filter_columns and score_columns. Lives for the call; the host copies the
/// column, not the arrays, which stay as they are until the next pod of the class. Of all policies of a profile 16
/// columns are taken together.
class DomainColumnList {
 public:
  explicit DomainColumnList(const berth_domain_columns_v1* raw) noexcept : raw_(raw) {}
  /// Throws Failure for one that is no column, or one too many: the host then asks node by node.
  void add(const berth_domain_column_v1& column) const {
    if (raw_->add(raw_->ctx, &column) != BERTH_OK) throw Failure("a column by domain that the host does not take");
  }
  void add(const DomainValues& values) const { add(values.column(values.is_few())); }

 private:
  const berth_domain_columns_v1* raw_;
};

/// Groups of nodes that are alike in the columns that the policy named, in that order. Borrowed for the call.
class DomainGroups {
 public:
  explicit DomainGroups(const berth_domain_groups_v1* raw) noexcept : raw_(raw) {}
  /// Groups are 0 .. size() - 1.
  std::uint32_t size() const noexcept { return raw_->count; }
  /// Columns that this policy named for the point.
  std::uint32_t column_count() const noexcept { return raw_->column_count; }
  /// Nodes in the group, > 0; when scores are asked for, all of them feasible.
  std::uint32_t nodes(std::uint32_t group) const noexcept { return raw_->nodes[group]; }
  /// What every node of the group has in the column; 0 where they are in no domain.
  std::int64_t value(std::uint32_t column, std::uint32_t group) const noexcept { return raw_->values[column][group]; }
  /// 0: in none. Else the domain where the column tells domains apart, and 1 where it does not.
  std::uint32_t domain(std::uint32_t column, std::uint32_t group) const noexcept {
    return raw_->domains[column][group];
  }

 private:
  const berth_domain_groups_v1* raw_;
};

/// Argument of filter_groups. Every group passes until it is rejected. [worker]
class FilterGroups : public DomainGroups {
 public:
  FilterGroups(const berth_domain_groups_v1* raw, std::uint64_t* pass) noexcept : DomainGroups(raw), pass_(pass) {}
  /// As filter would reject each node of the group. Requires: group < size().
  void reject(std::uint32_t group) noexcept { pass_[group >> 6] &= ~(std::uint64_t{1} << (group & 63)); }

 private:
  std::uint64_t* pass_;
};

/// Answer to score_columns.
enum class ByDomain {
  yes,        // the columns are named
  nothing,    // the policy does not score this pod: pre_score would skip
  impossible  // node by node, this time
};

/// A cache of what the selectors of a policy say about shapes of pods, by shape and incarnation. PodJournal owns one.
class ShapeShares {
 public:
  /// A pod of the shape adds weight to the sum of that number; what a number means is the policy's.
  struct Share {
    std::uint32_t sum;
    std::int32_t weight;
  };
  /// All shapes are unknown.
  void clear() noexcept {
    shapes_.clear();
    shares_.clear();
  }
  /// The shares of a shape follow, by add(); an earlier incarnation of that id is forgotten.
  void begin(std::uint32_t shape, std::uint64_t incarnation) {
    if (shape >= shapes_.size()) shapes_.resize(std::size_t{shape} + 1);
    shapes_[shape] = {incarnation, static_cast<std::uint32_t>(shares_.size()), 0};
    last_ = shape;
  }
  /// Requires: begin().
  void add(std::uint32_t sum, std::int32_t weight) {
    shares_.push_back({sum, weight});
    ++shapes_[last_].count;
  }
  /// Absent: that incarnation is not known. Empty: it adds to nothing. Good until the next begin(), add() or clear().
  std::optional<std::span<const Share>> find(std::uint32_t shape, std::uint64_t incarnation) const noexcept {
    if (shape >= shapes_.size() || shapes_[shape].incarnation != incarnation) return std::nullopt;
    return std::span<const Share>(shares_).subspan(shapes_[shape].first, shapes_[shape].count);
  }
  /// What shapes that are gone have left behind takes more than the rest: count again.
  bool is_worn() const noexcept { return shares_.size() > 8 * shapes_.size() + 4096; }
  std::size_t bytes() const noexcept { return shapes_.capacity() * sizeof(Known) + shares_.capacity() * sizeof(Share); }

 private:
  // first, count: where in shares_ its own are.
  struct Known {
    std::uint64_t incarnation = 0;
    std::uint32_t first = 0, count = 0;
  };
  std::vector<Known> shapes_;
  std::vector<Share> shares_;
  std::uint32_t last_ = 0;
};

/// A place in the host's journal of pods, and the shares of the shapes in it. One per set of sums.
class PodJournal {
 public:
  /// Counts all pods of the shapes that each(visit) visits: the sums are 0 before. describe(shares, shape) -> bool
  /// calls shares.begin() and add(); false: the sums cannot hold what the shape adds. apply(share, slot, pods) adds
  /// pods times its weight.
  template <class Each, class Describe, class Apply>
  void count(const PodIndex& index, const Cycle& cycle, Each&& each, Describe&& describe, Apply&& apply) {
    shares_.clear();
    position_ = index.position(cycle);
    each([&](const berth_shape_v1& shape) {
      describe(shares_, shape);
      const auto shares = shares_.find(shape.shape, shape.incarnation);
      for (const ShapeShares::Share& share : *shares)
        for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count))
          apply(share, node.slot, std::int64_t{node.count});
    });
  }
  /// Adds what has come and gone since the last count() or follow(); `pods` of apply is below 0 for what went. False:
  /// the host has forgotten some of it, or cannot tell, or a shape does not fit. The sums may have changed in part:
  /// count again.
  template <class Describe, class Apply>
  bool follow(const PodIndex& index, const Cycle& cycle, Describe&& describe, Apply&& apply) {
    if (!position_ || shares_.is_worn()) return false;
    const std::optional<std::uint64_t> end = index.position(cycle);
    if (!end) return false;
    if (*end == *position_) return true;
    const bool holds = index.changes(cycle, *position_, [&](const berth_shape_change_v1& change) {
      auto shares = shares_.find(change.shape, change.incarnation);
      if (!shares) {
        bool fits = true;
        index.shape(cycle, change.shape, [&](const berth_shape_v1& shape) {
          if (shape.incarnation == change.incarnation) fits = describe(shares_, shape);
        });
        if (!fits) return false;
        shares = shares_.find(change.shape, change.incarnation);
        if (!shares) return true;  // came and went in between
      }
      for (const ShapeShares::Share& share : *shares) apply(share, change.slot, std::int64_t{change.by});
      return true;
    });
    position_ = holds ? end : std::nullopt;
    return holds;
  }
  /// Of the shares.
  std::size_t bytes() const noexcept { return shares_.bytes(); }

 private:
  ShapeShares shares_;
  std::optional<std::uint64_t> position_;
};

/// One T for each class of pods, those used last. Bounded by `bytes_max`, and by less in a small cluster: 2 KiB per
/// slot, but 256 KiB at least. T is default-constructed. The last one found is kept whatever it takes.
template <class T>
class KeptByClass {
 public:
  explicit KeptByClass(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// The class's own, made when it is new; null where the pod is of no class. Good until the next find() or settle().
  /// settle() follows.
  T* find(const Cycle& cycle) {
    const std::uint64_t pod_class = cycle.pod_class();
    if (pod_class == 0) return nullptr;
    limit_ = std::min(bytes_max_, std::max(k_bytes_at_least, cycle.slot_count() * k_bytes_per_slot));
    const auto known = by_class_.find(pod_class);
    if (known != by_class_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, known->second);
    } else {
      by_use_.emplace_front();
      by_use_.front().pod_class = pod_class;
      by_class_.emplace(pod_class, by_use_.begin());
    }
    return &by_use_.front().value;
  }
  /// The one that was found last takes so much now. Drops those that were not used for longest until the rest fits.
  void settle(std::size_t bytes) {
    bytes_ += bytes + k_upkeep_bytes - by_use_.front().bytes;
    by_use_.front().bytes = bytes + k_upkeep_bytes;
    while (bytes_ > limit_ && by_use_.size() > 1) {
      bytes_ -= by_use_.back().bytes;
      by_class_.erase(by_use_.back().pod_class);
      by_use_.pop_back();
    }
  }
  /// Of all that are kept, with their upkeep: for a metric.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t k_upkeep_bytes = sizeof(T) + 128;
  // Pods with labels of their own make a class each: they would fill any table, and counts of a few nodes are soon made.
  static constexpr std::size_t k_bytes_at_least = std::size_t{256} << 10, k_bytes_per_slot = std::size_t{2} << 10;
  struct Kept {
    std::uint64_t pod_class = 0;
    std::size_t bytes = 0;
    T value;
  };
  const std::size_t bytes_max_;
  std::size_t limit_ = k_bytes_at_least;  // by the size of the cluster
  std::list<Kept> by_use_;                // the last used first
  std::unordered_map<std::uint64_t, typename std::list<Kept>::iterator> by_class_;
  std::size_t bytes_ = 0;
};

}  // namespace sdk
}  // namespace berth
