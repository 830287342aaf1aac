// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/guarded.hpp"

namespace berth::framework {

/// Values that the instances of one plugin share, by the plugin's name and a key of its own.
///
/// Place:    behind berth.shared/1; destroyed after the last instance.
/// Threads:  any. `make` runs without the lock: instances are created one after the other.
class SharedValues {
 public:
  SharedValues() = default;
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;
  ~SharedValues() {
    for (auto& [key, value] : values_) value.destroy(value.pointer);
  }

  /// Null when `make` answers null.
  void* get(std::string_view plugin, std::string_view key, void* (*make)(void* arg), void* arg,
            void (*destroy)(void* value)) {
    const std::pair<std::string, std::string> whole(plugin, key);
    {
      const Lock lock(mutex_);
      if (const auto known = values_.find(whole); known != values_.end()) return known->second.pointer;
    }
    void* const made = make(arg);
    if (made == nullptr) return nullptr;
    const Lock lock(mutex_);
    return values_.emplace(whole, Value{made, destroy}).first->second.pointer;
  }

 private:
  struct Value {
    void* pointer;
    void (*destroy)(void* value);
  };
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Value> values_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
