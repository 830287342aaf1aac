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
#include "constraints.hpp"
#include "selector_objects.hpp"

#include <map>
#include <string>
#include <unordered_map>

namespace berth::pod_topology_spread {

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
  /// A controller's: pairs are merged, requirements appended.
  void add(SelectorObjects::Kind kind, const ParsedSelector& selector) {
    SelectorObjects::is_map(kind) ? merge(selector) : append(selector);
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
  static constexpr auto& k_watches = SelectorObjects::k_resources;

  explicit DefaultSelectors(Setup& setup) : objects_(setup) {}

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
    with_owner(pod, [&](Kind kind, std::string_view ns, std::string_view name) {
      if (const ParsedSelector* selector = owner(kind, ns, name)) merge.add(kind, *selector);
    });
    return std::move(merge).end();
  }

  /// The same, read from the objects as they are. [any]
  OwnedSelector fresh(Pod pod) const {
    SelectorMerge merge;
    objects_.each(SelectorObjects::services, pod.ns(), [&](const berth_object_v1& service) {
      const ParsedSelector pairs = objects_.parse(SelectorObjects::services, service);
      if (pairs.matches(pod.labels())) merge.merge(pairs);
    });
    with_owner(pod, [&](Kind kind, std::string_view ns, std::string_view name) {
      objects_.get(kind, ns, name,
                   [&](const berth_object_v1& object) { merge.add(kind, objects_.parse(kind, object)); });
    });
    return std::move(merge).end();
  }

 private:
  using Kind = SelectorObjects::Kind;
  /// Beyond these, what is known of owners, or of services, is read again as it is needed.
  static constexpr std::size_t k_owner_bytes_max = std::size_t{2} << 20, k_service_bytes_max = std::size_t{4} << 20;

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
    std::size_t bytes = 0;
  };
  struct Owner {
    std::uint64_t version = UINT64_MAX;
    ParsedSelector selector;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t k_entry_bytes = sizeof(Services) + sizeof(Owner) + 64;  // of a map, at most

  /// Calls use(kind, namespace, name) when the controller is of a kind that selects pods.
  template <class Use>
  void with_owner(Pod pod, Use&& use) const {
    const Pod::Owner owner = pod.owner();
    if (owner.kind.empty()) return;
    const std::string_view ns = objects_.intern().text(pod.ns());
    const bool core = owner.api_version == "v1" || owner.api_version == "/v1";
    if (core && owner.kind == "ReplicationController") use(Kind::replication_controllers, ns, owner.name);
    if (owner.api_version != "apps/v1") return;
    if (owner.kind == "ReplicaSet") use(Kind::replica_sets, ns, owner.name);
    if (owner.kind == "StatefulSet") use(Kind::stateful_sets, ns, owner.name);
  }

  const Services& services_of(Id ns) {
    const std::uint64_t epoch = objects_.epoch(Kind::services);
    auto at = services_.find(ns);
    if (at == services_.end()) {
      if (service_bytes_ > k_service_bytes_max) forget_services();
      at = services_.try_emplace(ns).first;
      objects_.intern().pin(ns);
    }
    Services& services = at->second;
    if (services.read && services.epoch == epoch) return services;
    std::vector<Service> old = std::move(services.known);
    services.known.clear();
    services.index.clear();
    auto next_old = old.begin();
    objects_.each(Kind::services, ns, [&](const berth_object_v1& object) {
      while (next_old != old.end() && next_old->name < view(object.name)) ++next_old;
      const bool unchanged =
          next_old != old.end() && next_old->name == view(object.name) && next_old->version == object.version;
      services.known.push_back(
          unchanged ? std::move(*next_old)
                    : Service{std::string(view(object.name)), object.version, objects_.parse(Kind::services, object)});
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
    service_bytes_ -= services.bytes;
    services.bytes = k_entry_bytes + objects_.intern().text(ns).size() + services.index.size() * sizeof(Entry);
    for (const Service& service : services.known)
      services.bytes += sizeof(Service) + service.name.size() + service.pairs.bytes(objects_.intern());
    service_bytes_ += services.bytes;
    return services;
  }
  void forget_services() {
    for (const auto& [ns, services] : services_) objects_.intern().unpin(ns);
    services_.clear();
    service_bytes_ = 0;
  }

  /// Null when there is no such object or it has no selector.
  const ParsedSelector* owner(Kind kind, std::string_view ns, std::string_view name) {
    const ParsedSelector* found = nullptr;
    objects_.get(kind, ns, name, [&](const berth_object_v1& object) {
      if (owner_bytes_ > k_owner_bytes_max) {
        owners_.clear();
        owner_bytes_ = 0;
      }
      Owner& known = owners_[std::to_string(kind) + "/" + std::string(ns) + "/" + std::string(name)];
      if (known.version != object.version) {
        owner_bytes_ -= known.bytes;
        known.selector = objects_.parse(kind, object);
        known.version = object.version;
        known.bytes = k_entry_bytes + ns.size() + name.size() + known.selector.bytes(objects_.intern());
        owner_bytes_ += known.bytes;
      }
      found = &known.selector;
    });
    return found;
  }

  SelectorObjects objects_;
  std::unordered_map<Id, Services> services_;
  std::unordered_map<std::string, Owner> owners_;
  std::size_t service_bytes_ = 0, owner_bytes_ = 0;  // with the ids that they keep
};

}  // namespace berth::pod_topology_spread
