// SPDX-License-Identifier: Apache-2.0
/// Feature gates of Kubernetes. Included by the few plugins that need it.
/// Source: ext/gates.h, berth.gates/1. Threads: any.
#pragma once
#include <berth/ext/gates.h>
#include <berth/services.hpp>

#include <optional>
#include <string_view>

namespace berth {
inline namespace sdk {

/// For policies that decide otherwise without a gate. An answer is the same for as long as berth runs: ask in the
/// constructor.
class Gates : public Service<berth_gates_v1> {
 public:
  static constexpr const char* id = "berth.gates/1";
  using Service::Service;
  /// Nothing: the host does not follow a gate of that name.
  std::optional<bool> is_on(std::string_view gate) const noexcept {
    const std::int32_t value = table_->is_on(ctx_, borrow(gate));
    return value < 0 ? std::nullopt : std::optional(value != 0);
  }
};

}  // namespace sdk
}  // namespace berth
