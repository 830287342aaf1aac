// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <variant>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// What the reserve plugins hold for a pod on a node, and the state of the pod's attempt. Dropping it without confirm()
/// makes the plugins give it back, in reverse order.
///
/// Made by run_reserve(), carried by the placement, ended by binding. Lifetime: the framework outlives it.
/// Threads: owned by one thread at a time: the scheduling thread, then binding.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { cancel(); }

  bool active() const noexcept { return context_ != nullptr; }
  /// Requires: active().
  CycleContext& context() const noexcept { return *context_; }
  cache::Slot slot() const noexcept { return slot_; }

  /// The plugins give back what they hold, and the attempt's state is freed.
  void cancel() noexcept;
  /// The pod has its node: only the attempt's state is freed.
  void confirm() noexcept { context_.reset(); }

 private:
  friend std::variant<Reservation, Verdict> run_reserve(CyclePool::Handle context, cache::Slot node);
  Reservation(CyclePool::Handle context, cache::Slot slot) : context_(std::move(context)), slot_(slot) {}

  CyclePool::Handle context_;
  cache::Slot slot_ = cache::k_no_slot;
};

/// Reserves in order. On any failure every reserve plugin is undone in reverse order, also those that were not reached.
/// Source: kubernetes v1.36 RunReservePluginsReserve, schedule_one.go.
std::variant<Reservation, Verdict> run_reserve(CyclePool::Handle context, cache::Slot node);

}  // namespace berth::framework
