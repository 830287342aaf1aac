// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "model/pod.hpp"

namespace berth::binding {

/// Where a binding cycle is.
enum class BindStep : std::uint8_t { checks, permit_wait, pre_bind, group_wait, bind, post_bind, ended };

/// One pod on its way to a node.
struct OpenBinding {
  model::PodPtr pod;
  Symbol node_name = k_no_symbol;
  BindStep step = BindStep::checks;
};

struct BindingCounts {
  std::size_t open = 0;
  std::size_t in_flight = 0;     // of those, what BinderOptions::in_flight_max bounds
  std::uint64_t room_waits = 0;  // how often the scheduling loop waited for that
  std::uint64_t bound = 0;
  std::uint64_t failed = 0;
};

/// The bindings as explain, debug and metrics see them: reads, never changes anything.
/// Threads: any.
class BindingView {
 public:
  virtual ~BindingView() = default;
  /// In no particular order.
  virtual std::vector<OpenBinding> open_bindings() const = 0;
  virtual BindingCounts counts() const = 0;
};

}  // namespace berth::binding
