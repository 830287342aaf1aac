// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/ports.hpp"

namespace berth::framework::testing {

/// PluginPorts that lead nowhere, but that events are kept. Every write is refused.
struct ClosedPorts final : WaitingPodsPort, ActivationPort, WritesPort, EventSink, TasksPort {
  bool allow(std::string_view, model::PluginIndex) override { return false; }
  bool reject(std::string_view, model::PluginIndex, std::string_view) override { return false; }
  void each(const std::function<bool(const model::Pod&, Symbol)>&) override {}
  void activate(std::string_view) override {}
  void activate_class(std::uint64_t) override {}
  void bind(const PodRef&, std::string, WriteDone done) override { (void)refuse(done); }
  Status patch_status(const PodRef&, std::string, WriteDone done) override { return refuse(done); }
  Status patch_metadata(const PodRef&, std::string, WriteDone done) override { return refuse(done); }
  void evict(const PodRef&, std::string, std::string, WriteDone done) override { (void)refuse(done); }
  Status patch_object(std::string, std::string, std::string, std::string, WriteDone done) override {
    return refuse(done);
  }
  void record(const PluginEvent& event) override { events.push_back(event); }
  void submit(std::function<void()> task) override { task(); }
  void every(std::int64_t, std::function<bool()>, std::function<void()>) override {}
  void after(std::int64_t, std::function<void()>) override {}
  void parallel_for(std::uint32_t count, const std::function<void(std::uint32_t)>& body) override {
    for (std::uint32_t i = 0; i < count; ++i) body(i);
  }

  std::vector<PluginEvent> events;
  Error refusal{"nothing is written in this test"};  // of every write
  std::string bad_patch;                             // not empty: what is wrong with every patch

 private:
  Status refuse(const WriteDone& done) const {
    if (!bad_patch.empty()) return Error{bad_patch, ErrorCode::invalid};
    done(refusal);
    return Unit{};
  }
};

}  // namespace berth::framework::testing
