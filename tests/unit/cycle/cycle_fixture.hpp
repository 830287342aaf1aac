// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cycle/scheduling_cycle.hpp"
#include "unit/cache/cache_fixture.hpp"
#include "unit/framework/closed_ports.hpp"
#include "unit/framework/fake_plugin.hpp"

namespace berth::cycle::testing {

using framework::Code;
using framework::testing::explain;
using framework::testing::FakePlugin;
using Lines = std::vector<std::string>;

inline constexpr const char* k_scheduler = "default-scheduler";

/// A cluster in the cache, plugins of this process in one profile, and a cycle over them. Plugins note in `calls` what is
/// asked of them where a test sets them up so.
struct CycleFixture : cache::testing::CacheFixture {
  FakePlugin& plugin(const std::string& name) { return plugins.emplace_back(name); }
  /// A filter that lets at most so many pods stay on a node.
  FakePlugin& pods_per_node(std::int64_t most) {
    FakePlugin& full = plugin("Room");
    full.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE;
    full.reasons = {"node(s) were full"};
    full.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      return binder.column(binder.ctx, BERTH_COL_PODS, {"", 0}) == 0 ? BERTH_OK : BERTH_ERROR;
    };
    full.filter = [most](const berth_cycle_v1&, const berth_node_block_v1& block, berth_filter_out_v1& out,
                         berth_note_v1*) -> berth_code {
      const auto* const pods = static_cast<const std::int64_t*>(block.columns[0]);
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        if (pods[row] < most) continue;
        out.pass[row / 64] &= ~(std::uint64_t{1} << (row % 64));
        if (out.reasons != nullptr) out.reasons[row] = 1;
      }
      return BERTH_OK;
    };
    return full;
  }
  /// A reserve plugin that notes its calls.
  FakePlugin& noting(const std::string& name) {
    FakePlugin& noted = plugin(name);
    noted.reserve = [this, name](berth_slot node, berth_note_v1*) -> berth_code {
      calls.push_back("reserve " + name + " on " + node_name(node));
      return BERTH_OK;
    };
    noted.unreserve = [this, name](berth_slot node) {
      calls.push_back("unreserve " + name + " on " + node_name(node));
    };
    return noted;
  }
  std::string node_name(cache::Slot slot) { return snapshot.row(slot).node->name; }

  /// Puts every plugin where it has something to do, in the order in which they were made. Requires: they are all set up.
  SchedulingCycle& start(CycleOptions options = {}) {
    config::Configuration configuration;
    config::Profile profile;
    profile.scheduler_name = k_scheduler;
    std::vector<framework::PluginSource> sources;
    for (FakePlugin& fake : plugins) {
      sources.push_back({&fake.describe(), "", "", {}});
      const config::PointSet points = framework::points_of(*sources.back().descriptor);
      for (std::size_t point = 0; point < config::k_point_count; ++point)
        if ((points & config::bit_of(static_cast<config::Point>(point))) != 0)
          profile.points[point].push_back({fake.name, static_cast<config::Point>(point) == config::Point::score});
    }
    configuration.profiles.push_back(std::move(profile));
    auto made = framework::Framework::make(configuration, {}, sources,
                                           {symbols,
                                            snapshot,
                                            cache.resources(),
                                            cache.lists(),
                                            [this](cache::PodHandle handle) { return cache.pod(handle); },
                                            objects,
                                            metrics,
                                            counters,
                                            {clock, ports, ports, ports, ports, ports},
                                            "test"});
    framework_made = std::move(made).value();
    cycle = std::make_unique<SchedulingCycle>(*framework_made, cache, snapshot, nominated, options);
    return *cycle;
  }
  model::PodPtr pod(const std::string& name, std::int32_t priority = 0) {
    auto made = make_pod(name);
    made->scheduler_name = k_scheduler;
    made->priority = priority;
    return made;
  }
  /// One attempt for the pod. A class of its own unless one is named.
  Outcome attempt(const model::PodPtr& pod, std::uint64_t pod_class = 0) { return cycle->run(pod, pod_class); }
  model::PluginIndex index_of(const std::string& name) const { return framework_made->names().find(name); }

  std::deque<FakePlugin> plugins;
  Lines calls;
  queue::FixedNominations nominated;
  framework::ObjectStore objects{[](const model::Object&, const std::vector<framework::Field>& fields) {
    return std::vector<framework::FieldValue>(fields.size());
  }};
  observe::CallCounters counters;
  observe::MetricRegistry metrics{counters};
  ManualClock clock;
  framework::testing::ClosedPorts ports;
  std::unique_ptr<framework::Framework> framework_made;
  std::unique_ptr<SchedulingCycle> cycle;
};

/// Lets the rows pass whose nodes `passes` names.
template <typename Passes>
auto filter_by(CycleFixture& f, Passes passes) {
  return [&f, passes](const berth_cycle_v1&, const berth_node_block_v1& block, berth_filter_out_v1& out,
                      berth_note_v1*) -> berth_code {
    for (std::uint32_t row = 0; row < block.rows; ++row) {
      const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
      if (slot == BERTH_NO_SLOT || f.snapshot.row(slot).node == nullptr || passes(f.node_name(slot))) continue;
      out.pass[row / 64] &= ~(std::uint64_t{1} << (row % 64));
      if (out.reasons != nullptr) out.reasons[row] = 1;
    }
    return BERTH_OK;
  };
}

/// "on n1", or the message of the rejection.
inline std::string said(const CycleFixture& f, const Outcome& outcome) {
  if (const auto* placement = std::get_if<Placement>(&outcome))
    return "on " + std::string(f.symbols.text(placement->assumption.node_name()));
  return std::get<Rejection>(outcome).full_message();
}

}  // namespace berth::cycle::testing
