// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "berth/plugin.h"
#include "isolation/region.hpp"

/// The services of the host as a plugin sees them in a process of its own: each question goes to the host and back, but for
/// texts and sets, which are remembered.
namespace berth::isolation {

/// The child's end of the region. There is one in a process; the plugin's thread is the only one.
class HostLine {
 public:
  explicit HostLine(Region& region) noexcept : region_(region) {}
  Region& region() noexcept { return region_; }

  /// Waits for the host's next request.
  const Request& next();
  /// Hands the reply over: the host's turn.
  void reply(const Reply& reply);

  struct Answer {
    std::uint32_t code = 0;
    std::uint64_t value = 0;
    std::span<const std::byte> bytes;  // good until the next question
  };
  /// Texts that do not fit are left out, and what the host then does is to do without.
  Answer ask(Upcall upcall, std::uint64_t value, std::uint64_t other, std::initializer_list<std::string_view> texts);
  /// The same with bytes that are packed already.
  Answer ask(Upcall upcall, std::uint64_t value, std::uint64_t other, std::span<const std::byte> packed);

 private:
  void await();
  Region& region_;
  std::uint32_t turn_ = 1;  // the first reply, the description, answers no request
};

/// Sets the line that the functions below use. Once.
void serve_with(HostLine& line);
/// Tables for berth_host_v1::service.
const void* process_service(void* ctx, const char* id);
/// Functions of berth_binder_v1, but for ctx.
berth_binder_v1 process_binder();
/// Texts and sets that are remembered from before are forgotten where these numbers have changed.
void forget_if_aged(std::uint64_t symbols_age, std::uint64_t sets_age);
/// The functions of berth_filter_out_v1.
berth_code fail_row(void* ctx, std::uint32_t row, berth_str text);
berth_code add_detail(void* ctx, std::uint32_t row, berth_str text, std::uint64_t count);

}  // namespace berth::isolation
