// SPDX-License-Identifier: Apache-2.0
#include "cache/cluster_cache.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "base/guarded.hpp"
#include "model/object_bytes.hpp"

namespace berth::cache {

Assumption& Assumption::operator=(Assumption&& other) noexcept {
  if (this == &other) return *this;
  forget();
  cache_ = std::exchange(other.cache_, nullptr);
  pod_ = std::move(other.pod_);
  node_name_ = other.node_name_;
  slot_ = other.slot_;
  handle_ = other.handle_;
  how_ = other.how_;
  shared_ports_ = std::move(other.shared_ports_);
  return *this;
}

void Assumption::decide() noexcept {
  if (cache_ == nullptr || how_ == Assume::decided) return;
  how_ = Assume::decided;
  shared_ports_.clear();
  const Lock lock(cache_->mutex_);
  cache_->mark_changed(slot_);
}

void Assumption::forget() noexcept {
  if (ClusterCache* cache = std::exchange(cache_, nullptr)) {
    const Lock lock(cache->mutex_);
    // The watch may have replaced or removed it: only the very pod that was assumed is taken away.
    const auto it = cache->by_uid_.find(pod_->uid);
    if (it == cache->by_uid_.end() || *it != handle_ || !cache->pods_[handle_].assumed) return;
    cache->forget(handle_, how_);
    for (const model::HostPort& port : shared_ports_) cache->keep_port(slot_, port);
  }
}

ClusterCache::ClusterCache(SymbolTable& symbols)
    : symbols_(symbols), resources_(symbols), tree_(symbols), by_uid_(0, UidOf{&pods_}, UidOf{&pods_}) {}
ClusterCache::~ClusterCache() {
  for (const auto& [name, slot] : by_name_) symbols_.release(name);
}

Slot ClusterCache::slot_for(Symbol name) {
  const auto [it, added] = by_name_.emplace(name, k_no_slot);
  if (!added) return it->second;
  symbols_.retain(name);
  Slot slot;
  if (free_slots_.empty()) {
    slot = static_cast<Slot>(rows_.size());
    rows_.emplace_back();
    names_.push_back(0);
    presence_.push_back(Presence::vacant);
    dirty_flag_.push_back(0);
    uncounted_flag_.push_back(0);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  it->second = slot;
  names_[slot] = name;
  presence_[slot] = Presence::ghost;
  return slot;
}

void ClusterCache::mark_dirty(Slot slot) {
  if (dirty_flag_[slot] != 0) return;
  dirty_flag_[slot] = 1;
  dirty_.push_back(slot);
}

void ClusterCache::mark_changed(Slot slot) {
  mark_dirty(slot);
  if (uncounted_flag_[slot] != 0) return;
  uncounted_flag_[slot] = 1;
  uncounted_.push_back(slot);
}

void ClusterCache::add_node(model::NodePtr node) {
  const Lock lock(mutex_);
  if (observer_ != nullptr) observer_->node_put(node);
  const Slot slot = slot_for(node->name_symbol);
  NodeRow& row = rows_[slot];
  if (row.node) {
    images_.remove(*row.node);
    tree_.update(row.node.get(), *node);
  } else {
    tree_.add(*node);
  }
  images_.add(*node);
  presence_[slot] = Presence::node;
  const bool replaces = row.node != nullptr;
  if (replaces) removed_bytes_ += model::bytes_of(*row.node);
  offer_resources(row.node.get(), node.get());
  describe(row, node, resources_, lists_);
  row.static_generation = next_generation_++;
  mark_changed(slot);
  if (replaces) removed();
}

void ClusterCache::offer_resources(const model::Node* before, const model::Node* after) {
  if (after != nullptr)
    for (const model::ResourceAmount& have : after->allocatable) {
      ResourceIndex r = resources_.find(have.name);
      if (r == k_no_resource) {
        r = resources_.index_of(have.name);
        if (r == k_no_resource) continue;
        if (r >= offers_.size()) offers_.resize(r + 1, 0);
        number_rows(have.name, r);
      }
      if (r >= offers_.size()) offers_.resize(r + 1, 0);
      ++offers_[r];
    }
  if (before != nullptr)
    for (const model::ResourceAmount& had : before->allocatable)
      if (const ResourceIndex r = resources_.find(had.name); r < offers_.size() && offers_[r] != 0) --offers_[r];
}

/// What rows have of a name that has just got its number: what pods asked for, and what nodes offer that named it while
/// there were too many names.
void ClusterCache::number_rows(Symbol name, ResourceIndex number) {
  for (Slot slot = 0; slot < rows_.size(); ++slot) {
    NodeRow& row = rows_[slot];
    const bool is_asked_for = number_resource(row, name, number), is_offered = number_offer(row, name, number);
    if (is_offered) {
      ++offers_[number];
      row.static_generation = next_generation_++;
    }
    if (is_asked_for || is_offered) mark_dirty(slot);
  }
}

/// Numbers are few: those of resources that no node offers any more are given back before they run out. Only between
/// two looks at the snapshot: a number means one thing as long as one of its states is looked at.
void ClusterCache::forget_resources() {
  if (resources_.size() < ResourceTable::k_numbers_max / 2) return;
  for (ResourceIndex r = k_first_scalar; r < offers_.size(); ++r) {
    if (offers_[r] != 0 || !resources_.may_be_forgotten(r)) continue;
    const Symbol name = resources_.name_of(r);
    for (Slot slot = 0; slot < rows_.size(); ++slot)
      if (unnumber_resource(rows_[slot], name, r)) mark_dirty(slot);
    resources_.forget(r);
  }
}

void ClusterCache::update_node(model::NodePtr node) { add_node(std::move(node)); }

Status ClusterCache::remove_node(const model::Node& node) {
  const Lock lock(mutex_);
  const auto it = by_name_.find(node.name_symbol);
  if (it == by_name_.end() || presence_[it->second] != Presence::node)
    return Error{fmt::format("node {} is not found", node.name)};
  const Slot slot = it->second;
  NodeRow& row = rows_[slot];
  if (observer_ != nullptr) observer_->node_removed(row.node);
  const bool in_tree = tree_.remove(*row.node);
  BERTH_CHECK(in_tree, "node {} is cached but not in the node tree", node.name);
  images_.remove(*row.node);
  offer_resources(row.node.get(), nullptr);
  removed_bytes_ += model::bytes_of(*row.node);
  row.node.reset();
  row.static_generation = next_generation_++;
  presence_[slot] = Presence::ghost;
  mark_dirty(slot);
  vacate_if_empty(slot);
  removed();
  return Unit{};
}

void ClusterCache::vacate_if_empty(Slot slot) {
  if (presence_[slot] != Presence::ghost || !rows_[slot].pods.empty()) return;
  vacant_.push_back(slot);  // the name keeps its slot until the next refresh, as upstream's sticky list order demands
  mark_dirty(slot);
}

void ClusterCache::place(model::PodPtr pod, Slot slot, bool assumed, Assume how) {
  PodHandle handle;
  if (free_handles_.empty()) {
    handle = static_cast<PodHandle>(pods_.size());
    pods_.emplace_back();
  } else {
    handle = free_handles_.back();
    free_handles_.pop_back();
  }
  NodeRow& row = rows_[slot];
  const ShapeId shape = shapes_.acquire(pod);
  const auto known =
      std::find_if(row.shapes.begin(), row.shapes.end(), [&](const ShapeCount& c) { return c.shape == shape; });
  if (known != row.shapes.end())
    ++known->count;
  else
    row.shapes.push_back({shape, 1});
  row.pods.push_back(handle);
  charge_amounts(row, *pod, resources_, +1);
  pods_[handle].take(std::move(pod), slot, shape, assumed);
  by_uid_.insert(handle);
  if (assumed) ++assumed_count_;
  mark(slot, how);
}

void ClusterCache::displace(PodHandle handle, Assume how) {
  PodEntry& entry = pods_[handle];
  NodeRow& row = rows_[entry.slot];
  const auto at = std::find(row.pods.begin(), row.pods.end(), handle);
  BERTH_CHECK(at != row.pods.end(), "pod {} is cached but not on its node", entry.pod->key());
  *at = row.pods.back();
  row.pods.pop_back();
  const auto count =
      std::find_if(row.shapes.begin(), row.shapes.end(), [&](const ShapeCount& c) { return c.shape == entry.shape; });
  if (--count->count == 0) {
    *count = row.shapes.back();
    row.shapes.pop_back();
  }
  shapes_.release(entry.shape);
  charge_amounts(row, *entry.pod, resources_, -1);
  by_uid_.erase(handle);
  if (entry.assumed) --assumed_count_;
  entry.assumed = false;
  removed_bytes_ += model::bytes_of(*entry.pod);
  graveyard_.push_back(handle);
  mark(entry.slot, how);
  vacate_if_empty(entry.slot);
}

Status ClusterCache::add_pod(model::PodPtr pod) {
  const Lock lock(mutex_);
  if (pod->uid.empty()) return Error{"cannot get cache key for pod with empty UID"};
  const auto it = by_uid_.find(pod->uid);
  const bool replaces = it != by_uid_.end();
  if (replaces) {
    if (!pods_[*it].assumed) return Error{fmt::format("pod {}({}) was already in added state", pod->uid, pod->key())};
    displace(*it);
  }
  if (observer_ != nullptr) observer_->pod_put(pod);
  const Slot slot = slot_for(pod->node_name);
  place(std::move(pod), slot, false);
  if (replaces) removed();
  return Unit{};
}

Status ClusterCache::update_pod(model::PodPtr pod) {
  const Lock lock(mutex_);
  const auto it = by_uid_.find(pod->uid);
  if (it == by_uid_.end())
    return Error{fmt::format("pod {}({}) is not added to scheduler cache, so cannot be updated", pod->uid, pod->key())};
  if (pods_[*it].assumed) return Error{fmt::format("assumed pod {}({}) should not be updated", pod->uid, pod->key())};
  Status status = Unit{};
  if (const Symbol cached = names_[pods_[*it].slot]; cached != pod->node_name)
    status = Error{fmt::format("pod {}({}) was updated on {} but had been added to {}", pod->uid, pod->key(),
                               symbols_.text(pod->node_name), symbols_.text(cached))};
  displace(*it);
  if (observer_ != nullptr) observer_->pod_put(pod);
  const Slot slot = slot_for(pod->node_name);
  place(std::move(pod), slot, false);
  removed();
  return status;
}

Status ClusterCache::remove_pod(const model::Pod& pod) {
  const Lock lock(mutex_);
  const auto it = by_uid_.find(pod.uid);
  if (it == by_uid_.end())
    return Error{
        fmt::format("pod {}({}) is not found in scheduler cache, so cannot be removed from it", pod.uid, pod.key())};
  if (observer_ != nullptr) observer_->pod_removed(pod);
  displace(*it);
  removed();
  return Unit{};
}

Result<Assumption> ClusterCache::assume(model::PodPtr pod, Symbol node_name, Assume how) {
  const Lock lock(mutex_);
  if (pod->uid.empty()) return Error{"cannot get cache key for pod with empty UID"};
  if (by_uid_.contains(pod->uid))
    return Error{fmt::format("pod {}({}) is in the cache, so can't be assumed", pod->uid, pod->key())};
  const Slot slot = slot_for(node_name);
  model::PodPtr kept = pod;
  std::vector<model::HostPort> shared;
  if (how == Assume::tried) shared = shared_ports(rows_[slot], *kept);
  place(std::move(pod), slot, true, how);
  const PodHandle handle = *by_uid_.find(kept->uid);
  return Assumption(*this, std::move(kept), node_name, slot, handle, how, std::move(shared));
}

void ClusterCache::forget(PodHandle handle, Assume how) noexcept {
  if (observer_ != nullptr) observer_->pod_given_back(*pods_[handle].pod);
  displace(handle, how);
  ++removals_;  // the next removal may refresh; this one must not fail
}

/// Upstream tries a pod in the snapshot alone: the ports of the node's own pods stay theirs in the cache.
void ClusterCache::keep_port(Slot slot, const model::HostPort& port) {
  for (const PodHandle handle : rows_[slot].pods) {
    const auto& ports = pods_[handle].pod->spec->host_ports;
    if (std::find(ports.begin(), ports.end(), port) != ports.end()) return put_port(rows_[slot], port);
  }
}

const ClusterCache::PodEntry* ClusterCache::entry_of(const model::Uid& uid) const {
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? nullptr : &pods_[*it];
}

bool ClusterCache::is_assumed(const model::Uid& uid) const {
  const Lock lock(mutex_);
  const PodEntry* entry = entry_of(uid);
  return entry != nullptr && entry->assumed;
}

std::optional<CachedPod> ClusterCache::find_pod(const model::Uid& uid) const {
  const Lock lock(mutex_);
  const PodEntry* entry = entry_of(uid);
  if (entry == nullptr) return std::nullopt;
  return CachedPod{entry->pod, names_[entry->slot], entry->assumed != 0};
}

CacheCounts ClusterCache::counts() const {
  const Lock lock(mutex_);
  CacheCounts counts{0, by_uid_.size(), assumed_count_};
  for (const Presence p : presence_)
    if (p != Presence::vacant) ++counts.nodes;
  return counts;
}

model::NodePtr ClusterCache::find_node(Symbol name) const {
  const Lock lock(mutex_);
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : rows_[it->second].node;
}

model::PodPtr ClusterCache::pod(PodHandle handle) const {
  const Lock lock(mutex_);
  return handle < pods_.size() ? pods_[handle].pod : nullptr;
}

CacheTables ClusterCache::tables() const {
  const Lock lock(mutex_);
  CacheTables tables;
  tables.pod_slots = pods_.size();
  tables.pod_slot_bytes =
      pods_.capacity() * sizeof(PodEntry) +
      (free_handles_.capacity() + graveyard_.capacity() + by_uid_.bucket_count()) * sizeof(PodHandle);
  tables.removed_pods = graveyard_.size();
  tables.removed_bytes = removed_bytes_;
  tables.shapes = shapes_.size();
  tables.shape_bytes = shapes_.bytes();
  tables.resources = resources_.size();
  tables.resource_bytes = resources_.bytes();
  tables.refused_resources = resources_.refused();
  tables.list_bytes = list_bytes();
  tables.column_bytes = column_bytes_;
  for (const NodeRow& row : rows_) tables.unoffered_bytes += row.unoffered.capacity() * sizeof(UnofferedAmount);
  return tables;
}

/// The sets that pods make up, of a row that is about to be seen.
void ClusterCache::make_sets(Slot slot) {
  NodeRow& row = rows_[slot];
  if (!row.node || !row.lists_changed) return;
  row.lists_changed = false;
  row.port_set = lists_.ports.intern(row.ports);
  std::vector<model::NodeVolume> volumes;
  for (const PodHandle handle : row.pods) {
    const auto& of_pod = pods_[handle].pod->node_volumes;
    volumes.insert(volumes.end(), of_pod.begin(), of_pod.end());
  }
  std::sort(volumes.begin(), volumes.end());
  row.volume_set = lists_.volumes.intern(volumes);
}

/// A copy of a NodeInfo shows counts of when it was made, and is made again when the node has changed. What a question sees is
/// counted once more when the next decision looks.
void ClusterCache::count_images(Look look) {
  for (const Slot slot : uncounted_) {
    if (look == Look::decision) uncounted_flag_[slot] = 0;
    NodeRow& row = rows_[slot];
    if (!row.node || row.image_generation == images_.generation()) continue;
    row.image_generation = images_.generation();
    images_.list(*row.node, image_scratch_);
    const std::uint32_t before = std::exchange(row.image_set, lists_.images.intern(image_scratch_));
    if (row.image_set != before) mark_dirty(slot);
  }
  if (look == Look::decision) uncounted_.clear();
}

void ClusterCache::release_vacant() {
  for (const Slot slot : vacant_) {
    if (presence_[slot] != Presence::ghost || !rows_[slot].pods.empty()) continue;  // the name came back
    by_name_.erase(names_[slot]);
    symbols_.release(names_[slot]);
    rows_[slot] = NodeRow{};
    presence_[slot] = Presence::vacant;
    free_slots_.push_back(slot);
  }
  vacant_.clear();
}

void ClusterCache::refresh(Snapshot& snapshot, Look look) {
  const Lock lock(mutex_);
  if (observer_ != nullptr) observer_->snapshot_taken();
  resting_ = nullptr;
  count_images(look);
  refresh_locked(snapshot);
}

void ClusterCache::visit(
    const std::function<void(std::vector<model::NodePtr> nodes, std::vector<CachedPod> pods)>& use) const {
  const Lock lock(mutex_);
  std::vector<model::NodePtr> nodes;
  nodes.reserve(tree_.size());
  for (const Symbol name : tree_.list()) nodes.push_back(rows_[by_name_.at(name)].node);
  std::vector<CachedPod> pods;
  pods.reserve(by_uid_.size());
  for (const PodHandle handle : by_uid_)
    pods.push_back({pods_[handle].pod, names_[pods_[handle].slot], pods_[handle].assumed != 0});
  use(std::move(nodes), std::move(pods));
}

void ClusterCache::rest(Snapshot& snapshot) {
  const Lock lock(mutex_);
  resting_ = &snapshot;
}

void ClusterCache::refresh_locked(Snapshot& snapshot) {
  removals_ = 0;
  removed_bytes_ = 0;
  snapshot.drop_labels();
  forget_resources();
  snapshot.resize(rows_.size());
  bool members_changed = false;
  const Snapshot::PodOf pod_of = this->pod_of();
  for (const Slot slot : dirty_) {
    NodeRow& row = rows_[slot];
    make_sets(slot);
    const bool was = bitmap::test(snapshot.nodes(), slot);
    if (was != (row.node != nullptr)) members_changed = true;
    if (was || row.node) snapshot.take(slot, row, shapes_, pod_of);
    dirty_flag_[slot] = 0;
  }
  dirty_.clear();
  if (members_changed) {
    std::vector<Slot> order;
    order.reserve(tree_.size());
    for (const Symbol name : tree_.list()) order.push_back(by_name_.at(name));
    snapshot.reorder(std::move(order));
  }
  BERTH_CHECK(snapshot.order().size() == tree_.size(),
              "snapshot state is not consistent, length of NodeInfoList={} not equal to length of nodes in tree={}",
              snapshot.order().size(), tree_.size());
  if (!vacant_.empty()) release_vacant();
  shapes_.recycle();
  for (const PodHandle handle : graveyard_) {
    pods_[handle].pod.reset();
    free_handles_.push_back(handle);
  }
  graveyard_.clear();
  column_bytes_ = snapshot.column_bytes();
  if (list_bytes() > sweep_threshold_bytes_) sweep_lists(snapshot);
  if (const std::uint64_t now = symbols_.generation(); now != symbol_generation_) {
    symbol_generation_ = now;
    lists_.recycled.fetch_add(1, std::memory_order_release);  // symbols were: what is known by them is as old
  }
}

/// For a snapshot while it takes rows. Pods that rows do not name any more rest in the graveyard meanwhile.
Snapshot::PodOf ClusterCache::pod_of() {
  const auto* const pods = &pods_;
  return [pods](PodHandle handle) -> const model::PodPtr& { return (*pods)[handle].pod; };
}

void ClusterCache::refresh_nodes(Snapshot& snapshot, std::span<const Slot> slots) {
  const Lock lock(mutex_);
  const Snapshot::PodOf pod_of = this->pod_of();
  for (const Slot slot : slots)  // the nodes stay marked: the next refresh takes whatever else came
    if (slot < snapshot.slot_count() && bitmap::test(snapshot.nodes(), slot) && rows_[slot].node) {
      make_sets(slot);
      snapshot.take(slot, rows_[slot], shapes_, pod_of);
    }
}

std::size_t ClusterCache::list_bytes() const {
  return lists_.taints.bytes() + lists_.labels.bytes() + lists_.features.bytes() + lists_.images.bytes() +
         lists_.ports.bytes() + lists_.volumes.bytes();
}

void ClusterCache::sweep_lists(const Snapshot& snapshot) {
  const Lock foreign(lists_.foreign_mutex);
  // Lists die when the rows that named them changed; both the cache's and the snapshot's rows count as holders.
  std::vector<bool> images(lists_.images.id_limit()), labels(lists_.labels.id_limit()), ports(lists_.ports.id_limit()),
      volumes(lists_.volumes.id_limit()), taints(lists_.taints.id_limit()), features(lists_.features.id_limit());
  const auto mark = [&](const NodeRow& row) {
    images[row.image_set] = true;
    labels[row.label_set] = true;
    ports[row.port_set] = true;
    volumes[row.volume_set] = true;
    taints[row.taint_set] = true;
    features[row.feature_set] = true;
  };
  for (const NodeRow& row : rows_) mark(row);
  for (const NodeRow* row : lists_.foreign_rows) mark(*row);
  for (Slot slot = 0; slot < snapshot.slot_count(); ++slot) mark(snapshot.row(slot));
  lists_.images.retain_only(images);
  lists_.labels.retain_only(labels);
  lists_.ports.retain_only(ports);
  lists_.volumes.retain_only(volumes);
  lists_.taints.retain_only(taints);
  lists_.features.retain_only(features);
  lists_.recycled.fetch_add(1, std::memory_order_release);
  sweep_threshold_bytes_ = 2 * list_bytes() + k_swept_bytes;
}

}  // namespace berth::cache
