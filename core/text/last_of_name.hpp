// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>

#include "text/value.hpp"

namespace berth::text {

/// Which members of a mapping are not overridden by a later one of the same name. Few are compared, many are indexed:
/// what is asked of all members costs what the members cost.
/// Lifetime: the mapping outlives it.
class LastOfName {
 public:
  explicit LastOfName(const Value& mapping) : mapping_(mapping) {
    if (mapping.members().size() <= k_few) return;
    last_.reserve(mapping.members().size());
    for (const Member& member : mapping.members()) {
      const auto [at, is_first] = last_.try_emplace(member.key, &member.value);
      at->second = &member.value;
      any_overridden_ = any_overridden_ || !is_first;
    }
  }
  bool is(const Member& member) const {
    if (!last_.empty() && !any_overridden_) return true;
    return find(member.key) == &member.value;
  }
  /// As Value::find().
  const Value* find(std::string_view key) const {
    if (last_.empty()) return mapping_.find(key);
    const auto found = last_.find(key);
    return found == last_.end() ? nullptr : found->second;
  }

 private:
  static constexpr std::size_t k_few = 32;  // up to here looking through all is cheaper than an index
  const Value& mapping_;
  boost::unordered_flat_map<std::string_view, const Value*> last_;
  bool any_overridden_ = false;  // of those that are indexed
};

}  // namespace berth::text
