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
#include "../pod_topology_spread/default_selector.hpp"

#include <unordered_map>

namespace berth::legacy {

using pod_topology_spread::OwnedSelector;
using pod_topology_spread::ParsedSelector;

class SelectingObjects {
 public:
  enum Kind : std::size_t { services, replication_controllers, replica_sets, stateful_sets };
  static constexpr std::size_t k_kinds = 4;
  static constexpr const char* k_resources[k_kinds] = {"core/v1/services", "core/v1/replicationcontrollers",
                                                       "apps/v1/replicasets", "apps/v1/statefulsets"};

  /// `kinds`: how many of them, from the first, are watched.
  SelectingObjects(Setup& setup, std::size_t kinds)
      : intern_(setup.service<Intern>()), objects_(setup.service<Objects>()), kinds_(kinds) {
    const berth_field_v1 selector{borrow("spec.selector"), BERTH_FIELD_JSON, 0};
    for (std::size_t kind = 0; kind < kinds; ++kind)
      watches_[kind] = objects_.watch(k_resources[kind], std::span<const berth_field_v1>(&selector, 1));
  }

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
    const std::uint64_t epoch = objects_.epoch(watches_[kind]);
    auto [at, is_new] = namespaces_[kind].try_emplace(ns);
    OfNamespace& found = at->second;
    if (is_new) intern_.pin(ns);
    if (found.read && found.epoch == epoch) return found;
    std::vector<Known> fresh;
    objects_.each(watches_[kind], intern_.text(ns), [&](const berth_object_v1& object) {
      if (object.value_count == 0 || object.values[0].present == 0) return;
      const std::string_view text = view(object.values[0].text);
      if (text == "null") return;
      const bool is_map = kind == services || kind == replication_controllers;
      ParsedSelector parsed =
          is_map ? ParsedSelector::of_map(text, intern_) : ParsedSelector::of_label_selector(text, intern_);
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

  Intern intern_;
  Objects objects_;
  std::size_t kinds_;
  std::uint32_t watches_[k_kinds] = {};
  std::unordered_map<Id, OfNamespace> namespaces_[k_kinds];
};

}  // namespace berth::legacy
