// SPDX-License-Identifier: Apache-2.0
#include "allocated_state.hpp"

#include <algorithm>

namespace berth::dra {
namespace {

std::string name_of(const TakenDevice& device) {
  return std::string(device.driver) + '/' + std::string(device.pool) + '/' + std::string(device.device);
}

}  // namespace

std::string AllocatedState::add(const TakenDevice& device) {
  if (device.admin_access) return {};
  const std::uint32_t id = ids_->intern(device.driver, device.pool, device.device);
  if (id == DeviceIds::k_none) {
    return "device " + name_of(device) + ": the table of device names is full (" + std::to_string(ids_->devices_max()) +
           " devices); prepare slices and allocations again with a new one";
  }
  if (!device.share_id) {
    set_in_use(id, true);
    return {};
  }
  touch(id);
  auto& shares = shares_[id];
  if (std::find(shares.begin(), shares.end(), *device.share_id) == shares.end()) shares.emplace_back(*device.share_id);
  if (!device.consumed) return {};
  const std::string wrong = consume(id, *device.consumed, 1);
  return wrong.empty() ? wrong : "device " + name_of(device) + ": " + wrong;
}

void AllocatedState::remove(const TakenDevice& device) {
  if (device.admin_access) return;
  const std::uint32_t id = ids_->intern(device.driver, device.pool, device.device);
  if (id == DeviceIds::k_none) return;
  if (!device.share_id) {
    set_in_use(id, false);
    return;
  }
  touch(id);
  if (const auto found = shares_.find(id); found != shares_.end()) {
    std::erase(found->second, *device.share_id);
    if (found->second.empty()) shares_.erase(found);
  }
  const auto found = consumed_.find(id);
  if (!device.consumed || found == consumed_.end()) return;
  consume(id, *device.consumed, -1);
  const auto is_zero = [](const Consumed& entry) { return entry.nano == 0; };
  if (std::all_of(found->second.begin(), found->second.end(), is_zero)) consumed_.erase(id);
}

void AllocatedState::touch(std::uint32_t id) {
  const std::uint32_t pool = ids_->pool_of(id);
  if (changed_.size() <= pool) changed_.resize(pool + 1, made_);
  changed_[pool] = ids_->next_stamp();
}

void AllocatedState::set_in_use(std::uint32_t id, bool in_use) {
  if (is_in_use(id) == in_use) return;
  touch(id);
  if (in_use_.size() <= id / 64) in_use_.resize(id / 64 + 1);
  in_use_[id / 64] ^= std::uint64_t{1} << (id % 64);
}

void AllocatedState::copy_device(std::uint32_t id, const AllocatedState& from) {
  set_in_use(id, from.is_in_use(id));
  if (is_plain(id) && from.is_plain(id)) return;
  touch(id);
  const auto copy = [id](auto& to, const auto& other) {
    if (const auto found = other.find(id); found != other.end())
      to[id] = found->second;
    else
      to.erase(id);
  };
  copy(shares_, from.shares_);
  copy(consumed_, from.consumed_);
}

std::string AllocatedState::consume(std::uint32_t id, const std::vector<NamedAmount>& amounts, int sign) {
  std::string wrong;
  auto& entries = consumed_[id];
  for (const NamedAmount& amount : amounts) {
    const AmountRead read = read_amount(amount.amount);
    if (!read.error.empty()) {
      wrong = "capacity " + amount.name + ": " + std::string(read.error);
      continue;
    }
    auto entry =
        std::find_if(entries.begin(), entries.end(), [&](const Consumed& each) { return each.name == amount.name; });
    if (entry == entries.end()) entry = entries.insert(entry, {amount.name, 0});
    entry->nano = saturating_sum(entry->nano, sign * read.amount.nano);
  }
  return wrong;
}

}  // namespace berth::dra
