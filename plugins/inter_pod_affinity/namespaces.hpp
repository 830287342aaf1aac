// SPDX-License-Identifier: Apache-2.0
/// Labels of namespaces as ids, read again only when a namespace changed. [cycle]
#pragma once
#include <berth/plugin.hpp>

#include <algorithm>
#include <vector>

namespace berth::inter_pod_affinity {

class Namespaces {
 public:
  static constexpr const char* k_watches[] = {"core/v1/namespaces"};

  explicit Namespaces(Setup& setup) : intern_(setup.service<Intern>()), objects_(setup.service<Objects>()) {
    const berth_field_v1 labels{borrow("metadata.labels"), BERTH_FIELD_JSON, 0};
    watch_ = objects_.watch(k_watches[0], std::span<const berth_field_v1>(&labels, 1));
  }

  /// Changes when a namespace does.
  std::uint64_t epoch() {
    refresh();
    return epoch_;
  }
  /// Empty for a namespace that does not exist.
  std::span<const Label> labels(Id ns) {
    refresh();
    const auto at = std::lower_bound(known_.begin(), known_.end(), ns, [](const Known& k, Id id) { return k.ns < id; });
    return at != known_.end() && at->ns == ns ? std::span<const Label>(at->labels) : std::span<const Label>();
  }
  /// visit(namespace, labels)
  template <class Visit>
  void each(Visit&& visit) {
    refresh();
    for (const Known& known : known_) visit(known.ns, std::span<const Label>(known.labels));
  }

 private:
  struct Known {
    Id ns;
    std::vector<Label> labels;  // sorted by key
  };

  void refresh() {
    const std::uint64_t epoch = objects_.epoch(watch_);
    if (read_ && epoch == epoch_) return;
    const std::vector<Id> old_pins = std::move(pins_);
    pins_.clear();
    known_.clear();
    objects_.each(watch_, {}, [&](const berth_object_v1& object) {
      Known known{pinned(view(object.name)), {}};
      if (object.value_count != 0 && object.values[0].present != 0) {
        const Json labels = Json::parse(view(object.values[0].text));
        for (const auto& [key, value] : labels.members())
          if (value.is_string()) known.labels.push_back({pinned(key), pinned(value.string(key))});
      }
      std::sort(known.labels.begin(), known.labels.end(), [](const Label& a, const Label& b) { return a.key < b.key; });
      known_.push_back(std::move(known));
    });
    std::sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.ns < b.ns; });
    for (const Id id : old_pins) intern_.unpin(id);
    epoch_ = epoch;
    read_ = true;
  }
  Id pinned(std::string_view text) {
    pins_.push_back(intern_.for_cycle(text));
    intern_.pin(pins_.back());
    return pins_.back();
  }

  Intern intern_;
  Objects objects_;
  std::uint32_t watch_ = 0;
  std::uint64_t epoch_ = 0;
  bool read_ = false;
  std::vector<Known> known_;  // by namespace id
  std::vector<Id> pins_;
};

}  // namespace berth::inter_pod_affinity
