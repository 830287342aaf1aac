// SPDX-License-Identifier: Apache-2.0
// NodeVolumeLimits: a node takes no more volumes of a CSI driver than its CSINode says.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
#include "node_counts.hpp"

#include <memory>

#include "../shared/guarded.hpp"

namespace {

using limits::Count;
using limits::Key;

/// True for volumes that may count: claims, and in-tree volumes that a CSI driver took over.
bool may_count(berth::Pod pod) {
  for (const berth_volume_v1& volume : pod.volumes()) {
    if (volume.kind == BERTH_VOLUME_CLAIM || volume.kind == BERTH_VOLUME_EPHEMERAL) return true;
    if (volume.kind == BERTH_VOLUME_INLINE &&
        storage::in_tree_of(berth::Json::parse(berth::view(volume.source))) != nullptr)
      return true;
  }
  return false;
}

/// What the pod brings to a node.
struct Wanted {
  std::vector<Key> keys;  // sorted, each once
  std::string error;      // the pod's volumes cannot be counted
  bool missing = false;   // …because a claim is not there
};

/// Limits of a CSINode by driver name; missing counts are 0.
std::vector<std::pair<std::string, std::int64_t>> driver_counts(const berth_object_v1& csi_node) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  const berth::Json drivers = storage::json(csi_node, storage::csi_node_field::drivers);
  for (const berth::Json& driver : drivers.items())
    counts.emplace_back(driver["name"].string_or("name", ""), driver["allocatable"]["count"].integer_or("count", 0));
  return counts;
}

class NodeVolumeLimits {
 public:
  /// In-tree volumes of the pod itself are looked at where a CSINode is; without one there is no limit to compare with.
  struct State {
    Wanted with_csi, without_csi;
  };

  static constexpr berth::Identity identity{
      .name = "NodeVolumeLimits",
      .version = "1.0.0",
      .summary = "Keeps pods off nodes that can attach no more volumes of a CSI driver.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE | BERTH_DEP_OBJECTS};
  static constexpr berth::ReasonText reasons[] = {{"node(s) exceed max volume count", "TooManyVolumes"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::Sets::id, berth::Objects::id, berth::Reasons::id,
                                             berth::NodeColumns::id};
  static constexpr const char* watches[] = {
      "core/v1/persistentvolumeclaims",      "core/v1/persistentvolumes",  "storage.k8s.io/v1/storageclasses",
      "storage.k8s.io/v1/volumeattachments", "storage.k8s.io/v1/csinodes", "storage.k8s.io/v1/csidrivers",
  };
  static constexpr berth::Interest interests[] = {berth::always(BERTH_KIND_CSI_NODE, BERTH_ACTION_ADD),
                                                  berth::hinted(BERTH_KIND_CSI_NODE, BERTH_ACTION_UPDATE),
                                                  berth::hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                                  berth::hinted(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD),
                                                  berth::hinted(BERTH_KIND_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE)};

  explicit NodeVolumeLimits(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        reasons_(setup.service<berth::Reasons>()),
        shared_(std::make_unique<Shared>(setup)) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    if (!may_count(cycle.pod())) return berth::Verdict::skip();
    const guarded::Lock lock(shared_->mutex);
    out.make(prepare(cycle));
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    if (const State* state = cycle.state<State>()) return judge(*state, nodes);
    // A profile may take the plugin away from preFilter: the same verdict, worked out for each block.
    const guarded::Lock lock(shared_->mutex);
    judge(prepare(cycle), nodes);
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    switch (event.kind()) {
      case BERTH_KIND_CSI_NODE:
        return event.old_object() == nullptr || event.new_object() == nullptr ||
               some_count_grew(*event.old_object(), *event.new_object());
      case BERTH_KIND_PERSISTENT_VOLUME_CLAIM: {
        const berth_object_v1* claim = event.new_object();
        return claim == nullptr || (berth::view(claim->ns) == intern_.text(waiting.ns()) &&
                                    storage::names_claim(waiting, berth::view(claim->name)));
      }
      case BERTH_KIND_VOLUME_ATTACHMENT:
        return event.old_object() == nullptr || detached(*event.old_object(), waiting);
      default: {
        const auto gone = event.old_pod();
        return !gone || ((gone->node_name() != 0 || gone->nominated_node() != 0) && may_count(*gone));
      }
    }
  }

 private:
  struct Shared {
    explicit Shared(berth::Setup& setup) : counts(setup) {}
    guarded::Mutex mutex;  // held to bring counts up to date; they are then read without, by the same attempt
    limits::NodeCounts counts;
  };

  State prepare(const berth::Cycle& cycle) const REQUIRES(shared_->mutex) {
    shared_->counts.refresh(cycle);
    return {wanted(cycle.pod(), true), wanted(cycle.pod(), false)};
  }

  Wanted wanted(berth::Pod pod, bool has_csi) const REQUIRES(shared_->mutex) {
    limits::VolumeKeys& keys = shared_->counts.keys();
    const std::string ns(intern_.text(pod.ns()));
    Wanted out;
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind == BERTH_VOLUME_INLINE) {
        if (!has_csi) continue;
        const limits::VolumeKeys::Inline one = keys.inline_volume(berth::view(volume.source));
        if (!one.error.empty()) {
          out.error = one.error;
          return out;
        }
        if (one.key != 0) out.keys.push_back(one.key);
        continue;
      }
      const std::string name(berth::view(volume.source));
      if (name.empty()) {
        out.error = "PersistentVolumeClaim had no name";
        return out;
      }
      const limits::ClaimUse* claim = keys.find(ns, name);
      if (claim == nullptr || !claim->exists) {
        out.error = "looking up PVC " + ns + "/" + name + ": " + storage::claim_not_found(name);
        out.missing = true;
        return out;
      }
      if (volume.kind == BERTH_VOLUME_EPHEMERAL && claim->owner_uid != pod.uid()) {
        out.error = storage::not_owner(ns, name, pod.name());
        return out;
      }
      if (claim->key != 0) out.keys.push_back(claim->key);
    }
    std::sort(out.keys.begin(), out.keys.end());
    out.keys.erase(std::unique(out.keys.begin(), out.keys.end()), out.keys.end());
    return out;
  }

  void judge(const State& state, berth::FilterBlock& nodes) const {
    const limits::NodeCounts& counts = shared_->counts;
    const std::uint32_t* const sets = nodes[counts.volume_column()];
    const bool demanding = demands_a_driver(state.with_csi) || demands_a_driver(state.without_csi);
    const bool countable =
        nodes.contiguous() && !demanding && state.with_csi.error.empty() && state.without_csi.error.empty();
    const bool shared = std::any_of(state.with_csi.keys.begin(), state.with_csi.keys.end(),
                                    [&](Key key) { return counts.in_use(key); });
    berth::Reason missing = 0;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      berth::Mask alone = nodes.open(w);
      if (countable && !shared) alone = judge_together(state.with_csi, sets, w, nodes);
      berth::each_bit(alone.bits(), [&](std::uint32_t bit) { judge_row(state, w * 64 + bit, sets, missing, nodes); });
    }
  }

  bool demands_a_driver(const Wanted& wanted) const {
    const limits::NodeCounts& counts = shared_->counts;
    return std::any_of(wanted.keys.begin(), wanted.keys.end(), [&](Key key) {
      return counts.must_be_installed(counts.keys().table().driver_of(key)) != nullptr;
    });
  }

  /// The name of a driver that the pod's volumes demand and the node does not have; otherwise null.
  const std::string* missing_driver(const Wanted& wanted, berth::Slot slot) const {
    const limits::NodeCounts& counts = shared_->counts;
    for (const Key key : wanted.keys) {
      const limits::Driver driver = counts.keys().table().driver_of(key);
      const std::string* const name = counts.must_be_installed(driver);
      if (name != nullptr && !counts.is_installed(slot, driver)) return name;
    }
    return nullptr;
  }

  /// 64 nodes at once, when no volume of the pod is in use anywhere. Returns those that have to be looked at one by
  /// one.
  berth::Mask judge_together(const Wanted& wanted, const std::uint32_t* sets, std::uint32_t w,
                             berth::FilterBlock& nodes) const {
    const limits::NodeCounts& counts = shared_->counts;
    const std::size_t first = nodes.first_slot() + std::size_t{64} * w;
    const berth::Mask open = nodes.open(w);
    const berth::Mask known =
        berth::Lane<std::uint32_t>(sets + std::size_t{64} * w) == berth::Lane<std::uint32_t>(counts.sets() + first);
    const berth::Mask alone = open && (!known || berth::Mask(counts.failing(first / 64)));
    for (std::size_t i = 0; i < wanted.keys.size(); ++i) {
      const limits::Driver driver = counts.keys().table().driver_of(wanted.keys[i]);
      const std::int32_t* const room = counts.room(driver);
      if (room == nullptr) continue;
      std::int32_t more = 0;
      for (const Key key : wanted.keys) more += counts.keys().table().driver_of(key) == driver ? 1 : 0;
      nodes.reject(w, berth::Lane<std::int32_t>(room + first) < more && open && !alone, berth::unschedulable(1));
    }
    return alone;
  }

  void judge_row(const State& state, std::uint32_t row, const std::uint32_t* sets, berth::Reason& missing,
                 berth::FilterBlock& nodes) const {
    const limits::NodeCounts& counts = shared_->counts;
    const berth::Slot slot = nodes.slot(row);
    const limits::NodeCounts::Node& node = counts.node(slot);
    const Wanted& wanted = node.has_csi ? state.with_csi : state.without_csi;
    if (!wanted.error.empty()) {
      if (!wanted.missing) throw berth::Failure(wanted.error);
      if (missing == 0) missing = reasons_.make(wanted.error);
      return nodes.reject_row(row, berth::unresolvable(missing));
    }
    if (const std::string* const driver = missing_driver(wanted, slot))
      return nodes.reject_row(
          row, berth::unschedulable(reasons_.make(*driver + " CSI driver is not installed on the node")));
    if (wanted.keys.empty() || node.limits.empty()) return;
    // Another list than the node's own is imagined: pods came or went.
    const bool fit = counts.is_about(slot, sets[row]) ? fits(wanted, node, node.in_use)
                                                      : fits(wanted, node, counts.imagine(slot, sets[row]));
    if (!fit) nodes.reject_row(row, berth::unschedulable(1));
  }

  bool fits(const Wanted& wanted, const limits::NodeCounts::Node& node, const limits::InUse& in_use) const {
    if (!in_use.error.empty()) throw berth::Failure(in_use.error);
    for (const Count& limit : node.limits) {
      std::int64_t more = 0;
      for (const Key key : wanted.keys)
        if (shared_->counts.keys().table().driver_of(key) == limit.driver &&
            !std::binary_search(in_use.keys.begin(), in_use.keys.end(), key))
          ++more;
      if (more != 0 && limits::count_of(in_use.counts, limit.driver) + more > limit.count) return false;
    }
    return true;
  }

  static bool some_count_grew(const berth_object_v1& before, const berth_object_v1& after) {
    const auto old_counts = driver_counts(before);
    for (const auto& [driver, count] : driver_counts(after)) {
      std::int64_t old_count = 0;
      for (const auto& [name, value] : old_counts)
        if (name == driver) old_count = value;
      if (count > old_count) return true;
    }
    return false;
  }

  static bool detached(const berth_object_v1& attachment, berth::Pod waiting) {
    const std::string_view attacher = storage::text(attachment, 0);
    for (const berth_volume_v1& volume : waiting.volumes()) {
      if (volume.kind == BERTH_VOLUME_CLAIM) return true;
      if (volume.kind != BERTH_VOLUME_INLINE) continue;
      const storage::InTree* type = storage::in_tree_of(berth::Json::parse(berth::view(volume.source)));
      if (type != nullptr && type->driver == attacher) return true;
    }
    return false;
  }

  berth::Intern intern_;
  berth::Reasons reasons_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace

BERTH_PLUGIN(NodeVolumeLimits)
