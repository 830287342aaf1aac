// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "binding/completion.hpp"
#include "framework/verdict.hpp"
#include "model/plugin_set.hpp"

namespace berth::binding {

/// What the plugins keep for one attempt; opaque here. Destroying it frees their state.
class CycleHandle {
 public:
  virtual ~CycleHandle() = default;
};

/// What a pre-bind plugin says before anything is written.
struct PreBindCheck {
  framework::Verdict verdict;  // success: will act; skip: leave me out; error
  bool parallel = false;       // may run beside its neighbours that say so too
};

/// The plugins of one profile from reserve on, as binding calls them: pre-bind and bind plugins by position in call
/// order. Extenders that bind stand before the bind plugins.
///
/// Place:    implemented over the framework by the wiring, one per profile.
/// Lifetime: outlives every binding cycle that uses it.
/// Threads:  any; concurrently for different handles, and for one handle in a parallel group of pre_bind.
/// Failure:  verdicts only. An implementation that cannot call a plugin answers an error.
class BindPipeline {
 public:
  virtual ~BindPipeline() = default;
  /// spec.schedulerName of its pods.
  virtual std::string_view profile() const = 0;

  virtual std::size_t pre_bind_count() const = 0;
  virtual std::size_t bind_count() const = 0;
  /// Requires: i below the count.
  virtual std::string_view pre_bind_name(std::size_t i) const = 0;
  virtual std::string_view bind_name(std::size_t i) const = 0;
  /// False: an extender, whose error text goes to the pod as it is.
  virtual bool bind_is_plugin(std::size_t) const { return true; }

  virtual PreBindCheck pre_bind_check(CycleHandle& cycle, std::size_t i) = 0;
  /// Calls `done` exactly once, before returning or later, from any thread. success, a rejection, or an error.
  virtual void pre_bind(CycleHandle& cycle, std::size_t i, Completion done) = 0;
  /// Likewise; skip hands the pod to the next bind plugin.
  virtual void bind(CycleHandle& cycle, std::size_t i, Completion done) = 0;
  /// All post-bind plugins, in order.
  virtual void post_bind(CycleHandle& cycle) = 0;
  /// All reserve plugins, in reverse order.
  virtual void unreserve(CycleHandle& cycle) = 0;
};

}  // namespace berth::binding
