// SPDX-License-Identifier: Apache-2.0
/// ElasticQuotas: what a namespace is guaranteed (min), what it may borrow at most (max), and what it uses.
///
/// Units:   cpu in milli-cores, all else in units. Sums end at what 64 bits hold.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/capacityscheduling/elasticquota.go.
#pragma once
#include <berth/json.hpp>
#include <berth/objects/quantity.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace capacity_scheduling {

/// By the name of the resource: few, in no order.
class Amounts {
 public:
  using Entry = std::pair<berth::Id, std::int64_t>;

  /// What is not named is 0.
  std::int64_t of(berth::Id resource) const noexcept {
    const Entry* const entry = find(resource);
    return entry == nullptr ? 0 : entry->second;
  }
  const Entry* find(berth::Id resource) const noexcept {
    for (const Entry& each : entries_)
      if (each.first == resource) return &each;
    return nullptr;
  }
  void add(berth::Id resource, std::int64_t amount) {
    for (Entry& each : entries_)
      if (each.first == resource) {
        each.second = sum(each.second, amount);
        return;
      }
    entries_.emplace_back(resource, amount);
  }
  /// sign: 1 or -1.
  void add(const Amounts& other, int sign = 1) {
    for (const auto& [resource, amount] : other.entries_) add(resource, sign * amount);
  }
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  static std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t result = 0;
    if (!__builtin_add_overflow(a, b, &result)) return result;
    return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  friend bool operator==(const Amounts& a, const Amounts& b) { return a.entries_ == b.entries_; }

 private:
  std::vector<Entry> entries_;
};

/// A bound of each resource.
struct Limits {
  Amounts named;
  std::int64_t plain = 0;   ///< of cpu, memory and ephemeral storage where they are not named
  std::int64_t scalar = 0;  ///< of all others

  static constexpr std::int64_t k_none = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const Limits& a, const Limits& b) {
    return a.named == b.named && a.plain == b.plain && a.scalar == b.scalar;
  }
};

/// Ids of the resources that every comparison looks at; of the others only those that are asked for.
struct PlainResources {
  berth::Id cpu = 0, memory = 0, storage = 0;
};

/// True where one resource of asked + used is beyond its limit.
inline bool exceeds(const Amounts& asked, const Amounts& used, const Limits& limits, const PlainResources& plain) {
  const auto is_over = [&](berth::Id resource, std::int64_t otherwise) {
    const Amounts::Entry* const named = limits.named.find(resource);
    return Amounts::sum(asked.of(resource), used.of(resource)) > (named == nullptr ? otherwise : named->second);
  };
  for (const berth::Id resource : {plain.cpu, plain.memory, plain.storage})
    if (is_over(resource, limits.plain)) return true;
  return std::any_of(asked.entries().begin(), asked.entries().end(), [&](const Amounts::Entry& each) {
    const bool is_plain = each.first == plain.cpu || each.first == plain.memory || each.first == plain.storage;
    return !is_plain && is_over(each.first, limits.scalar);
  });
}

/// spec.min and spec.max. Without min nothing is guaranteed, without max nothing is bounded; a max that names neither cpu nor
/// memory allows none of them.
struct ElasticQuota {
  Limits min{{}, 0, 0};
  Limits max{{}, Limits::k_none, Limits::k_none};
  Amounts used;

  /// Throws BadArgs for an amount that is none.
  template <class Intern>
  static Limits limits_of(const berth::Json& list, bool bounds, const Intern& intern) {
    Limits limits{{}, bounds && list.is_null() ? Limits::k_none : 0, bounds ? Limits::k_none : 0};
    for (const auto& [name, amount] : list.object("a list of amounts").members()) {
      const std::string_view text = amount.is_number() ? amount.number_text() : std::string_view(amount.string(name));
      const auto quantity = berth::Quantity::parse(text);
      if (!quantity) throw berth::BadArgs(name + ": \"" + std::string(text) + "\" is no quantity");
      limits.named.add(intern(name), quantity->amount_of(name));
    }
    return limits;
  }

  bool is_over_min_with(const Amounts& asked, const PlainResources& plain) const {
    return exceeds(asked, used, min, plain);
  }
  bool is_over_max_with(const Amounts& asked, const PlainResources& plain) const {
    return exceeds(asked, used, max, plain);
  }
  bool is_over_min(const PlainResources& plain) const { return exceeds(used, {}, min, plain); }
};

}  // namespace capacity_scheduling
