// SPDX-License-Identifier: Apache-2.0
/// The selector of default constraints: what the pod's services and its controller select.
///
/// Selectors of all services of the namespace that match the pod are merged; a ReplicationController's is merged too, a
/// ReplicaSet's or StatefulSet's is added requirement by requirement. Everything else leaves the services alone. An
/// owner that is missing, or whose selector does not parse, counts as none.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/helper/spread.go.
///
/// Threads: cached() [cycle], fresh() [any]. Parsed objects are kept by version; ids in them are pinned as long.
#pragma once
#include <berth/names.hpp>
#include <berth/plugin.hpp>

#include "constraints.hpp"

#include <map>
#include <string>
#include <unordered_map>

namespace berth::pod_topology_spread {

/// Requirements read from an object, with their ids pinned while they are kept.
class ParsedSelector {
 public:
  struct Part {
    Id key = 0;
    std::uint32_t op = 0;
    std::vector<Id> values;
  };

  ParsedSelector() = default;
  ParsedSelector(ParsedSelector&&) noexcept = default;
  ParsedSelector& operator=(ParsedSelector&& other) noexcept {
    std::swap(parts_, other.parts_);
    std::swap(pins_, other.pins_);
    return *this;
  }
  ~ParsedSelector() {
    for (const Part& part : parts_) {
      if (!pins_) break;
      pins_->unpin(part.key);
      for (const Id value : part.values) pins_->unpin(value);
    }
  }

  /// {"app": "web"}: equality of every pair, not validated.
  static ParsedSelector of_map(std::string_view json, Intern intern) {
    ParsedSelector parsed(intern);
    const Json pairs = Json::parse(json);
    for (const auto& [key, value] : pairs.members())
      if (value.is_string()) parsed.add(key, BERTH_OP_IN, {value.string(key)}, intern);
    return parsed;
  }
  /// A metav1.LabelSelector. Empty when it does not parse.
  static ParsedSelector of_label_selector(std::string_view text, Intern intern) {
    ParsedSelector parsed(intern);
    const Json json = Json::parse(text);
    for (const auto& [key, value] : json["matchLabels"].members())
      if (!parsed.add_valid(key, "In", {value.string_or(key, "")}, intern)) return {};
    for (const Json& each : json["matchExpressions"].items()) {
      std::vector<std::string> values;
      for (const Json& value : each["values"].items()) values.push_back(value.string_or("values", ""));
      if (!parsed.add_valid(each["key"].string_or("key", ""), each["operator"].string_or("operator", ""), values,
                            intern))
        return {};
    }
    return parsed;
  }

  const std::vector<Part>& parts() const noexcept { return parts_; }
  bool matches(std::span<const Label> labels) const noexcept {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const Part& p) { return find_label(labels, p.key) == p.values.front(); });
  }

 private:
  explicit ParsedSelector(Intern intern) : pins_(intern) {}

  void add(const std::string& key, std::uint32_t op, const std::vector<std::string>& values, Intern intern) {
    Part part{intern(key), op, {}};
    intern.pin(part.key);
    for (const std::string& value : values) {
      part.values.push_back(intern(value));
      intern.pin(part.values.back());
    }
    parts_.push_back(std::move(part));
  }
  bool add_valid(const std::string& key, std::string_view op, const std::vector<std::string>& values, Intern intern) {
    const bool lists = op == "In" || op == "NotIn";
    if (!lists && op != "Exists" && op != "DoesNotExist") return false;
    if (lists == values.empty() || !qualified_name_problems(key).empty()) return false;
    for (const std::string& value : values)
      if (!label_value_problems(value).empty()) return false;
    add(key,
        op == "In"       ? BERTH_OP_IN
        : op == "NotIn"  ? BERTH_OP_NOT_IN
        : op == "Exists" ? BERTH_OP_EXISTS
                         : BERTH_OP_DOES_NOT_EXIST,
        values, intern);
    return true;
  }

  std::vector<Part> parts_;
  std::optional<Intern> pins_;
};

/// Adds up what one pod's services and controller select.
class SelectorMerge {
 public:
  /// Later pairs win.
  void merge(const ParsedSelector& pairs) {
    for (const auto& part : pairs.parts()) pairs_[part.key] = part.values.front();
  }
  void append(const ParsedSelector& selector) {
    for (const auto& part : selector.parts()) extra_.add(part.key, part.op, part.values);
  }
  OwnedSelector end() && {
    OwnedSelector selector;
    for (const auto& [key, value] : pairs_) selector.add_equals(key, value);
    selector.append(extra_);
    return selector;
  }

 private:
  std::map<Id, Id> pairs_;
  OwnedSelector extra_;
};

class DefaultSelectors {
 public:
  static constexpr const char* k_watches[] = {"core/v1/services", "core/v1/replicationcontrollers",
                                              "apps/v1/replicasets", "apps/v1/statefulsets"};

  explicit DefaultSelectors(Setup& setup) : intern_(setup.service<Intern>()), objects_(setup.service<Objects>()) {
    const berth_field_v1 selector{borrow("spec.selector"), BERTH_FIELD_JSON, 0};
    for (std::size_t i = 0; i < std::size(k_watches); ++i)
      watches_[i] = objects_.watch(k_watches[i], std::span<const berth_field_v1>(&selector, 1));
  }

  /// Cheap when nothing changed since the last pod of the namespace. [cycle]
  OwnedSelector cached(Pod pod) {
    SelectorMerge merge;
    const Services& services = services_of(pod.ns());
    const auto by_first = [](const Entry& a, const Label& b) {
      return a.first.key != b.key ? a.first.key < b.key : a.first.value < b.value;
    };
    for (const Label& label : pod.labels()) {
      auto at = std::lower_bound(services.index.begin(), services.index.end(), label, by_first);
      for (; at != services.index.end() && at->first.key == label.key && at->first.value == label.value; ++at) {
        const ParsedSelector& pairs = services.known[at->service].pairs;
        if (pairs.matches(pod.labels())) merge.merge(pairs);
      }
    }
    with_owner(pod, [&](std::uint32_t watch, bool is_map, std::string_view ns, std::string_view name) {
      if (const ParsedSelector* selector = owner(watch, is_map, ns, name)) {
        is_map ? merge.merge(*selector) : merge.append(*selector);
      }
    });
    return std::move(merge).end();
  }

  /// The same, read from the objects as they are. [any]
  OwnedSelector fresh(Pod pod) const {
    SelectorMerge merge;
    objects_.each(watches_[k_services], intern_.text(pod.ns()), [&](const berth_object_v1& service) {
      if (!has_selector(service)) return;
      const ParsedSelector pairs = ParsedSelector::of_map(view(service.values[0].text), intern_);
      if (pairs.matches(pod.labels())) merge.merge(pairs);
    });
    with_owner(pod, [&](std::uint32_t watch, bool is_map, std::string_view ns, std::string_view name) {
      objects_.get(watch, ns, name, [&](const berth_object_v1& object) {
        if (!has_selector(object)) return;
        const ParsedSelector selector = parse(object, is_map);
        is_map ? merge.merge(selector) : merge.append(selector);
      });
    });
    return std::move(merge).end();
  }

 private:
  enum { k_services = 0, k_replication_controllers = 1, k_replica_sets = 2, k_stateful_sets = 3 };
  static constexpr std::size_t k_owners_max = 4096;

  struct Service {
    std::string name;
    std::uint64_t version = 0;
    ParsedSelector pairs;
  };
  /// A service under one pair of its selector; one that selects everything adds nothing and is left out.
  struct Entry {
    Label first;
    std::uint32_t service;
  };
  struct Services {
    std::uint64_t epoch = 0;
    bool read = false;
    std::vector<Service> known;  // by name
    std::vector<Entry> index;    // by pair
  };
  struct Owner {
    std::uint64_t version = UINT64_MAX;
    ParsedSelector selector;
  };

  static bool has_selector(const berth_object_v1& object) noexcept {
    return object.value_count != 0 && object.values[0].present != 0 && view(object.values[0].text) != "null";
  }
  ParsedSelector parse(const berth_object_v1& object, bool is_map) const {
    const std::string_view text = view(object.values[0].text);
    return is_map ? ParsedSelector::of_map(text, intern_) : ParsedSelector::of_label_selector(text, intern_);
  }

  /// Calls use(watch, is_map, namespace, name) when the controller is of a kind that selects pods.
  template <class Use>
  void with_owner(Pod pod, Use&& use) const {
    const Pod::Owner owner = pod.owner();
    if (owner.kind.empty()) return;
    const std::string_view ns = intern_.text(pod.ns());
    const bool core = owner.api_version == "v1" || owner.api_version == "/v1";
    if (core && owner.kind == "ReplicationController") use(watches_[k_replication_controllers], true, ns, owner.name);
    if (owner.api_version != "apps/v1") return;
    if (owner.kind == "ReplicaSet") use(watches_[k_replica_sets], false, ns, owner.name);
    if (owner.kind == "StatefulSet") use(watches_[k_stateful_sets], false, ns, owner.name);
  }

  const Services& services_of(Id ns) {
    const std::uint64_t epoch = objects_.epoch(watches_[k_services]);
    auto [at, is_new] = services_.try_emplace(ns);
    Services& services = at->second;
    if (is_new) intern_.pin(ns);
    if (services.read && services.epoch == epoch) return services;
    std::vector<Service> old = std::move(services.known);
    services.known.clear();
    services.index.clear();
    auto next_old = old.begin();
    objects_.each(watches_[k_services], intern_.text(ns), [&](const berth_object_v1& object) {
      if (!has_selector(object)) return;
      while (next_old != old.end() && next_old->name < view(object.name)) ++next_old;
      const bool unchanged =
          next_old != old.end() && next_old->name == view(object.name) && next_old->version == object.version;
      services.known.push_back(unchanged
                                   ? std::move(*next_old)
                                   : Service{std::string(view(object.name)), object.version, parse(object, true)});
    });
    for (std::uint32_t i = 0; i < services.known.size(); ++i) {
      const auto& parts = services.known[i].pairs.parts();
      if (!parts.empty()) services.index.push_back({{parts[0].key, parts[0].values[0]}, i});
    }
    std::sort(services.index.begin(), services.index.end(), [](const Entry& a, const Entry& b) {
      return a.first.key != b.first.key ? a.first.key < b.first.key : a.first.value < b.first.value;
    });
    services.epoch = epoch;
    services.read = true;
    return services;
  }

  /// Null when there is no such object or it has no selector.
  const ParsedSelector* owner(std::uint32_t watch, bool is_map, std::string_view ns, std::string_view name) {
    const ParsedSelector* found = nullptr;
    objects_.get(watch, ns, name, [&](const berth_object_v1& object) {
      if (!has_selector(object)) return;
      if (owners_.size() >= k_owners_max) owners_.clear();
      Owner& known = owners_[std::to_string(watch) + "/" + std::string(ns) + "/" + std::string(name)];
      if (known.version != object.version) {
        known.selector = parse(object, is_map);
        known.version = object.version;
      }
      found = &known.selector;
    });
    return found;
  }

  Intern intern_;
  Objects objects_;
  std::uint32_t watches_[std::size(k_watches)] = {};
  std::unordered_map<Id, Services> services_;
  std::unordered_map<std::string, Owner> owners_;
};

}  // namespace berth::pod_topology_spread
