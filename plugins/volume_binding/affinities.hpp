// SPDX-License-Identifier: Apache-2.0
/// Node affinities of volumes: kept once however many volumes have them, and found from the labels of a node.
///
/// An affinity is listed under one requirement of each of its terms, the one that fewest others are listed under, so
/// that of "this zone and this host" the host is what leads to it; the rest is compared on the nodes that it leads to.
/// Source: kubernetes v1.36 component-helpers/scheduling/corev1/nodeaffinity, as shared/storage/terms.hpp.
#pragma once
#include "../shared/storage/terms.hpp"

#include <memory>
#include <span>
#include <unordered_map>

namespace volume_binding {

/// One affinity that volumes have; the same address means the same affinity.
using AffinityPtr = std::shared_ptr<const storage::Terms>;

/// Affinities in use, each once. Threads: [cycle].
class Affinities {
 public:
  AffinityPtr add(const storage::Terms& terms) {
    Entry& entry = known_[key_of(terms)];
    if (entry.uses++ == 0) entry.affinity = std::make_shared<const storage::Terms>(terms);
    return entry.affinity;
  }
  /// Gives back what add() answered, once.
  void drop(const AffinityPtr& affinity) {
    const auto entry = known_.find(key_of(*affinity));
    if (entry != known_.end() && --entry->second.uses == 0) known_.erase(entry);
  }

  static void append(std::string& out, std::string_view text) {
    out += std::to_string(text.size());
    out += ':';
    out += text;
  }
  static void append(std::string& out, const storage::Term& term) {
    out += term.invalid ? '!' : '(';
    for (const storage::Requirement& r : term.all) {
      append(out, r.key);
      out += std::to_string(r.op) + ',' + std::to_string(r.number) + ',' + std::to_string(r.values.size()) + ',';
      for (const std::string& value : r.values) append(out, value);
    }
    out += ')';
  }

 private:
  struct Entry {
    AffinityPtr affinity;
    std::size_t uses = 0;
  };
  /// Equal exactly for equal terms.
  static std::string key_of(const storage::Terms& terms) {
    std::string out;
    if (!terms) return out;
    out = "|";
    for (const storage::Term& term : *terms) append(out, term);
    return out;
  }
  std::unordered_map<std::string, Entry> known_;
};

/// The affinities of one attempt, by number, and which of them a node meets. Filled on [cycle]; matching() on any thread
/// afterwards, within the attempt, since it holds ids.
class AffinityIndex {
 public:
  explicit AffinityIndex(berth::Intern intern) : intern_(intern) {}

  std::size_t size() const noexcept { return affinities_.size(); }
  std::uint32_t number_of(const AffinityPtr& affinity) {
    const auto [at, fresh] = numbers_.emplace(affinity.get(), static_cast<std::uint32_t>(affinities_.size()));
    if (fresh) add(affinity, at->second);
    return at->second;
  }

  /// Overwrites `out` with the numbers of the affinities that a node with these labels meets, each once, unordered.
  void matching(std::span<const berth::Label> labels, std::vector<std::uint32_t>& out) const {
    out = everywhere_;
    const auto take = [&](const std::vector<std::uint32_t>& listed) {
      for (const std::uint32_t number : listed)
        if (matches(affinities_[number], labels)) out.push_back(number);
    };
    take(unlisted_);
    if (!listed_.empty())
      for (const berth::Label& label : labels) {
        if (const auto any = listed_.find(listing(label.key, 0)); any != listed_.end()) take(any->second);
        if (label.value == 0) continue;
        if (const auto value = listed_.find(listing(label.key, label.value)); value != listed_.end())
          take(value->second);
      }
    if (!several_) return;  // none is listed twice
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }

 private:
  struct Need {
    berth::Id key;
    std::uint32_t op;
    std::vector<berth::Id> values;  // ascending
    std::int64_t number;
  };
  using Needs = std::vector<Need>;
  struct Affinity {
    AffinityPtr held;
    std::vector<Needs> any_of;  // without the terms that match nothing
  };

  static std::uint64_t listing(berth::Id key, berth::Id value) { return std::uint64_t{key} << 32 | value; }

  void add(const AffinityPtr& affinity, std::uint32_t number) {
    Affinity& made = affinities_.emplace_back();
    made.held = affinity;
    if (!*affinity) return everywhere_.push_back(number);
    for (const storage::Term& term : **affinity) {
      if (term.invalid) continue;
      Needs& needs = made.any_of.emplace_back();
      for (const storage::Requirement& r : term.all) {
        Need& need = needs.emplace_back(Need{intern_.for_cycle(r.key), r.op, {}, r.number});
        for (const std::string& value : r.values) need.values.push_back(intern_.for_cycle(value));
        std::sort(need.values.begin(), need.values.end());
        need.values.erase(std::unique(need.values.begin(), need.values.end()), need.values.end());
      }
    }
    // A term that nothing leads to has to be compared on every node, and with it the affinity.
    std::vector<const Need*> leads;
    for (const Needs& needs : made.any_of) {
      const Need* lead = lead_of(needs);
      if (lead == nullptr) return unlisted_.push_back(number);
      leads.push_back(lead);
    }
    several_ |= leads.size() > 1;
    for (const Need* lead : leads) {
      if (lead->op != BERTH_OP_IN) {
        listed_[listing(lead->key, 0)].push_back(number);
        continue;
      }
      for (const berth::Id value : lead->values) listed_[listing(lead->key, value)].push_back(number);
    }
  }
  const Need* lead_of(const Needs& needs) const {
    const Need* best = nullptr;
    std::size_t best_size = 0;
    const auto consider = [&](const Need& need, std::size_t size) {
      if (best != nullptr && best_size <= size) return;
      best = &need;
      best_size = size;
    };
    const auto listed = [&](berth::Id key, berth::Id value) {
      const auto at = listed_.find(listing(key, value));
      return at == listed_.end() ? std::size_t{0} : at->second.size();
    };
    for (const Need& need : needs) {
      if (need.op == BERTH_OP_NOT_IN || need.op == BERTH_OP_DOES_NOT_EXIST) continue;
      if (need.op != BERTH_OP_IN) {
        consider(need, listed(need.key, 0) + k_any_value);
        continue;
      }
      std::size_t most = 0;
      for (const berth::Id value : need.values) most = std::max(most, listed(need.key, value));
      consider(need, most);
    }
    return best;
  }

  static berth::Id value_of(std::span<const berth::Label> labels, berth::Id key) {
    for (const berth::Label& label : labels)
      if (label.key == key) return label.value;
    return 0;
  }
  bool matches(const Need& need, std::span<const berth::Label> labels) const {
    const berth::Id value = value_of(labels, need.key);
    const auto listed = [&] { return std::binary_search(need.values.begin(), need.values.end(), value); };
    switch (need.op) {
      case BERTH_OP_IN:
        return value != 0 && listed();
      case BERTH_OP_NOT_IN:
        return value == 0 || !listed();
      case BERTH_OP_EXISTS:
        return value != 0;
      case BERTH_OP_DOES_NOT_EXIST:
        return value == 0;
      default:
        break;
    }
    const auto number = value != 0 ? storage::integer_of(intern_.text(value)) : std::nullopt;
    return number && (need.op == BERTH_OP_GT ? *number > need.number : *number < need.number);
  }
  bool matches(const Affinity& affinity, std::span<const berth::Label> labels) const {
    return std::any_of(affinity.any_of.begin(), affinity.any_of.end(), [&](const Needs& needs) {
      return std::all_of(needs.begin(), needs.end(), [&](const Need& need) { return matches(need, labels); });
    });
  }

  static constexpr std::size_t k_any_value = 8;  // a requirement of certain values leads to fewer nodes

  berth::Intern intern_;
  std::unordered_map<const storage::Terms*, std::uint32_t> numbers_;
  std::vector<Affinity> affinities_;
  std::vector<std::uint32_t> everywhere_, unlisted_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> listed_;  // by key and value; value 0: any
  bool several_ = false;                                                  // an affinity may be listed twice
};

}  // namespace volume_binding
