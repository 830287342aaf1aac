// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <unordered_map>

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
    for (const Member& member : mapping.members()) last_[member.key] = &member.value;
  }
  bool is(const Member& member) const { return find(member.key) == &member.value; }
  /// As Value::find().
  const Value* find(std::string_view key) const {
    if (last_.empty()) return mapping_.find(key);
    const auto found = last_.find(key);
    return found == last_.end() ? nullptr : found->second;
  }

 private:
  static constexpr std::size_t k_few = 32;  // up to here looking through all is cheaper than an index
  const Value& mapping_;
  std::unordered_map<std::string_view, const Value*> last_;
};

}  // namespace berth::text
