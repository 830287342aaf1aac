// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/binding_gate.hpp"
#include "extender/extender.hpp"
#include "framework/bind_calls.hpp"
#include "model/pod.hpp"

namespace berth::binding {

/// How bindings come about that an extender is asked for.
struct ExtenderBindings {
  std::vector<extender::Extender*> binders = {};  // in their order; outlive the binder
  /// Writes what an extender said it has bound: for clusters that the extender cannot write to. Each answer is waited
  /// for then. Empty: the extender has written it.
  std::function<void(const model::Pod& pod, std::string_view node_name, std::function<void(Status)> done)> record = {};
};

/// Extenders that bind pods themselves, asked before the bind plugins.
///
/// Place:   in a binding cycle, before the bind plugins. Lifetime: outlives every call; the gate outlives it.
/// Threads: any.
/// Failure: an error, or skip where the extender's failures are no failure of the pod.
class ExtenderBinder {
 public:
  /// `gate`: passed before a binding is sent; null: it just goes.
  ExtenderBinder(ExtenderBindings bindings, cluster::BindingGate* gate) : bindings_(std::move(bindings)), gate_(gate) {}

  std::size_t count() const noexcept { return bindings_.binders.size(); }
  std::string_view name(std::size_t i) const { return bindings_.binders[i]->name(); }
  /// Calls `done` once, on any thread, possibly before it returns. skip: the pod is not this extender's.
  void bind(std::size_t i, model::PodPtr pod, std::string node_name, framework::BindDone done) const;

 private:
  struct Call {
    extender::Extender& extender;
    model::PodPtr pod;
    std::string node_name;
    extender::Extender::Done<Unit> answered;
    std::int64_t wait_end_ns = 0;  // of the gate; 0: it has not waited
  };
  /// Judged when its connection is there, as a binding to the API server is.
  void send(Call call) const;

  const ExtenderBindings bindings_;
  cluster::BindingGate* const gate_;
};

}  // namespace berth::binding
