// SPDX-License-Identifier: Apache-2.0
#include "cycle/diagnosis.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cycle/reuse/allocated_bytes.hpp"
#include "framework/plugin_call.hpp"

namespace berth::cycle {

void Diagnosis::add(cache::Slot slot, const framework::NodeVerdict& verdict) {
  ++explicit_count;
  count(verdict);
  mark(slot, verdict.code);
}

void Diagnosis::add(cache::Slot slot, framework::Code code, const std::string& reason) {
  ++explicit_count;
  ++reasons[reason];
  mark(slot, code);
}

void Diagnosis::mark(cache::Slot slot, framework::Code code) {
  // Evicting pods may help where a plugin said plainly "not now"; not where a plugin waits for something else, or
  // broke.
  auto& words = code == framework::Code::unschedulable ? unschedulable : unresolvable;
  if (slot < words.size() * 64) bitmap::set(words.data(), slot);
}

void Diagnosis::add_further(cache::Slot slot, const framework::NodeVerdict& verdict) {
  count(verdict);
  if (verdict.code == framework::Code::unschedulable || slot >= unresolvable.size() * 64) return;
  bitmap::assign(unschedulable.data(), slot, false);
  bitmap::set(unresolvable.data(), slot);
}

void Diagnosis::count(const framework::NodeVerdict& verdict) {
  const auto alike = std::find_if(tallies_.begin(), tallies_.end(), [&](const Tally& tally) {
    return tally.plugin == verdict.plugin && tally.reason == verdict.reason;
  });
  if (alike == tallies_.end())
    tallies_.push_back({verdict.plugin, verdict.reason, 1});
  else if (++alike->count; alike != tallies_.begin() && alike->count > (alike - 1)->count)
    std::iter_swap(alike, alike - 1);  // what is frequent is found first
  unschedulable_plugins.insert(verdict.plugin->index());
  if (verdict.code == framework::Code::pending) pending_plugins.insert(verdict.plugin->index());
}

std::string Diagnosis::message() const {
  std::string text = fmt::format("0/{} nodes are available:", node_count);
  if (!pre_filter_message.empty()) return text + " " + pre_filter_message + ".";
  std::map<std::string, std::uint32_t> counted = reasons;
  for (const Tally& tally : tallies_)
    for (std::string& reason : framework::sentences(*tally.plugin, tally.reason))
      counted[std::move(reason)] += tally.count;
  if (explicit_count < node_count)
    for (const std::string& reason : absent_reasons) counted[reason] += node_count - explicit_count;
  std::vector<std::string> entries;
  entries.reserve(counted.size());
  for (const auto& [reason, count] : counted) entries.push_back(fmt::format("{} {}", count, reason));
  std::sort(entries.begin(), entries.end());  // bytewise: "10 x" before "2 y"
  if (entries.empty()) return text;
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? " " : ", ") + entries[i];
  return text + ".";
}

void Diagnosis::complete(const std::uint64_t* nodes, std::size_t word_count) {
  unschedulable.resize(word_count, 0);
  unresolvable.resize(word_count, 0);
  for (std::size_t w = 0; w < word_count; ++w) {
    const std::uint64_t absent = nodes[w] & ~(unschedulable[w] | unresolvable[w]);
    (absent_code == framework::Code::unschedulable ? unschedulable : unresolvable)[w] |= absent;
  }
}

std::size_t Diagnosis::bytes() const noexcept {
  constexpr std::size_t k_entry_bytes = 96;  // of the map: node, text and block
  std::size_t bytes = allocated_bytes(unschedulable) + allocated_bytes(unresolvable) + allocated_bytes(tallies_) +
                      pre_filter_message.capacity();
  for (const auto& [reason, count] : reasons) bytes += k_entry_bytes + reason.capacity();
  for (const std::string& reason : absent_reasons) bytes += sizeof(std::string) + reason.capacity();
  return bytes;
}

}  // namespace berth::cycle
