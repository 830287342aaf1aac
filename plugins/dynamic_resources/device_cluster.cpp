// SPDX-License-Identifier: Apache-2.0
#include "device_cluster.hpp"

#include <algorithm>

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
      state_(device_ids_) {
  recount_all();
}

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
    if (!changes.empty()) version_.fetch_add(1, std::memory_order_release);
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
        return recount_all();
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
      restricted_ = nullptr;
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
  std::vector<Withheld> withheld = allocation.withheld;
  for (const ResultObject& each : allocation.results) {
    const std::string wrong = state_.add(each.taken());
    if (wrong.empty()) continue;
    log(wrong + "; the device is not given to other claims");
    withheld.push_back({each.driver, each.pool, each.device, Withheld::Nodes::any, {}});
  }
  recount(allocation);
  if (withheld.empty()) return;
  if (!allocation.withheld.empty())
    log("claim " + key + ": " + std::to_string(allocation.withheld.size()) +
        " results of its allocation cannot be read; the devices that it may have are not given to other claims");
  withheld_[key] = std::move(withheld);
  restricted_ = nullptr;
}

void DeviceCluster::uncount(const std::string& key, const AllocationObject& allocation) {
  for (const ResultObject& each : allocation.results) state_.remove(each.taken());
  recount(allocation);
  if (withheld_.erase(key) != 0) restricted_ = nullptr;
}

dra::AllocatedState& DeviceCluster::change_combined() {
  restricted_ = nullptr;
  // Acquired: what the last reader read was read before this is written.
  if (combined_readers_->load(std::memory_order_acquire) != 0) {
    combined_ = std::make_shared<dra::AllocatedState>(*combined_);
    combined_readers_ = std::make_shared<std::atomic<int>>(0);
  }
  return *combined_;
}

/// Makes the devices' use what it is among allocated claims and those in flight together. A claim that goes from flight to its
/// allocation changes nothing.
void DeviceCluster::recount(const AllocationObject& allocation) {
  for (const ResultObject& result : allocation.results) {
    if (result.admin_access) continue;
    const std::uint32_t id = device_ids_->intern(result.driver, result.pool, result.device);
    if (id == dra::DeviceIds::k_none) continue;
    const auto [first, last] = in_flight_devices_.equal_range(id);
    const bool is_plain = state_.is_plain(id) && combined_->is_plain(id) &&
                          std::none_of(first, last, [](const auto& each) { return each.second->share_id.has_value(); });
    if (is_plain) {
      const bool in_use = state_.is_in_use(id) || first != last;
      if (combined_->is_in_use(id) != in_use) change_combined().set_in_use(id, in_use);
      continue;
    }
    dra::AllocatedState& combined = change_combined();
    combined.copy_device(id, state_);
    for (auto each = first; each != last; ++each) combined.add(each->second->taken());
  }
}

void DeviceCluster::recount_all() {
  restricted_ = nullptr;
  combined_ = std::make_shared<dra::AllocatedState>(state_);
  combined_readers_ = std::make_shared<std::atomic<int>>(0);
  for (const auto& [uid, each] : in_flight_)
    for (const ResultObject& result : each.allocation->results) combined_->add(result.taken());
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
  if (!withheld_.empty()) {
    if (restricted_ == nullptr) {
      auto made = std::make_shared<dra::AllocatedState>(*combined_);
      withhold(*made);
      restricted_ = std::move(made);
    }
    return {inventory_, restricted_};
  }
  combined_readers_->fetch_add(1, std::memory_order_relaxed);
  // Keeps what it reads, and says when it is done.
  const auto done = [state = combined_, readers = combined_readers_](const dra::AllocatedState*) {
    readers->fetch_sub(1, std::memory_order_release);
  };
  return {inventory_, std::shared_ptr<const dra::AllocatedState>(combined_.get(), done)};
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
  for (const ResultObject& result : entry->second.allocation->results)
    if (const std::uint32_t id = device_ids_->intern(result.driver, result.pool, result.device);
        !result.admin_access && id != dra::DeviceIds::k_none)
      in_flight_devices_.emplace(id, &result);
  recount(*entry->second.allocation);
}

bool DeviceCluster::remove_in_flight(std::string_view uid, bool force) {
  const std::lock_guard lock(mutex_);
  const auto entry = in_flight_.find(uid);
  if (entry == in_flight_.end()) return false;
  if (!force && --entry->second.sharers != 0) return false;
  const std::shared_ptr<const AllocationObject> gone = std::move(entry->second.allocation);
  in_flight_.erase(entry);
  for (const ResultObject& result : gone->results) {
    const auto [first, last] =
        in_flight_devices_.equal_range(device_ids_->intern(result.driver, result.pool, result.device));
    const auto known = std::find_if(first, last, [&](const auto& each) { return each.second == &result; });
    if (known != last) in_flight_devices_.erase(known);
  }
  recount(*gone);
  return true;
}

}  // namespace dynamic_resources
