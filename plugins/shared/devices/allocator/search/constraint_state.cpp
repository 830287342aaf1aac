// SPDX-License-Identifier: Apache-2.0
#include "constraint_state.hpp"

#include <algorithm>

namespace berth::dra {

std::uint32_t ConstraintState::value_of(std::uint32_t position, const PooledDevice& device) {
  std::uint32_t& value = values_[position];
  if (value == k_unknown) value = look_up(device);
  return value;
}

std::uint32_t ConstraintState::look_up(const PooledDevice& device) {
  const NamedAttribute* attribute = device.device->attribute(constraint_->attribute);
  if (attribute == nullptr && !constraint_->local_name.empty() && constraint_->domain == device.slice->object().driver)
    attribute = device.device->attribute(constraint_->local_name);
  if (attribute == nullptr) return k_absent;
  switch (attribute->type) {
    case cel::Attribute::Type::unsupported:
      return k_untyped;
    case cel::Attribute::Type::integer:
    case cel::Attribute::Type::boolean: {
      const auto [entry, is_new] = numbers_.try_emplace({attribute->type, attribute->integer}, next_);
      next_ += is_new;
      return entry->second;
    }
    case cel::Attribute::Type::string:
    case cel::Attribute::Type::version:
      break;
  }
  const auto [entry, is_new] = texts_.try_emplace({attribute->type, attribute->text}, next_);
  next_ += is_new;
  return entry->second;
}

bool ConstraintState::add(std::uint32_t query, std::uint32_t request, std::uint32_t position,
                          const PooledDevice& device) {
  if (!covers(query)) return true;
  const std::uint32_t value = value_of(position, device);
  if (value == k_absent) return false;
  if (constraint_->is_distinct) return add_distinct(request, value);
  if (count_ == 0) {
    remembered_ = value;
  } else if (value == k_untyped || value != remembered_) {
    return false;
  }
  ++count_;
  return true;
}

bool ConstraintState::add_distinct(std::uint32_t request, std::uint32_t value) {
  const auto clashes = [&](const auto& slot) { return value == k_untyped || slot.second == value; };
  if (count_ != 0 && std::any_of(slots_.begin(), slots_.end(), clashes)) return false;
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const auto& each) { return each.first == request; });
  if (slot == slots_.end())
    slots_.emplace_back(request, value);
  else
    slot->second = value;
  ++count_;
  return true;
}

void ConstraintState::remove(std::uint32_t query, std::uint32_t request) {
  if (!covers(query)) return;
  --count_;
  if (constraint_->is_distinct) std::erase_if(slots_, [&](const auto& each) { return each.first == request; });
}

}  // namespace berth::dra
