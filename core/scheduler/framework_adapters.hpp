// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "binding/bind_pipeline.hpp"
#include "binding/executor.hpp"
#include "binding/open_calls.hpp"
#include "cluster/binding_gate.hpp"
#include "extender/extender.hpp"
#include "framework/framework.hpp"
#include "metrics/hint_metrics.hpp"
#include "queue/hint_table.hpp"
#include "queue/queue_policy.hpp"
#include "scheduler/hint_threads.hpp"

/// The framework as queue and binding want to see it: neither of them knows it.
namespace berth::scheduler {

/// opens_gates: only a pod's own scheduling gates hold it back. `watch`: as of make_bind_pipeline.
std::unique_ptr<queue::QueuePolicy> make_queue_policy(framework::Framework& framework, bool opens_gates = false,
                                                      binding::OpenCalls* watch = nullptr);
/// Which events wake pods that a plugin rejected, with the plugins' hints, which `metrics`, outliving the table,
/// records, asked by `threads`, which the table keeps.
queue::HintTable make_hint_table(const framework::Framework& framework, metrics::HintMetrics& metrics,
                                 std::shared_ptr<HintThreads> threads);

/// The state of one attempt on its way through binding.
class BindingContext final : public binding::CycleHandle {
 public:
  BindingContext(framework::CyclePool::Handle cycle, cache::Slot reserved_on, std::string name)
      : context(std::move(cycle)), slot(reserved_on), node_name(std::move(name)) {}
  framework::CyclePool::Handle context;
  const cache::Slot slot;
  const std::string node_name;
};
/// What bind plugins may ask about the cluster. Any thread.
struct BindLookups {
  std::function<bool(const model::Pod& pod)> pod_exists;
  std::function<model::NodePtr(std::string_view name)> node;
  cluster::BindingGate* gate = nullptr;  // what bindings by extenders pass before they are sent; null: they just go
};
/// How bindings come about that an extender is asked for.
struct ExtenderBindings {
  std::vector<extender::Extender*> binders = {};  // in their order; outlive the pipeline
  /// Writes what an extender said it has bound: for clusters that the extender cannot write to. Each answer is waited
  /// for then. Empty: the extender has written it.
  std::function<void(const model::Pod& pod, std::string_view node_name, std::function<void(Status)> done)> record = {};
};
/// `watch` sees the calls that do not return; outlives the pipeline. Null: they are not watched.
std::unique_ptr<binding::BindPipeline> make_bind_pipeline(const framework::ProfileRuntime& profile, BindLookups lookups,
                                                          ExtenderBindings extenders,
                                                          binding::OpenCalls* watch = nullptr);

}  // namespace berth::scheduler
