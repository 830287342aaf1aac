// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

namespace berth::extender {

/// A scheduler extender: a service outside of this process that is asked about pods over the network.
///
/// Place:    asked through Extenders (filter, prioritize, preempt, from the scheduling thread) and by binding (bind).
/// Lifetime: outlives every call; arguments are read before a call returns.
/// Threads:  any. Each call returns at once and calls `done` exactly once, on any thread, possibly before it returns,
///           within limit() unless the system's resolver hangs.
/// Failure:  an Error, whose message is the sentence that the pod is told. Names in answers are as they came.
/// Source:   kubernetes v1.36 pkg/scheduler/extender.go, staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
class Extender {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  using Nodes = std::span<const model::NodePtr>;
  /// By name of the node: why it is out.
  using Failures = std::map<std::string, std::string>;

  struct Filtered {
    std::vector<std::string> passed;  // in the extender's order
    bool as_objects = false;          // they came as objects: other nodes than those asked about may be among them
    Failures failed;                  // evicting pods may help
    Failures unresolvable;            // it would not
  };
  struct HostScore {
    std::string host;
    std::int64_t score = 0;  // 0..10 as a rule
  };
  /// Pods that would have to leave a node.
  struct Victims {
    std::vector<model::PodPtr> pods;  // most important first
    std::int64_t violations = 0;      // of disruption budgets
  };
  struct MetaVictims {
    std::vector<std::string> uids;
    std::int64_t violations = 0;
  };
  template <typename T>
  using ByNode = std::vector<std::pair<std::string, T>>;

  virtual ~Extender() = default;
  /// In logs and explanations: its URL, without a password.
  virtual std::string_view name() const noexcept = 0;
  /// Its failures are no failure of the pod.
  virtual bool ignorable() const noexcept = 0;
  virtual bool filters() const noexcept = 0;
  virtual bool prioritizes() const noexcept = 0;
  virtual bool preempts() const noexcept = 0;
  virtual bool binds() const noexcept = 0;
  virtual std::int64_t weight() const noexcept = 0;
  virtual bool is_interested(const model::Pod& pod) const noexcept = 0;
  virtual std::chrono::nanoseconds limit() const noexcept = 0;

  // Requires: it does that, and is interested in the pod.
  virtual void filter(const model::Pod& pod, Nodes nodes, Done<Filtered> done) = 0;
  virtual void prioritize(const model::Pod& pod, Nodes nodes, Done<std::vector<HostScore>> done) = 0;
  virtual void preempt(const model::Pod& pod, const ByNode<Victims>& victims, Done<ByNode<MetaVictims>> done) = 0;
  /// Says right before a binding is sent whether it may still be; empty: it may. Any thread.
  using MayGo = std::function<Status()>;
  /// Success: the extender has created the binding. `may_go` is asked when a connection is there; what it fails with is
  /// the answer then, and nothing was sent.
  virtual void bind(const model::Pod& pod, std::string_view node_name, MayGo may_go, Done<Unit> done) = 0;
  /// Answers everything that is open with an Error, and every later call at once. When it returns no `done` runs.
  virtual void stop() noexcept = 0;
};

}  // namespace berth::extender
