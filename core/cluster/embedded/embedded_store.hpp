// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth::cluster {

/// Objects by key, in the order in which they were first put. Internal to core/cluster/embedded.
template <typename Pointer>
class OrderedObjects {
 public:
  /// Null when there is none.
  Pointer find(const std::string& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : *found->second;
  }
  /// What stood there before, or null.
  Pointer put(const std::string& key, Pointer object) {
    const auto found = index_.find(key);
    if (found != index_.end()) return std::exchange(*found->second, std::move(object));
    objects_.push_back(std::move(object));
    index_.emplace(key, std::prev(objects_.end()));
    return nullptr;
  }
  Pointer remove(const std::string& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    Pointer object = std::move(*found->second);
    objects_.erase(found->second);
    index_.erase(found);
    return object;
  }
  std::vector<Pointer> all() const { return {objects_.begin(), objects_.end()}; }

 private:
  std::list<Pointer> objects_;
  std::unordered_map<std::string, typename std::list<Pointer>::iterator> index_;
};

}  // namespace berth::cluster
