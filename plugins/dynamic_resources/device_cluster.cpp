// SPDX-License-Identifier: Apache-2.0
#include "device_cluster.hpp"

namespace dynamic_resources {
namespace {

std::string_view field(const berth_object_v1& object, std::size_t index) {
  return object.values[index].present != 0 ? berth::view(object.values[index].text) : std::string_view();
}

std::string key_of(std::string_view ns, std::string_view name) {
  std::string key(ns);
  key += '/';
  return key += name;
}

}  // namespace

DeviceCluster::DeviceCluster(berth::Setup& setup)
    : objects_(setup.service<berth::Objects>()),
      log_(setup.service<berth::Log>()),
      watches_{objects_.watch(k_claims, k_object_fields), objects_.watch(k_slices, std::span(k_object_fields).first(2)),
               objects_.watch(k_classes, std::span(k_object_fields).first(2))},
      device_ids_(std::make_shared<dra::DeviceIds>()),
      random_ids_(static_cast<std::uint64_t>(setup.service<berth::Clock>().wall_ns())),
      state_(device_ids_) {}

void DeviceCluster::log(const std::string& what) const { log_.write(BERTH_LOG_ERROR, what); }

void DeviceCluster::refresh() {
  for (std::size_t watch = 0; watch < k_watches; ++watch) refresh(watch);
}

void DeviceCluster::refresh(std::size_t watch) {
  for (;;) {
    std::uint64_t since = 0;
    {
      const std::lock_guard lock(mutex_);
      since = seen_[watch];
    }
    if (since != 0 && objects_.epoch(watches_[watch]) == since) return;
    std::vector<Change> changes;
    const std::uint64_t next =
        objects_.changes(watches_[watch], since, [&](auto ns, auto name, const berth_object_v1* now) {
          Change& change = changes.emplace_back();
          change.ns = ns;
          change.name = name;
          change.starts_over = name.empty() && now == nullptr;
          if (now != nullptr) read_into(watch, *now, change);
        });
    const std::lock_guard lock(mutex_);
    if (seen_[watch] != since) continue;  // another thread was faster: perhaps it has seen less
    for (Change& change : changes) apply(watch, change);
    seen_[watch] = next;
    return;
  }
}

void DeviceCluster::read_into(std::size_t watch, const berth_object_v1& object, Change& change) {
  try {
    if (watch == k_claim) {
      change.claim = read_claim(field(object, 0), field(object, 1), field(object, 2));
    } else if (watch == k_class) {
      change.device_class = read_class(field(object, 0), field(object, 1));
    } else {
      dra::PreparedSlice::Made made =
          dra::PreparedSlice::prepare(read_slice(change.name, field(object, 1)), *device_ids_);
      if (made.slice == nullptr) log(made.error + "; it is left out");
      change.slice = std::move(made.slice);
    }
  } catch (const berth::JsonError& e) {
    std::string text = key_of(change.ns, change.name) + " cannot be read and is left out: " + e.what();
    if (watch == k_claim) change.unread = read_allocation_partly(field(object, 2));
    if (change.unread != nullptr) text += "; the devices that it may have are not given to other claims";
    log(text);
  }
}

void DeviceCluster::apply(std::size_t watch, Change& change) {
  switch (watch) {
    case k_claim:
      if (change.starts_over) {
        claims_.clear();
        extended_claims_.clear();
        unread_.clear();
        withheld_.clear();
        state_ = dra::AllocatedState(device_ids_);
        state_with_in_flight_ = nullptr;
        return;
      }
      return put_claim(key_of(change.ns, change.name), std::move(change.claim), std::move(change.unread));
    case k_class:
      if (change.starts_over) {
        extended_.clear();
        return classes_.clear();
      }
      return put_class(change.name, std::move(change.device_class));
    default:
      inventory_ = nullptr;
      if (!withheld_.empty()) state_with_in_flight_ = nullptr;
      if (change.starts_over) return slices_.clear();
      if (change.slice == nullptr) {
        slices_.erase(change.name);
      } else {
        slices_[change.name] = std::move(change.slice);
      }
  }
}

void DeviceCluster::put_class(const std::string& name, ClassPtr now) {
  const auto known = classes_.find(name);
  const ClassPtr before = known == classes_.end() ? nullptr : known->second;
  if (now == nullptr) {
    if (before == nullptr) return;
    extended_.remove(*before);
    classes_.erase(known);
    return;
  }
  extended_.put(before, now);
  classes_[name] = std::move(now);
}

void DeviceCluster::put_claim(const std::string& key, ClaimPtr now, std::shared_ptr<const AllocationObject> unread) {
  if (const auto left_out = unread_.find(key); left_out != unread_.end()) {
    uncount(key, *left_out->second);
    unread_.erase(left_out);
  }
  const auto known = claims_.find(key);
  const ClaimPtr before = known == claims_.end() ? nullptr : known->second;
  const AllocationObject* const had = before == nullptr ? nullptr : before->allocation.get();
  const AllocationObject* const has = now == nullptr ? nullptr : now->allocation.get();
  // Another claim under the name: the one that was there is gone. An allocation is never changed, only set and cleared.
  const bool is_another = before != nullptr && now != nullptr && before->uid != now->uid;
  if (had != nullptr && (has == nullptr || is_another)) uncount(key, *had);
  if (has != nullptr && (had == nullptr || is_another)) count(key, *has);
  if (unread != nullptr) {
    count(key, *unread);
    unread_.emplace(key, std::move(unread));
  }
  extended_claims_.erase(key);
  if (now != nullptr && now->is_extended) extended_claims_.emplace(key, now);
  if (now == nullptr) {
    if (known != claims_.end()) claims_.erase(known);
  } else {
    claims_[key] = std::move(now);
  }
}

void DeviceCluster::count(const std::string& key, const AllocationObject& allocation) {
  state_with_in_flight_ = nullptr;
  std::vector<Withheld> withheld = allocation.withheld;
  for (const ResultObject& each : allocation.results) {
    const std::string wrong = state_.add(each.taken());
    if (wrong.empty()) continue;
    log(wrong + "; the device is not given to other claims");
    withheld.push_back({each.driver, each.pool, each.device, Withheld::Nodes::any, {}});
  }
  if (withheld.empty()) return;
  if (!allocation.withheld.empty())
    log("claim " + key + ": " + std::to_string(allocation.withheld.size()) +
        " results of its allocation cannot be read; the devices that it may have are not given to other claims");
  withheld_[key] = std::move(withheld);
}

void DeviceCluster::uncount(const std::string& key, const AllocationObject& allocation) {
  state_with_in_flight_ = nullptr;
  for (const ResultObject& each : allocation.results) state_.remove(each.taken());
  withheld_.erase(key);
}

void DeviceCluster::withhold(dra::AllocatedState& state) const {
  for (const auto& [key, entries] : withheld_)
    for (const Withheld& entry : entries)
      for (const auto& [name, slice] : slices_)
        for (const dra::PreparedDevice& device : slice->devices())
          if (withholds(entry, slice->object(), device.object->name))
            state.add(
                {slice->object().driver, slice->object().pool, device.object->name, false, std::nullopt, std::nullopt});
}

ClaimPtr DeviceCluster::claim(std::string_view ns, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(key_of(ns, name));
  return found == claims_.end() ? nullptr : found->second;
}

std::shared_ptr<const dra::DeviceClass> DeviceCluster::device_class(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = classes_.find(name);
  if (found == classes_.end()) return nullptr;
  return {found->second, &found->second->device_class};
}

ClassPtr DeviceCluster::extended_class(std::string_view resource) const {
  const std::lock_guard lock(mutex_);
  return extended_.find(resource);
}

bool DeviceCluster::has_extended_classes() const {
  const std::lock_guard lock(mutex_);
  return !extended_.empty();
}

ClaimPtr DeviceCluster::extended_claim(std::string_view ns, std::string_view pod_name, std::string_view pod_uid) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, claim] : extended_claims_)
    if (claim->ns == ns && claim->controller_uid == pod_uid && claim->controller_name == pod_name) return claim;
  return nullptr;
}

DeviceSnapshot DeviceCluster::snapshot() {
  const std::lock_guard lock(mutex_);
  if (inventory_ == nullptr) {
    std::vector<std::shared_ptr<const dra::PreparedSlice>> slices;
    slices.reserve(slices_.size());
    for (const auto& [name, slice] : slices_) slices.push_back(slice);
    inventory_ = std::make_shared<dra::Inventory>(std::move(slices));
  }
  if (state_with_in_flight_ == nullptr) {
    auto made = std::make_shared<dra::AllocatedState>(state_);
    for (const auto& [uid, each] : in_flight_)
      for (const ResultObject& result : each.allocation->results) made->add(result.taken());
    withhold(*made);
    state_with_in_flight_ = std::move(made);
  }
  return {inventory_, state_with_in_flight_};
}

bool DeviceCluster::is_in_flight(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  return in_flight_.find(uid) != in_flight_.end();
}

void DeviceCluster::signal(const std::string& uid, std::shared_ptr<const AllocationObject> allocation) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = in_flight_.try_emplace(uid);
  if (!is_new) {
    ++entry->second.sharers;
    return;
  }
  entry->second.allocation = std::move(allocation);
  state_with_in_flight_ = nullptr;
}

bool DeviceCluster::remove_in_flight(std::string_view uid, bool force) {
  const std::lock_guard lock(mutex_);
  const auto entry = in_flight_.find(uid);
  if (entry == in_flight_.end()) return false;
  if (!force && --entry->second.sharers != 0) return false;
  in_flight_.erase(entry);
  state_with_in_flight_ = nullptr;
  return true;
}

}  // namespace dynamic_resources
