// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "isolation/region.hpp"
#include "isolation/shared_memory.hpp"
#include "isolation/starter_link.hpp"

namespace berth::isolation {

/// The host's end of one process: its region, and whose turn it is. Threads: one at a time.
class ChildProcess {
 public:
  static Result<std::unique_ptr<ChildProcess>> begin(StarterLink& starter);
  /// Ends it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Region& region() noexcept { return *reinterpret_cast<Region*>(memory_.data()); }
  /// What is behind the Region.
  std::byte* divided() noexcept { return memory_.data() + k_divided_at; }
  std::size_t divided_bytes() const noexcept { return memory_.size() - k_divided_at; }
  /// Where it has what is at `here`. To be called when it has replied once.
  std::uint64_t there(const void* here) const noexcept {
    return base_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(here) - memory_.data());
  }
  std::int32_t process() const noexcept { return process_; }

  /// The request is its to carry out.
  void post() noexcept;
  enum class Outcome : std::uint8_t { replied, late, ended, garbled };
  /// Waits for the reply to the last post(), the first time for its description, until then at the longest.
  Outcome await(std::int64_t until_ns);
  /// Kills it if need be; "signal 11 (Segmentation fault)".
  std::string end();

 private:
  ChildProcess(StarterLink& starter, StarterLink::Begun begun, SharedMemory memory);

  StarterLink& starter_;
  const std::uint64_t id_;
  const std::int32_t process_;
  SharedMemory memory_;
  std::uint64_t base_ = 0;
  std::uint32_t turn_ = 1;
  bool has_ended_ = false;
  std::string how_;
};

}  // namespace berth::isolation
