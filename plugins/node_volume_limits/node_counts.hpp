// SPDX-License-Identifier: Apache-2.0
/// What is in use on each node, per driver, and how much its CSINode allows; kept between cycles and brought up to date
/// for nodes whose volumes, limits or attachments changed.
///
/// Threads: refresh() [cycle]; everything const from any thread until the next one.
#pragma once
#include "volume_keys.hpp"

#include <map>

namespace limits {

struct Count {
  Driver driver = 0;
  std::int64_t count = 0;
};
inline std::int64_t count_of(const std::vector<Count>& counts, Driver driver) noexcept {
  for (const Count& c : counts)
    if (c.driver == driver) return c.count;
  return 0;
}

/// One node's volumes.
struct InUse {
  std::vector<Key> keys;      // of its pods, sorted, each once
  std::vector<Count> counts;  // with attachments that no pod explains
  std::string error;          // something on the node cannot be counted
};

class NodeCounts {
 public:
  explicit NodeCounts(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        sets_(setup.service<berth::Sets>()),
        objects_(setup.service<berth::Objects>()),
        columns_(setup.service<berth::NodeColumns>()),
        keys_(objects_),
        names_(setup.name()),
        volumes_(setup.volume_set()),
        csi_watch_(objects_.watch(storage::k_csi_nodes, storage::k_csi_node_fields)),
        attachment_watch_(objects_.watch(storage::k_attachments, k_attachment_fields)),
        driver_watch_(objects_.watch(storage::k_csi_drivers, k_driver_fields)) {}

  struct Node {
    bool has_csi = false;
    std::vector<Count> limits;  // drivers without a limit are left out
    InUse in_use;
  };

  berth::IdColumn volume_column() const noexcept { return volumes_; }
  VolumeKeys& keys() noexcept { return keys_; }
  const VolumeKeys& keys() const noexcept { return keys_; }
  const Node& node(berth::Slot slot) const { return nodes_[slot]; }
  /// Whether what is kept about a node is about this list of volumes.
  bool is_about(berth::Slot slot, std::uint32_t set) const { return sets_of_[slot] == set; }
  /// By slot, padded to 64: the lists that the rest is about.
  const std::uint32_t* sets() const noexcept { return sets_of_.data(); }
  /// By slot, padded to 64: how many more volumes of the driver fit; k_no_limit where nothing says so.
  const std::int32_t* room(Driver driver) const noexcept {
    return driver < room_.size() && !room_[driver].empty() ? room_[driver].data() : nullptr;
  }
  /// Bitmap by slot: nodes with limits where something cannot be counted.
  std::uint64_t failing(std::size_t word) const noexcept { return failing_[word]; }
  /// True when some pod on some node with limits uses it.
  bool in_use(Key key) const noexcept { return key < users_.size() && users_[key] != 0; }
  static constexpr std::int32_t k_no_limit = 0x7fffffff;

  /// The driver's name when its CSIDriver keeps pods off nodes where it is not installed; otherwise null. The host
  /// shows that field of CSIDrivers while the feature gate VolumeLimitScaling is on.
  const std::string* must_be_installed(Driver driver) const noexcept {
    const auto found = must_be_installed_.find(driver);
    return found == must_be_installed_.end() ? nullptr : &found->second;
  }
  /// True when the node's CSINode names the driver.
  bool is_installed(berth::Slot slot, Driver driver) const {
    const auto csi = csi_nodes_.find(names_of_[slot]);
    return csi != csi_nodes_.end() &&
           std::find(csi->second.installed.begin(), csi->second.installed.end(), driver) != csi->second.installed.end();
  }

  void refresh(const berth::Cycle& cycle) {
    if (const std::uint64_t recycled = sets_.recycled(); recycled != recycled_) {
      recycled_ = recycled;
      by_ids_.clear();
      inline_.clear();  // ids of sources may mean others from now on
      keys_.prune();
      if (keys_.table().size() <= 1) {  // numbers of drivers and keys start from 0
        csi_seen_ = 0;
        drivers_seen_ = 0;
        room_.clear();
        users_.clear();
        for (Node& node : nodes_) node = {};
      }
      forget_all();
    }
    if (nodes_.size() < cycle.slot_count()) grow(cycle.nodes().size() * 64);
    keys_.refresh(
        [&](ClaimUse& claim) {
          stale_.insert(stale_.end(), claim.slots.begin(), claim.slots.end());
          claim.slots.clear();
        },
        [&](std::string_view volume) {
          if (volume.empty()) return forget_all();
          const auto holders = nodes_of_volume_.find(std::string(volume));
          if (holders == nodes_of_volume_.end()) return;
          for (const berth::Id name : holders->second) forget(name);
        });
    take_csi_nodes();
    take_csi_drivers();
    take_attachments();
    const std::uint32_t* sets = columns_.column(cycle, volumes_);
    const berth::Id* names = columns_.column(cycle, names_);
    for (const berth::Slot slot : stale_) names_of_[slot] = 0;
    stale_.clear();
    for (std::size_t w = 0; w < cycle.nodes().size(); ++w) {
      const std::size_t first = w * 64;
      const berth::Mask changed =
          berth::Lane<std::uint32_t>(sets + first) != berth::Lane<std::uint32_t>(&sets_of_[first]) ||
          berth::Lane<berth::Id>(names + first) != berth::Lane<berth::Id>(&names_of_[first]);
      berth::each_bit(changed.bits() & cycle.nodes()[w], [&](std::uint32_t bit) {
        const auto slot = static_cast<berth::Slot>(first + bit);
        recount(slot, nodes_[slot], sets[slot], names[slot]);
      });
    }
  }

  /// Counts a list of volumes that is not what the node has now.
  InUse imagine(berth::Slot slot, std::uint32_t set) const { return count(set, names_of_[slot], nullptr); }

 private:
  static constexpr std::array<berth_field_v1, 3> k_attachment_fields = {
      storage::field("spec.attacher", BERTH_FIELD_STR), storage::field("spec.nodeName", BERTH_FIELD_STR),
      storage::field("spec.source.persistentVolumeName", BERTH_FIELD_STR)};
  static constexpr std::array<berth_field_v1, 1> k_driver_fields = {
      storage::field("spec.preventPodSchedulingIfMissing", BERTH_FIELD_BOOL)};
  struct CsiNode {
    std::vector<Count> limits;
    std::vector<Driver> installed;
  };
  struct Attachment {
    std::string attacher, volume;
    berth::Id node = 0;
  };

  void grow(std::size_t slots) {
    nodes_.resize(slots);
    sets_of_.resize(slots, 0);
    names_of_.resize(slots, 0);
    failing_.resize(slots / 64, 0);
    for (auto& room : room_)
      if (!room.empty()) room.resize(slots, k_no_limit);
  }
  void forget(berth::Id name) {
    const auto at = slot_of_.find(name);
    if (at != slot_of_.end()) stale_.push_back(at->second);
  }
  /// A node without a name is looked at again.
  void forget_all() { std::fill(names_of_.begin(), names_of_.end(), 0); }

  void take_csi_nodes() {
    csi_seen_ = objects_.changes(csi_watch_, csi_seen_, [&](auto, auto name, const berth_object_v1* now) {
      if (name.empty()) {
        for (const auto& [known, csi] : csi_nodes_) intern_.unpin(known);
        csi_nodes_.clear();
        return forget_all();
      }
      const berth::Id id = intern_.for_cycle(name);
      forget(id);
      if (now == nullptr) {
        if (csi_nodes_.erase(id) != 0) intern_.unpin(id);
        return;
      }
      const auto [known, is_new] = csi_nodes_.try_emplace(id);
      if (is_new) intern_.pin(id);  // the node may come later, and is to have this id then
      CsiNode& csi = known->second;
      csi.limits.clear();
      csi.installed.clear();
      const berth::Json drivers = storage::json(*now, storage::csi_node_field::drivers);
      for (const berth::Json& driver : drivers.items()) {
        const Driver number = keys_.table().driver(driver["name"].string_or("name", ""));
        const berth::Json& count = driver["allocatable"]["count"];
        csi.installed.push_back(number);
        if (count.is_number()) csi.limits.push_back({number, count.integer("count")});
      }
    });
  }

  void take_csi_drivers() {
    drivers_seen_ = objects_.changes(driver_watch_, drivers_seen_, [&](auto, auto name, const berth_object_v1* now) {
      if (name.empty()) return must_be_installed_.clear();
      const std::string driver(name);
      if (now != nullptr && storage::number(*now, 0) != 0)
        must_be_installed_[keys_.table().driver(driver)] = driver;
      else
        must_be_installed_.erase(keys_.table().driver(driver));
    });
  }

  void take_attachments() {
    attachments_seen_ =
        objects_.changes(attachment_watch_, attachments_seen_, [&](auto, auto name, const berth_object_v1* now) {
          if (name.empty()) {
            for (const auto& [known, attachment] : attachments_) intern_.unpin(attachment.node);
            attachments_.clear();
            by_node_.clear();
            nodes_of_volume_.clear();
            return forget_all();
          }
          const std::string key(name);
          if (const auto known = attachments_.find(key); known != attachments_.end()) {
            forget(known->second.node);
            std::erase(by_node_[known->second.node], key);
            std::erase(nodes_of_volume_[known->second.volume], known->second.node);
            intern_.unpin(known->second.node);
            attachments_.erase(known);
          }
          if (now == nullptr) return;
          Attachment attachment{std::string(storage::text(*now, 0)), std::string(storage::text(*now, 2)),
                                intern_.for_cycle(storage::text(*now, 1))};
          forget(attachment.node);
          if (attachment.attacher.empty() || attachment.volume.empty()) return;
          intern_.pin(attachment.node);
          by_node_[attachment.node].push_back(key);
          nodes_of_volume_[attachment.volume].push_back(attachment.node);
          attachments_[key] = std::move(attachment);
        });
  }

  void recount(berth::Slot slot, Node& node, std::uint32_t set, berth::Id name) {
    sets_of_[slot] = set;
    names_of_[slot] = name;
    slot_of_[name] = slot;
    for (const Count& limit : node.limits) room_[limit.driver][slot] = k_no_limit;
    for (const Key key : node.in_use.keys) --users_[key];
    failing_[slot / 64] &= ~(std::uint64_t{1} << (slot & 63));
    const auto csi = csi_nodes_.find(name);
    node.has_csi = csi != csi_nodes_.end();
    node.limits = node.has_csi ? csi->second.limits : std::vector<Count>{};
    if (node.limits.empty()) {  // nothing is ever compared there
      node.in_use = {};
      return;
    }
    // What attachments count as depends on volumes, which claims need not name.
    attached_.clear();
    if (const auto list = by_node_.find(name); list != by_node_.end())
      for (const std::string& key : list->second) {
        const Attachment& attachment = attachments_.at(key);
        if (const Key attached = keys_.attached(attachment.attacher, attachment.volume)) attached_.push_back(attached);
      }
    attached_by_name_[name] = attached_;
    // Learns of claims that are not known yet, so that their coming is noticed.
    for (const berth::NodeVolume& volume : sets_.volumes(set)) {
      if (volume.kind == BERTH_VOLUME_INLINE) {
        learn_inline(volume.source);
        continue;
      }
      ClaimUse& claim = keys_.claim_at(intern_.text(volume.ns), intern_.text(volume.source));
      by_ids_[ids_of(volume)] = &claim;
      if (claim.slots.empty() || claim.slots.back() != slot) claim.slots.push_back(slot);
    }
    node.in_use = count(set, name, &attached_);
    if (users_.size() < keys_.table().size()) users_.resize(keys_.table().size(), 0);
    for (const Key key : node.in_use.keys) ++users_[key];
    if (!node.in_use.error.empty()) failing_[slot / 64] |= std::uint64_t{1} << (slot & 63);
    for (const Count& limit : node.limits) {
      if (room_.size() <= limit.driver) room_.resize(limit.driver + 1);
      if (room_[limit.driver].empty()) room_[limit.driver].resize(nodes_.size(), k_no_limit);
      const std::int64_t left = limit.count - count_of(node.in_use.counts, limit.driver);
      room_[limit.driver][slot] = static_cast<std::int32_t>(std::clamp<std::int64_t>(left, -k_no_limit, k_no_limit));
    }
  }

  static std::uint64_t ids_of(const berth::NodeVolume& volume) noexcept {
    return std::uint64_t{volume.ns} << 32 | volume.source;
  }
  void learn_inline(berth::Id source) {
    if (!inline_.contains(source)) inline_.emplace(source, keys_.inline_volume(intern_.text(source)));
  }

  InUse count(std::uint32_t set, berth::Id name, const std::vector<Key>* attached) const {
    InUse out;
    for (const berth::NodeVolume& volume : sets_.volumes(set)) {
      if (volume.kind == BERTH_VOLUME_INLINE) {
        const auto known = inline_.find(volume.source);
        if (known == inline_.end()) continue;
        if (!known->second.error.empty() && out.error.empty()) out.error = known->second.error;
        if (known->second.key != 0) out.keys.push_back(known->second.key);
        continue;
      }
      if (volume.source == BERTH_ID_EMPTY) {
        if (out.error.empty()) out.error = "PersistentVolumeClaim had no name";
        continue;
      }
      const auto known = by_ids_.find(ids_of(volume));
      const ClaimUse* claim =
          known != by_ids_.end() ? known->second : keys_.find(intern_.text(volume.ns), intern_.text(volume.source));
      if (claim == nullptr || !claim->exists) continue;
      if (volume.kind == BERTH_VOLUME_EPHEMERAL && claim->owner_uid != intern_.text(volume.pod_uid)) {
        if (out.error.empty()) out.error = storage::not_owner(claim->ns, claim->name, intern_.text(volume.pod_name));
        continue;
      }
      if (claim->key != 0) out.keys.push_back(claim->key);
    }
    std::sort(out.keys.begin(), out.keys.end());
    out.keys.erase(std::unique(out.keys.begin(), out.keys.end()), out.keys.end());
    const auto add = [&](Key key) {
      const Driver driver = keys_.table().driver_of(key);
      for (Count& c : out.counts)
        if (c.driver == driver) return void(++c.count);
      out.counts.push_back({driver, 1});
    };
    for (const Key key : out.keys) add(key);
    if (attached == nullptr) {
      const auto list = attached_by_name_.find(name);
      if (list != attached_by_name_.end()) attached = &list->second;
    }
    if (attached != nullptr) {
      std::vector<Key> others = *attached;
      std::sort(others.begin(), others.end());
      others.erase(std::unique(others.begin(), others.end()), others.end());
      for (const Key key : others)
        if (!std::binary_search(out.keys.begin(), out.keys.end(), key)) add(key);
    }
    return out;
  }

  berth::Intern intern_;
  berth::Sets sets_;
  berth::Objects objects_;
  berth::NodeColumns columns_;
  VolumeKeys keys_;
  berth::IdColumn names_, volumes_;
  std::uint32_t csi_watch_, attachment_watch_, driver_watch_;
  std::uint64_t csi_seen_ = 0, attachments_seen_ = 0, drivers_seen_ = 0, recycled_ = 0;
  std::unordered_map<Driver, std::string> must_be_installed_;
  // By slot, padded to 64.
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> sets_of_;
  std::vector<berth::Id> names_of_;  // 0: to be counted again
  std::vector<std::uint64_t> failing_;
  std::vector<std::vector<std::int32_t>> room_;  // by driver; empty: it has no limits
  std::vector<std::uint32_t> users_;             // by key: nodes with limits whose pods use it
  std::vector<berth::Slot> stale_;
  std::unordered_map<berth::Id, berth::Slot> slot_of_;
  std::unordered_map<berth::Id, CsiNode> csi_nodes_;
  std::unordered_map<std::string, Attachment> attachments_;
  std::unordered_map<berth::Id, std::vector<std::string>> by_node_;
  std::unordered_map<std::string, std::vector<berth::Id>> nodes_of_volume_;
  std::unordered_map<berth::Id, std::vector<Key>> attached_by_name_;
  std::vector<Key> attached_;
  std::unordered_map<std::uint64_t, ClaimUse*> by_ids_;
  std::unordered_map<berth::Id, VolumeKeys::Inline> inline_;
};

}  // namespace limits
