// SPDX-License-Identifier: Apache-2.0
/// Extended resources that devices of a class stand for: which names they are. Follows the watch of device classes.
/// Source: kubernetes v1.36 staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache.
#pragma once
#include <berth/json.hpp>
#include <berth/setup.hpp>

#include <array>
#include <map>
#include <set>
#include <string>

namespace berth::node_resources {

/// What of a class the names depend on.
struct DeviceClassName {
  std::string name;
  std::string extended_resource;  ///< spec.extendedResourceName, or empty
  std::string created;            ///< metadata.creationTimestamp: RFC 3339 in UTC, so later is greater
};

/// Name of a resource to name of a class. Of several that claim a name the newest has it, then the first by name; after it is gone
/// no other takes over, as upstream.
class ExtendedNames {
 public:
  static constexpr std::string_view k_implied_prefix = "deviceclass.resource.kubernetes.io/";

  /// `before`: what was known under that name; null: nothing.
  void put(const DeviceClassName* before, const DeviceClassName& now) {
    if (!now.extended_resource.empty())
      if (const auto known = by_resource_.find(now.extended_resource); known != by_resource_.end()) {
        const DeviceClassName& has_it = known->second;
        if (now.created < has_it.created) return;
        if (now.created == has_it.created && now.name >= has_it.name) return;
      }
    if (before != nullptr) remove(*before);
    if (!now.extended_resource.empty()) by_resource_[now.extended_resource] = now;
    by_resource_[std::string(k_implied_prefix) + now.name] = now;
  }
  void remove(const DeviceClassName& gone) {
    by_resource_.erase(std::string(k_implied_prefix) + gone.name);
    if (!gone.extended_resource.empty()) by_resource_.erase(gone.extended_resource);
  }
  void clear() { by_resource_.clear(); }
  bool empty() const noexcept { return by_resource_.empty(); }
  /// Empty: no class stands for it.
  std::string_view class_of(std::string_view resource) const {
    const auto found = by_resource_.find(resource);
    return found == by_resource_.end() ? std::string_view() : std::string_view(found->second.name);
  }

 private:
  std::map<std::string, DeviceClassName, std::less<>> by_resource_;
};

/// The names as the watch has them. Threads: [cycle].
class DeviceClasses {
 public:
  static constexpr const char* k_resource = "resource.k8s.io/v1/deviceclasses";

  explicit DeviceClasses(Setup& setup)
      : objects_(setup.service<Objects>()), watch_(objects_.watch(k_resource, k_fields)) {}

  /// Whether anything has changed.
  bool refresh() {
    if (seen_ != 0 && objects_.epoch(watch_) == seen_) return false;
    bool has_changed = false;
    seen_ = objects_.changes(watch_, seen_, [&](auto, auto name, const berth_object_v1* now) {
      has_changed = true;
      if (name.empty()) {
        classes_.clear();
        names_.clear();
        return;
      }
      const auto known = classes_.find(name);
      if (now == nullptr) {
        if (known == classes_.end()) return;
        names_.remove(known->second);
        classes_.erase(known);
        return;
      }
      DeviceClassName read{std::string(name), text(*now, 1), text(*now, 0)};
      names_.put(known == classes_.end() ? nullptr : &known->second, read);
      classes_.insert_or_assign(std::string(name), std::move(read));
    });
    return has_changed;
  }
  const ExtendedNames& names() const noexcept { return names_; }

 private:
  static constexpr std::array<berth_field_v1, 2> k_fields = {
      berth_field_v1{{"metadata.creationTimestamp", 26}, BERTH_FIELD_STR, 0},
      berth_field_v1{{"spec.extendedResourceName", 25}, BERTH_FIELD_STR, 0}};
  static std::string text(const berth_object_v1& object, std::size_t field) {
    return object.values[field].present != 0 ? std::string(view(object.values[field].text)) : std::string();
  }

  Objects objects_;
  std::uint32_t watch_;
  std::uint64_t seen_ = 0;
  std::map<std::string, DeviceClassName, std::less<>> classes_;
  ExtendedNames names_;
};

}  // namespace berth::node_resources
