// SPDX-License-Identifier: Apache-2.0
#include "serving/connection_table.hpp"

#include <algorithm>

#include "base/guarded.hpp"

namespace berth::serving {

ConnectionTable::Place::Place(ConnectionTable& table, std::function<void()> end) : table_(table) {
  const Lock lock(table_.mutex_);
  Entry entry;
  entry.end = std::move(end);
  entry.changed = ++table_.changes_;
  entry_ = table_.entries_.insert(table_.entries_.end(), std::move(entry));
}

ConnectionTable::Place::~Place() {
  {
    const Lock lock(table_.mutex_);
    table_.entries_.erase(entry_);
  }
  if (table_.on_leave_) table_.on_leave_();
}

void ConnectionTable::Place::enter(Phase phase) {
  const Lock lock(table_.mutex_);
  entry_->phase = phase;
  entry_->changed = ++table_.changes_;
}

void ConnectionTable::Place::admit() {
  const Lock lock(table_.mutex_);
  entry_->is_admitted = true;
}

std::size_t ConnectionTable::size() const {
  const Lock lock(mutex_);
  return entries_.size();
}

bool ConnectionTable::end_one() {
  std::function<void()> end;
  {
    const Lock lock(mutex_);
    auto victim = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
      return !entry.is_ending && !entry.is_admitted && entry.phase != Phase::answering;
    });
    if (victim == entries_.end())
      for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
        if (!entry->is_ending && entry->phase == Phase::idle &&
            (victim == entries_.end() || entry->changed < victim->changed))
          victim = entry;
    if (victim == entries_.end()) return false;
    victim->is_ending = true;
    end = victim->end;
  }
  end();
  return true;
}

}  // namespace berth::serving
