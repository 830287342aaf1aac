// SPDX-License-Identifier: Apache-2.0
// VolumeZone: a pod whose volume carries zone or region labels fits on nodes that carry the same.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
#include "../shared/storage/objects.hpp"
#include "../shared/storage/zone_labels.hpp"

#include <array>

namespace {

constexpr std::array<std::string_view, 4> k_keys = {"failure-domain.beta.kubernetes.io/zone",
                                                    "failure-domain.beta.kubernetes.io/region",
                                                    "topology.kubernetes.io/zone", "topology.kubernetes.io/region"};
/// Where a node may carry what a volume says under k_keys[i], besides there.
constexpr std::array<std::size_t, 4> k_instead = {2, 3, 2, 3};

/// What one label of one volume demands.
struct Demand {
  std::size_t key = 0;  // of k_keys
  std::vector<std::string> zones;
  std::vector<berth::Id> ids;  // of zones; empty when there was no pre-filter
  friend bool operator==(const Demand& a, const Demand& b) { return a.key == b.key && a.zones == b.zones; }
};
std::vector<Demand> demands_of(const storage::Pairs& labels) {
  std::vector<Demand> demands;
  for (std::size_t key = 0; key < k_keys.size(); ++key) {
    const std::string* label = storage::find(labels, k_keys[key]);
    if (label == nullptr) continue;
    std::vector<std::string> zones = storage::zones_of(*label);
    if (!zones.empty()) demands.push_back({key, std::move(zones), {}});
  }
  return demands;
}

class VolumeZone {
 public:
  struct State {
    std::vector<Demand> demands;
  };

  static constexpr berth::Identity identity{.name = "VolumeZone",
                                            .version = "1.0.0",
                                            .summary = "Keeps pods in the zones and regions of their volumes.",
                                            .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS};
  static constexpr berth::ReasonText reasons[] = {{"node(s) had no available volume zone", "ZoneConflict"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::Objects::id, berth::Reasons::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses"};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_STORAGE_CLASS, BERTH_ACTION_ADD),
      berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
      berth::hinted(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE),
      berth::hinted(BERTH_KIND_PERSISTENT_VOLUME, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE)};

  explicit VolumeZone(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        objects_(setup.service<berth::Objects>()),
        reasons_(setup.service<berth::Reasons>()),
        labels_{setup.label(k_keys[0]), setup.label(k_keys[1]), setup.label(k_keys[2]), setup.label(k_keys[3])},
        claims_(objects_.watch(storage::k_claims, storage::k_claim_fields)),
        volumes_(objects_.watch(storage::k_volumes, storage::k_volume_fields)),
        classes_(objects_.watch(storage::k_classes, storage::k_class_fields)) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    State state;
    std::string refusal = collect(cycle.pod(), state.demands);
    if (!refusal.empty()) return berth::Verdict::unresolvable(std::move(refusal));
    if (state.demands.empty()) return berth::Verdict::skip();
    for (Demand& demand : state.demands)
      for (const std::string& zone : demand.zones) demand.ids.push_back(intern_.for_cycle(zone));
    out.make(std::move(state));
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    if (const State* state = cycle.state<State>()) return judge(state->demands, nodes);
    // A profile may take the plugin away from preFilter: the same rules, every time.
    std::vector<Demand> demands;
    const std::string refusal = collect(cycle.pod(), demands);
    if (refusal.empty()) return judge(demands, nodes);
    const berth::Reason reason = reasons_.make(refusal);
    for (std::uint32_t w = 0; w < nodes.words(); ++w) nodes.reject(w, nodes.open(w), berth::unresolvable(reason));
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const berth_object_v1* now = event.new_object();
    if (now == nullptr) return true;
    const berth_object_v1* before = event.old_object();
    switch (event.kind()) {
      case BERTH_KIND_STORAGE_CLASS:
        return storage::text(*now, storage::class_field::binding_mode) == "WaitForFirstConsumer";
      case BERTH_KIND_PERSISTENT_VOLUME_CLAIM:
        return berth::view(now->ns) == intern_.text(waiting.ns()) && uses(waiting, berth::view(now->name));
      default:
        return before == nullptr || demands_of(storage::pairs(storage::json(*before, storage::volume_field::labels))) !=
                                        demands_of(storage::pairs(storage::json(*now, storage::volume_field::labels)));
    }
  }

 private:
  static bool uses(berth::Pod pod, std::string_view claim) {
    for (const berth_volume_v1& volume : pod.volumes())
      if (volume.kind == BERTH_VOLUME_CLAIM && berth::view(volume.source) == claim) return true;
    return false;
  }

  /// What the volumes of the pod's claims demand. Answers with a sentence when the pod cannot be placed at all.
  std::string collect(berth::Pod pod, std::vector<Demand>& demands) const {
    const std::string_view ns = intern_.text(pod.ns());
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind != BERTH_VOLUME_CLAIM) continue;
      const std::string_view name = berth::view(volume.source);
      if (name.empty()) return "PersistentVolumeClaim had no name";
      std::string volume_name, class_name;
      const bool known = objects_.get(claims_, ns, name, [&](const berth_object_v1& object) {
        volume_name = storage::text(object, storage::claim_field::volume);
        if (volume_name.empty()) class_name = storage::read_claim(object).class_name;
      });
      if (!known) return storage::claim_not_found(name);
      if (volume_name.empty()) {
        std::string refusal = unbound(class_name);
        if (!refusal.empty()) return refusal;
        continue;
      }
      storage::Pairs labels;
      if (!objects_.get(volumes_, {}, volume_name, [&](const berth_object_v1& object) {
            labels = storage::pairs(storage::json(object, storage::volume_field::labels));
          }))
        return "persistentvolume \"" + volume_name + "\" not found";
      for (Demand& demand : demands_of(labels)) demands.push_back(std::move(demand));
    }
    return {};
  }

  /// A claim without a volume is fine only if it waits for the pod.
  std::string unbound(const std::string& class_name) const {
    if (class_name.empty()) return "PersistentVolumeClaim had no pv name and storageClass name";
    std::string mode;
    bool has_mode = false;
    if (!objects_.get(classes_, {}, class_name, [&](const berth_object_v1& object) {
          has_mode = storage::present(object, storage::class_field::binding_mode);
          mode = storage::text(object, storage::class_field::binding_mode);
        }))
      return "storageclass.storage.k8s.io \"" + class_name + "\" not found";
    if (!has_mode) return "VolumeBindingMode not set for StorageClass \"" + class_name + "\"";
    return mode == "WaitForFirstConsumer" ? std::string() : "PersistentVolume had no name";
  }

  void judge(const std::vector<Demand>& demands, berth::FilterBlock& nodes) const {
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      const berth::Rows rows = nodes.word(w);
      berth::Mask labelled(0);
      for (const berth::IdColumn column : labels_) labelled |= rows[column] != 0u;
      for (const Demand& demand : demands) {
        const berth::Mask own = rows[labels_[demand.key]] != 0u;
        const berth::Mask fits = (own && meets(demand, rows[labels_[demand.key]], nodes.open(w))) ||
                                 (!own && meets(demand, rows[labels_[k_instead[demand.key]]], nodes.open(w)));
        nodes.reject(w, labelled && !fits, berth::unresolvable(1));
      }
    }
  }

  berth::Mask meets(const Demand& demand, berth::Lane<berth::Id> values, berth::Mask rows) const {
    berth::Mask fits(0);
    if (!demand.ids.empty()) {
      for (const berth::Id id : demand.ids) fits |= values == id;
      return fits;
    }
    each_distinct(values, rows, [&](berth::Id value, berth::Mask same) {
      if (value != 0 && std::find(demand.zones.begin(), demand.zones.end(), intern_.text(value)) != demand.zones.end())
        fits |= same;
    });
    return fits;
  }

  berth::Intern intern_;
  berth::Objects objects_;
  berth::Reasons reasons_;
  std::array<berth::IdColumn, 4> labels_;
  std::uint32_t claims_, volumes_, classes_;
};

}  // namespace

BERTH_PLUGIN(VolumeZone)
