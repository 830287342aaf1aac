// SPDX-License-Identifier: Apache-2.0
// VolumeRestrictions: disks and claims that bear one user at a time.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
#include "../shared/storage/objects.hpp"
#include "disks.hpp"

namespace {

using disks::Disk;

/// The pod's disks, as its inline volumes say. Those without restrictions are left out.
std::vector<Disk> disks_of(berth::Pod pod) {
  std::vector<Disk> found;
  for (const berth_volume_v1& volume : pod.volumes()) {
    if (volume.kind != BERTH_VOLUME_INLINE) continue;
    Disk disk = disks::read_disk(berth::view(volume.source));
    if (disk.kind != Disk::Kind::none) found.push_back(std::move(disk));
  }
  return found;
}

bool any_conflict(const std::vector<Disk>& wanted, const Disk& used) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const Disk& disk) { return disks::conflict(disk, used); });
}

class VolumeRestrictions {
 public:
  struct State {
    std::vector<Disk> disks;
    std::vector<std::string> exclusive;  // names of the pod's claims with ReadWriteOncePod, each once
    std::int64_t conflicts = 0;          // how often others use one of them
  };

  static constexpr berth::Identity identity{
      .name = "VolumeRestrictions",
      .version = "1.0.0",
      .summary = "Keeps pods apart that use a disk or a claim which bears one user at a time.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE | BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS};
  static constexpr berth::ReasonText reasons[] = {{"node(s) had no available disk", "DiskConflict"},
                                                  {"node(s) unavailable due to PersistentVolumeClaim with "
                                                   "ReadWriteOncePod access mode already in-use by another pod",
                                                   "ReadWriteOncePodConflict"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::Sets::id, berth::Objects::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims"};
  static constexpr berth::Interest interests[] = {berth::hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                                  berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD),
                                                  berth::hinted(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD)};

  explicit VolumeRestrictions(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        sets_(setup.service<berth::Sets>()),
        objects_(setup.service<berth::Objects>()),
        columns_(setup.service<berth::NodeColumns>()),
        volumes_(setup.volume_set()),
        claims_(objects_.watch(storage::k_claims, storage::k_claim_fields)) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    const berth::Pod pod = cycle.pod();
    if (pod.volumes().empty()) return berth::Verdict::skip();
    State state;
    const std::string_view ns = intern_.text(pod.ns());
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind != BERTH_VOLUME_CLAIM) continue;
      const std::string name(berth::view(volume.source));
      bool exclusive = false;
      const bool known = objects_.get(claims_, ns, name, [&](const berth_object_v1& object) {
        const auto modes = storage::strings(storage::json(object, storage::claim_field::modes));
        exclusive = std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end();
      });
      if (!known) return berth::Verdict::unresolvable(storage::claim_not_found(name));
      if (exclusive && std::find(state.exclusive.begin(), state.exclusive.end(), name) == state.exclusive.end())
        state.exclusive.push_back(name);
    }
    state.conflicts = used_claims(cycle, state.exclusive);
    state.disks = disks_of(pod);
    if (state.disks.empty() && state.conflicts == 0) return berth::Verdict::skip();
    out.make(std::move(state));
    return berth::Verdict::ok();
  }

  // The namespace of the other pod is not compared, as upstream.
  berth::Verdict pod_added(const berth::Cycle& cycle, berth::Pod other, berth::Slot) const {
    if (State* state = cycle.state<State>()) state->conflicts += uses(*state, other);
    return berth::Verdict::ok();
  }
  berth::Verdict pod_removed(const berth::Cycle& cycle, berth::Pod other, berth::Slot) const {
    if (State* state = cycle.state<State>()) state->conflicts -= uses(*state, other);
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw berth::Failure("cannot read \"PreFilterVolumeRestrictions\" from cycleState");
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      if (!state->disks.empty()) {
        each_distinct(nodes.word(w)[volumes_], nodes.open(w), [&](std::uint32_t set, berth::Mask rows) {
          if (set != 0 && disk_in_use(state->disks, set)) nodes.reject(w, rows, berth::unschedulable(1));
        });
      }
      if (state->conflicts > 0) nodes.reject(w, nodes.open(w), berth::unschedulable(2));
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    if (const berth_object_v1* claim = event.new_object())
      return berth::view(claim->ns) == intern_.text(waiting.ns()) &&
             storage::names_claim(waiting, berth::view(claim->name));
    const auto gone = event.old_pod();
    if (!gone) return true;
    if (gone->ns() != waiting.ns()) return false;
    const std::vector<Disk> wanted = disks_of(waiting);
    for (const berth_volume_v1& volume : gone->volumes()) {
      if (volume.kind == BERTH_VOLUME_INLINE && any_conflict(wanted, disks::read_disk(berth::view(volume.source))))
        return true;
      if (volume.kind != BERTH_VOLUME_CLAIM) continue;
      for (const berth_volume_v1& own : waiting.volumes())
        if (own.kind == BERTH_VOLUME_CLAIM && berth::view(own.source) == berth::view(volume.source)) return true;
    }
    return false;
  }

 private:
  /// How many of the named claims of the pod's namespace some pod on some node uses. [cycle]
  std::int64_t used_claims(const berth::Cycle& cycle, const std::vector<std::string>& names) const {
    if (names.empty()) return 0;
    std::vector<berth::Id> ids;
    for (const std::string& name : names) ids.push_back(intern_.for_cycle(name));
    std::vector<bool> used(ids.size(), false);
    const std::uint32_t* column = columns_.column(cycle, volumes_);
    const auto nodes = cycle.nodes();
    for (std::size_t w = 0; w < nodes.size(); ++w)
      berth::each_bit(nodes[w], [&](std::uint32_t bit) {
        const std::uint32_t set = column[w * 64 + bit];
        if (set == 0) return;
        for (const berth::NodeVolume& volume : sets_.volumes(set))
          if (volume.kind == BERTH_VOLUME_CLAIM && volume.ns == cycle.pod().ns())
            for (std::size_t i = 0; i < ids.size(); ++i)
              if (volume.source == ids[i]) used[i] = true;
      });
    return std::count(used.begin(), used.end(), true);
  }

  static std::int64_t uses(const State& state, berth::Pod other) {
    std::int64_t count = 0;
    for (const berth_volume_v1& volume : other.volumes())
      if (volume.kind == BERTH_VOLUME_CLAIM && std::find(state.exclusive.begin(), state.exclusive.end(),
                                                         berth::view(volume.source)) != state.exclusive.end())
        ++count;
    return count;
  }

  bool disk_in_use(const std::vector<Disk>& wanted, std::uint32_t set) const {
    for (const berth::NodeVolume& volume : sets_.volumes(set))
      if (volume.kind == BERTH_VOLUME_INLINE && any_conflict(wanted, disks::read_disk(intern_.text(volume.source))))
        return true;
    return false;
  }

  berth::Intern intern_;
  berth::Sets sets_;
  berth::Objects objects_;
  berth::NodeColumns columns_;
  berth::IdColumn volumes_;
  std::uint32_t claims_;
};

}  // namespace

BERTH_PLUGIN(VolumeRestrictions)
