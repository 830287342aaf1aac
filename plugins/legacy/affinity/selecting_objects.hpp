// SPDX-License-Identifier: Apache-2.0
/// Services and controllers by whether their selector selects a pod; ownership does not matter.
///
/// A Service without a selector selects nothing, one with an empty selector everything. A controller with an empty or
/// malformed selector selects nothing, and pods without labels are selected by no controller.
/// Source: kubernetes v1.16 client-go listers (GetPodServices, GetPodControllers, GetPodReplicaSets,
/// GetPodStatefulSets).
///
/// Threads: [cycle]. Parsed selectors are kept until an object of the kind changes; ids in them are pinned as long.
#pragma once
#include "../../pod_topology_spread/constraints.hpp"
#include "../../pod_topology_spread/selector_objects.hpp"

#include <unordered_map>

namespace berth::legacy {

using pod_topology_spread::OwnedSelector;
using pod_topology_spread::ParsedSelector;
using pod_topology_spread::SelectorObjects;

class SelectingObjects {
 public:
  using Kind = SelectorObjects::Kind;
  static constexpr Kind services = Kind::services;
  static constexpr auto& k_resources = SelectorObjects::k_resources;
  static constexpr std::size_t k_kinds = std::size(k_resources);

  /// `kinds`: how many of them, from the first, are watched.
  SelectingObjects(Setup& setup, std::size_t kinds) : objects_(setup, kinds), kinds_(kinds) {}

  /// Visits the selectors of the kind that select the pod, by name of the object; visit(selector) answers whether to go
  /// on.
  template <class Visit>
  void each(Pod pod, Kind kind, Visit&& visit) {
    if (kind != services && pod.labels().empty()) return;
    for (const Known& known : of_namespace(pod.ns(), kind).known)
      if (known.selector.matches(pod.labels()) && !visit(known.selector)) return;
  }
  /// All of them, whatever their kind, as one: what must match where a pod counts only if each of them selects it.
  struct Joined {
    std::size_t count = 0;
    OwnedSelector selector;
  };
  Joined joined(Pod pod) {
    Joined joined;
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      each(pod, static_cast<Kind>(kind), [&](const OwnedSelector& selector) {
        joined.selector.append(selector);
        ++joined.count;
        return true;
      });
    }
    return joined;
  }

 private:
  struct Known {
    ParsedSelector pins;  // keeps the ids of the selector
    OwnedSelector selector;
  };
  struct OfNamespace {
    bool read = false;
    std::uint64_t epoch = 0;
    std::vector<Known> known;
  };

  const OfNamespace& of_namespace(Id ns, Kind kind) {
    const std::uint64_t epoch = objects_.epoch(kind);
    auto [at, is_new] = namespaces_[kind].try_emplace(ns);
    OfNamespace& found = at->second;
    if (is_new) objects_.intern().pin(ns);
    if (found.read && found.epoch == epoch) return found;
    std::vector<Known> fresh;
    objects_.each(kind, ns, [&](const berth_object_v1& object) {
      ParsedSelector parsed = objects_.parse(kind, object);
      if (parsed.parts().empty() && kind != services) return;
      OwnedSelector selector;
      for (const ParsedSelector::Part& part : parsed.parts()) selector.add(part.key, part.op, part.values);
      fresh.push_back({std::move(parsed), std::move(selector)});
    });
    found.known = std::move(fresh);  // the old ids were pinned until here
    found.epoch = epoch;
    found.read = true;
    return found;
  }

  SelectorObjects objects_;
  std::size_t kinds_;
  std::unordered_map<Id, OfNamespace> namespaces_[k_kinds];
};

}  // namespace berth::legacy
