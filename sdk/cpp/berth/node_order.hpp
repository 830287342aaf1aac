// SPDX-License-Identifier: Apache-2.0
/// The snapshot's nodes in list order. Included by the few plugins that need it.
/// Source: ext/node_order.h, berth.node_order/1.
#pragma once
#include <berth/ext/node_order.h>
#include <berth/cycle.hpp>
#include <berth/services.hpp>

namespace berth {
inline namespace sdk {

/// For answers that depend on which node comes first, as ties do upstream: slots say nothing about that.
class NodeOrder : public Service<berth_node_order_v1> {
 public:
  static constexpr const char* id = "berth.node_order/1";
  using Service::Service;
  /// The zones in turn, each with its nodes as they came. Every node of the snapshot once; valid for the cycle.
  /// [cycle]
  std::span<const Slot> slots(const Cycle& cycle) const noexcept {
    return {table_->slots(ctx_, cycle.raw()), cycle.node_count()};
  }
};

}  // namespace sdk
}  // namespace berth
