// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/profile_runtime.hpp"
#include "unit/cache/cache_fixture.hpp"
#include "unit/framework/closed_ports.hpp"
#include "unit/framework/fake_plugin.hpp"

namespace berth::framework::testing {

/// A host over a small cluster, and one profile that plugins are added to.
struct FrameworkFixture : cache::testing::CacheFixture {
  FakePlugin& make_plugin(std::string name) { return plugins.emplace_back(std::move(name)); }
  Result<std::unique_ptr<PluginInstance>> create(FakePlugin& plugin, std::string of_profile = {}) {
    return PluginInstance::create({&plugin.describe(), "", "", {}, {}}, "", host, profile.instances.size(),
                                  std::move(of_profile));
  }
  /// As of a file whose note names these watches; without a file, as linked in.
  Result<std::unique_ptr<PluginInstance>> create_from(FakePlugin& plugin, std::string file,
                                                      std::vector<std::string> watches) {
    return PluginInstance::create({&plugin.describe(), std::move(file), "", {}, std::move(watches)}, "", host,
                                  profile.instances.size());
  }
  /// Creates an instance and lists it where it has something to do.
  const PluginInstance& add(FakePlugin& plugin) {
    auto made = create(plugin);
    EXPECT_TRUE(made.ok());
    PluginInstance* const instance = made.value().get();
    profile.instances.push_back(std::move(made).value());
    if (instance->filter != nullptr) profile.filter.push_back(instance);
    if (instance->post_filter != nullptr) profile.post_filter.push_back(instance);
    if (instance->score != nullptr) profile.score.push_back({instance, 1});
    if (instance->reserve != nullptr) profile.reserve.push_back(instance);
    if (instance->permit != nullptr) profile.permit.push_back(instance);
    if (instance->bind != nullptr && instance->bind->pre_bind != nullptr) profile.pre_bind.push_back(instance);
    if (instance->bind != nullptr && instance->bind->bind != nullptr) profile.bind.push_back(instance);
    if (instance->bind != nullptr && instance->bind->post_bind != nullptr) profile.post_bind.push_back(instance);
    return *instance;
  }
  /// Starts a cycle for the pod. Requires: all plugins are there.
  CycleContext& begin(model::PodPtr pod, std::uint64_t pod_class = 1) {
    context = std::make_unique<CycleContext>(profile);
    context->begin(std::move(pod), pod_class, 1, &snapshot);
    return *context;
  }
  std::vector<const PluginInstance*> filters() const { return {profile.filter.begin(), profile.filter.end()}; }

  std::deque<FakePlugin> plugins;  // outlive their instances
  ObjectStore objects{
      [](const model::Object&, const std::vector<Field>& fields) { return std::vector<FieldValue>(fields.size()); }};
  PluginNames names;
  ReasonTable reasons;
  observe::CallCounters counters;
  observe::MetricRegistry metrics{counters};
  ManualClock clock{1'000'000'000'000};
  ClosedPorts ports;
  Host host{symbols,
            snapshot,
            cache.resources(),
            cache.lists(),
            objects,
            names,
            reasons,
            metrics,
            counters,
            {clock, ports, ports, ports, ports, ports},
            [this](cache::PodHandle handle) { return cache.pod(handle); },
            "test"};
  ProfileRuntime profile;
  std::unique_ptr<CycleContext> context;
};

}  // namespace berth::framework::testing
