// SPDX-License-Identifier: Apache-2.0
#include "device_cluster.hpp"

#include <algorithm>

#include "debug_page.hpp"

namespace devices {
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

template <class Read>
auto DeviceCluster::readable(Read read) const {
  return [this, read](const berth_object_v1& object) -> decltype(read(object)) {
    try {
      return read(object);
    } catch (const berth::JsonError& e) {
      log(key_of(berth::view(object.ns), berth::view(object.name)) + " cannot be read and is left out: " + e.what());
      return nullptr;
    }
  };
}

DeviceCluster::DeviceCluster(berth::Setup& setup)
    : objects_(setup.service<berth::Objects>()),
      log_(setup.service<berth::Log>()),
      claim_watch_(objects_.watch(k_claims, k_object_fields)),
      device_ids_(std::make_shared<dra::DeviceIds>()),
      random_ids_(static_cast<std::uint64_t>(setup.service<berth::Clock>().wall_ns())),
      claims_(objects_, claim_watch_, [this](const berth_object_v1& object) { return read(object); }),
      extended_by_pod_(claims_.add_index([](const ReadClaim& read, const auto& add) {
        if (read.claim != nullptr && read.claim->is_extended) add(read.claim->controller_uid);
      })),
      slices_(objects_, objects_.watch(k_slices, std::span(k_object_fields).first(2)),
              readable([this](const berth_object_v1& object) {
                dra::PreparedSlice::Made made =
                    dra::PreparedSlice::prepare(read_slice(berth::view(object.name), field(object, 1)), *device_ids_);
                if (made.slice == nullptr) log(made.error + "; it is left out");
                return std::shared_ptr<const dra::PreparedSlice>(std::move(made.slice));
              })),
      classes_(objects_, objects_.watch(k_classes, std::span(k_object_fields).first(2)),
               readable([](const berth_object_v1& object) { return read_class(field(object, 0), field(object, 1)); })),
      state_(device_ids_) {
  recount_all();
}

void DeviceCluster::log(const std::string& what) const { log_.write(BERTH_LOG_ERROR, what); }

std::shared_ptr<const DeviceCluster::ReadClaim> DeviceCluster::read(const berth_object_v1& object) const {
  auto made = std::make_shared<ReadClaim>();
  try {
    made->claim = read_claim(field(object, 0), field(object, 1), field(object, 2));
  } catch (const berth::JsonError& e) {
    std::string text =
        key_of(berth::view(object.ns), berth::view(object.name)) + " cannot be read and is left out: " + e.what();
    made->unread = read_allocation_partly(field(object, 2));
    if (made->unread != nullptr) text += "; the devices that it may have are not given to other claims";
    log(text);
  }
  return made;
}

template <class T, class OnChange>
void DeviceCluster::refresh(berth::DecodedObjects<T>& objects, OnChange&& on_change) {
  for (;;) {
    auto batch = objects.read();
    if (batch.empty()) return;
    const guarded::Lock lock(mutex_);
    if (!objects.take(std::move(batch), on_change)) continue;  // another thread was faster: perhaps it has seen less
    version_.fetch_add(1, std::memory_order_release);
    return;
  }
}

void DeviceCluster::refresh() {
  refresh(claims_, [this](const auto& key, const auto& before, const auto& now) {
    mutex_.assert_held();
    change_claim(key_of(key.first, key.second), before.get(), now.get());
  });
  refresh(slices_, [this](const auto&, const auto&, const auto&) {
    mutex_.assert_held();
    inventory_ = nullptr;
    restricted_ = nullptr;
  });
  refresh(classes_, [this](const auto&, const ClassPtr& before, const ClassPtr& now) {
    mutex_.assert_held();
    if (now != nullptr) return extended_.put(before, now);
    extended_.remove(*before);
  });
}

void DeviceCluster::change_claim(const std::string& key, const ReadClaim* before, const ReadClaim* now) {
  const AllocationObject* const had = before == nullptr ? nullptr : before->allocation();
  const AllocationObject* const has = now == nullptr ? nullptr : now->allocation();
  // An allocation is never changed, only set and cleared; another claim may have come under the name. What is read in part may be
  // another part of it.
  const bool is_same = had != nullptr && has != nullptr && before->claim != nullptr && now->claim != nullptr &&
                       before->uid() == now->uid();
  if (is_same) return;
  if (had != nullptr) uncount(key, *had);
  if (has != nullptr) count(key, *has);
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
      slices_.each([&](const auto&, const auto& slice) {
        for (const dra::PreparedDevice& device : slice->devices())
          if (withholds(entry, slice->object(), device.object->name))
            state.add(
                {slice->object().driver, slice->object().pool, device.object->name, false, std::nullopt, std::nullopt});
      });
}

ClaimPtr DeviceCluster::claim(std::string_view ns, std::string_view name) const {
  const guarded::Lock lock(mutex_);
  const auto found = claims_.find(ns, name);
  return found == nullptr ? nullptr : found->claim;
}

std::shared_ptr<const dra::DeviceClass> DeviceCluster::device_class(std::string_view name) const {
  const guarded::Lock lock(mutex_);
  ClassPtr found = classes_.find({}, name);
  if (found == nullptr) return nullptr;
  const dra::DeviceClass* const its = &found->device_class;
  return {std::move(found), its};
}

ClassPtr DeviceCluster::extended_class(std::string_view resource) const {
  const guarded::Lock lock(mutex_);
  return extended_.find(resource);
}

bool DeviceCluster::has_extended_classes() const {
  const guarded::Lock lock(mutex_);
  return !extended_.empty();
}

ClaimPtr DeviceCluster::extended_claim(std::string_view ns, std::string_view pod_name, std::string_view pod_uid) const {
  const guarded::Lock lock(mutex_);
  ClaimPtr made;
  claims_.each_of(extended_by_pod_, pod_uid, [&](const ReadClaim& read) {
    if (made == nullptr && read.claim->ns == ns && read.claim->controller_name == pod_name) made = read.claim;
  });
  return made;
}

DeviceSnapshot DeviceCluster::snapshot() {
  const guarded::Lock lock(mutex_);
  if (inventory_ == nullptr) {
    std::vector<std::shared_ptr<const dra::PreparedSlice>> slices;
    slices.reserve(slices_.size());
    slices_.each([&](const auto&, const auto& slice) { slices.push_back(slice); });
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

std::string DeviceCluster::debug_page() {
  DebugMoment moment;
  refresh();
  moment.devices = snapshot();
  {
    const guarded::Lock lock(mutex_);
    claims_.each([&](const auto&, const auto& read) {
      if (read->claim != nullptr) moment.claims.push_back(read->claim);
    });
    for (const auto& [uid, each] : in_flight_) moment.in_flight.push_back({uid, each.allocation, each.sharers});
    for (const auto& [id, result] : in_flight_devices_) moment.in_flight_devices.insert(id);
    for (const auto& [key, entries] : withheld_) moment.withheld += entries.size();
  }
  return devices::debug_page(moment);
}

std::optional<DeviceCluster::Pending> DeviceCluster::pending(std::string_view uid) const {
  const guarded::Lock lock(mutex_);
  const auto entry = in_flight_.find(uid);
  return entry == in_flight_.end() ? std::nullopt : std::optional<Pending>(entry->second);
}

void DeviceCluster::signal(const std::string& uid, Pending pending) {
  const guarded::Lock lock(mutex_);
  const auto [entry, is_new] = in_flight_.try_emplace(uid);
  if (!is_new) {
    ++entry->second.sharers;
    return;
  }
  static_cast<Pending&>(entry->second) = std::move(pending);
  for (const ResultObject& result : entry->second.allocation->results)
    if (const std::uint32_t id = device_ids_->intern(result.driver, result.pool, result.device);
        !result.admin_access && id != dra::DeviceIds::k_none)
      in_flight_devices_.emplace(id, &result);
  recount(*entry->second.allocation);
}

bool DeviceCluster::remove_in_flight(std::string_view uid, bool force) {
  const guarded::Lock lock(mutex_);
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

}  // namespace devices
