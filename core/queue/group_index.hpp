// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "queue/record.hpp"

/// Private to core/queue.
namespace berth::queue {

/// The records of each group, wherever they are. A record is here for as long as it has a group.
class GroupIndex {
 public:
  /// Gives the record its group; empty: none.
  void assign(Record& record, std::string group) {
    if (record.group == group) return;
    remove(record);
    record.group = std::move(group);
    if (!record.group.empty()) groups_[record.group.get()].push_back(&record);
  }
  void remove(Record& record) {
    if (record.group.empty()) return;
    const auto at = groups_.find(record.group.get());
    std::erase(at->second, &record);
    if (at->second.empty()) groups_.erase(at);
    record.group = {};
  }
  std::vector<Record*> members(const std::string& group) const {
    const auto at = groups_.find(group);
    return at == groups_.end() ? std::vector<Record*>{} : at->second;
  }

 private:
  std::unordered_map<std::string, std::vector<Record*>> groups_;
};

}  // namespace berth::queue
