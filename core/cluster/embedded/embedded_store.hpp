// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::cluster {

/// Objects by key, in the order in which they were first put. Internal to core/cluster/embedded.
/// `key_of` says the key of an object, so that no other copy of it is kept: there may be many objects.
template <typename Pointer, std::string (*key_of)(const typename Pointer::element_type& object)>
class OrderedObjects {
 public:
  OrderedObjects() = default;
  OrderedObjects(const OrderedObjects&) = delete;
  OrderedObjects& operator=(const OrderedObjects&) = delete;

  /// Null when there is none.
  Pointer find(const std::string& key) const {
    const auto found = index_.find(std::string_view(key));
    return found == index_.end() ? nullptr : objects_[*found];
  }
  /// What stood there before, or null. Requires: key is the object's.
  Pointer put(const std::string& key, Pointer object) {
    const auto found = index_.find(std::string_view(key));
    if (found != index_.end()) return std::exchange(objects_[*found], std::move(object));
    objects_.push_back(std::move(object));
    index_.insert(static_cast<std::uint32_t>(objects_.size() - 1));
    return nullptr;
  }
  Pointer remove(const std::string& key) {
    const auto found = index_.find(std::string_view(key));
    if (found == index_.end()) return nullptr;
    const std::uint32_t place = *found;
    index_.erase(found);
    Pointer object = std::move(objects_[place]);
    if (objects_.size() > k_places_min && index_.size() * 2 < objects_.size()) close_gaps();
    return object;
  }
  std::vector<Pointer> all() const {
    std::vector<Pointer> out;
    out.reserve(index_.size());
    for (const Pointer& object : objects_)
      if (object != nullptr) out.push_back(object);
    return out;
  }

 private:
  static constexpr std::size_t k_places_min = 64;
  struct Hash {
    using is_transparent = void;
    const std::vector<Pointer>* objects;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
    std::size_t operator()(std::uint32_t place) const { return (*this)(std::string_view(key_of(*(*objects)[place]))); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<Pointer>* objects;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(std::uint32_t place, std::string_view key) const { return key_of(*(*objects)[place]) == key; }
    bool operator()(std::string_view key, std::uint32_t place) const { return (*this)(place, key); }
  };
  void close_gaps() {
    std::erase(objects_, nullptr);
    index_.clear();
    for (std::uint32_t place = 0; place < objects_.size(); ++place) index_.insert(place);
  }

  std::vector<Pointer> objects_;  // null: removed
  boost::unordered_flat_set<std::uint32_t, Hash, Equal> index_{0, Hash{&objects_}, Equal{&objects_}};
};

}  // namespace berth::cluster
