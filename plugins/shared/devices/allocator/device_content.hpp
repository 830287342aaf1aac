// SPDX-License-Identifier: Apache-2.0
/// What selectors see of a device, one for all devices that look the same to them, in whatever slices: so a selector is evaluated
/// once for all of these.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <berth/cel/cel.hpp>

#include "../../guarded.hpp"
namespace berth::dra {

/// Threads: any.
class DeviceContent {
 public:
  /// From `stopped` on: given up on, for the cel::Stop that is added, and it would be again.
  enum : std::uint8_t { unknown, yes, no, stopped };

  explicit DeviceContent(cel::Device device) : device_(std::move(device)) {}
  const cel::Device& device() const { return device_; }
  /// What may be kept of an outcome; unknown: nothing.
  static std::uint8_t verdict_of(const cel::Outcome& outcome) {
    if (outcome.verdict == cel::Verdict::yes) return yes;
    if (outcome.verdict == cel::Verdict::no) return no;
    const bool is_repeatable =
        outcome.stop == cel::Stop::cost || outcome.stop == cel::Stop::steps || outcome.stop == cel::Stop::memory;
    if (!is_repeatable) return unknown;
    return static_cast<std::uint8_t>(stopped + static_cast<std::uint8_t>(outcome.stop));
  }
  static cel::Stop stop_of(std::uint8_t verdict) { return static_cast<cel::Stop>(verdict - stopped); }
  /// Of the last 32 selectors, by serial of the program.
  std::uint8_t verdict(std::uint64_t program_serial) const {
    const guarded::Lock lock(mutex_);
    for (const Verdict& each : verdicts_)
      if (each.serial == program_serial) return each.verdict;
    return unknown;
  }
  void remember(std::uint64_t program_serial, std::uint8_t verdict) const {
    const guarded::Lock lock(mutex_);
    if (verdicts_.size() < k_verdicts_max) {
      verdicts_.push_back({program_serial, verdict});
    } else {
      verdicts_[oldest_] = {program_serial, verdict};
      oldest_ = (oldest_ + 1) % k_verdicts_max;
    }
  }

 private:
  static constexpr std::size_t k_verdicts_max = 32;
  struct Verdict {
    std::uint64_t serial = 0;
    std::uint8_t verdict = unknown;
  };
  const cel::Device device_;
  mutable guarded::Mutex mutex_;
  mutable std::vector<Verdict> verdicts_ GUARDED_BY(mutex_);
  mutable std::size_t oldest_ GUARDED_BY(mutex_) = 0;
};

/// Contents by what they are made of, for as long as some device has them. Threads: any.
class DeviceContents {
 public:
  /// `key` determines the device that `make` makes.
  template <class Make>
  std::shared_ptr<const DeviceContent> get(const std::string& key, Make&& make) {
    {
      const guarded::Lock lock(mutex_);
      if (const auto found = by_key_.find(key); found != by_key_.end())
        if (auto known = found->second.lock()) return known;
    }
    auto made = std::make_shared<const DeviceContent>(make());
    const guarded::Lock lock(mutex_);
    if (by_key_.size() >= clean_at_) {
      std::erase_if(by_key_, [](const auto& entry) { return entry.second.expired(); });
      clean_at_ = 2 * by_key_.size() + 1024;
    }
    auto& entry = by_key_[key];
    if (auto known = entry.lock()) return known;  // another thread was faster
    entry = made;
    return made;
  }

 private:
  guarded::Mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const DeviceContent>> by_key_ GUARDED_BY(mutex_);
  std::size_t clean_at_ GUARDED_BY(mutex_) = 1024;
};

}  // namespace berth::dra
