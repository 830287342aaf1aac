// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/ext/draft/groups.h"
#include "framework/cycle_context.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/profile_runtime.hpp"
#include "unit/cache/cache_fixture.hpp"

namespace berth::framework::testing {

/// A plugin of this process: functions behind the C tables, each settable.
struct FakePlugin {
  explicit FakePlugin(std::string plugin_name) : name(std::move(plugin_name)) {}
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;

  /// The descriptor; functions that are set by now are offered.
  const berth_plugin_v1& describe() {
    points.clear();
    if (filter) points.push_back({"berth.filter/1", &filter_ops});
    if (score) points.push_back({"berth.score/1", &score_ops});
    if (group_of) points.push_back({"berth.draft.groups/0", &group_ops});
    score_ops.normalize_kind = normalize_kind;
    reason_texts.assign(1, {});
    for (const std::string& text : reasons) reason_texts.push_back({text.c_str(), nullptr});
    descriptor = {sizeof(berth_plugin_v1),
                  0,
                  name.c_str(),
                  "1.0.0",
                  "A plugin of a test.",
                  nullptr,
                  points.data(),
                  reason_texts.data(),
                  nullptr,
                  static_cast<std::uint32_t>(points.size()),
                  static_cast<std::uint32_t>(reason_texts.size()),
                  0,
                  deps,
                  &create_it,
                  nullptr};
    return descriptor;
  }

  std::string name;
  std::uint32_t deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC;
  std::vector<std::string> reasons;  // ids from 1
  std::function<berth_code(const berth_binder_v1&, berth_note_v1*)> create;
  std::function<berth_code(const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&, berth_note_v1*)>
      filter;
  std::function<berth_code(const berth_node_block_v1&, std::int64_t*, berth_note_v1*)> score;
  std::function<berth_code(std::int64_t*, std::uint32_t, berth_note_v1*)> normalize;
  std::uint32_t normalize_kind = BERTH_NORM_NONE;
  std::function<berth_str(const berth_pod_v1&)> group_of;
  const berth_host_v1* host = nullptr;  // given to create

 private:
  friend struct FrameworkFixture;
  static FakePlugin& of(void* self) { return *static_cast<FakePlugin*>(self); }
  static berth_code create_it(const berth_host_v1* given_host, const berth_binder_v1* binder, berth_str, void** self,
                              berth_note_v1* note) {
    *self = in_creation;
    in_creation->host = given_host;
    return in_creation->create ? in_creation->create(*binder, note) : static_cast<berth_code>(BERTH_OK);
  }
  static inline FakePlugin* in_creation = nullptr;  // create() has no self yet

  berth_filter_ops_v1 filter_ops{
      sizeof(berth_filter_ops_v1), 0,
      [](void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
         berth_note_v1* note) -> berth_code { return of(self).filter(*cycle, *block, *out, note); }};
  berth_score_ops_v1 score_ops{
      sizeof(berth_score_ops_v1), BERTH_NORM_NONE,
      [](void* self, const berth_cycle_v1*, const berth_node_block_v1* block, std::int64_t* raw,
         berth_note_v1* note) -> berth_code { return of(self).score(*block, raw, note); },
      [](void* self, const berth_cycle_v1*, const berth_slot*, std::int64_t* scores, std::uint32_t count,
         berth_note_v1* note) -> berth_code { return of(self).normalize(scores, count, note); }};
  berth_group_ops_v0 group_ops{
      sizeof(berth_group_ops_v0), 0,
      [](void* self, const berth_pod_v1* pod) -> berth_str { return of(self).group_of(*pod); },
      [](void*, const berth_pod_v1*, berth_quorum_v0*, berth_note_v1*) -> berth_code { return BERTH_OK; }};
  std::vector<berth_point_v1> points;
  std::vector<berth_reason_text_v1> reason_texts;
  berth_plugin_v1 descriptor{};
};

/// PluginPorts that lead nowhere, but that events are kept.
struct ClosedPorts final : WaitingPodsPort, ActivationPort, WritesPort, EventSink, TasksPort {
  bool allow(std::string_view, model::PluginIndex) override { return false; }
  bool reject(std::string_view, model::PluginIndex, std::string_view) override { return false; }
  void each(const std::function<bool(const model::Pod&, Symbol)>&) override {}
  void activate(std::string_view) override {}
  void activate_class(std::uint64_t) override {}
  void bind(const PodRef&, std::string, WriteDone done) override { refuse(done); }
  void patch_status(const PodRef&, std::string, WriteDone done) override { refuse(done); }
  void patch_metadata(const PodRef&, std::string, WriteDone done) override { refuse(done); }
  void evict(const PodRef&, std::string, WriteDone done) override { refuse(done); }
  void patch_object(std::string, std::string, std::string, std::string, WriteDone done) override { refuse(done); }
  void record(const PluginEvent& event) override { events.push_back(event); }
  void submit(std::function<void()> task) override { task(); }
  void every(std::int64_t, std::function<void()>) override {}
  void after(std::int64_t, std::function<void()>) override {}
  void parallel_for(std::uint32_t count, const std::function<void(std::uint32_t)>& body) override {
    for (std::uint32_t i = 0; i < count; ++i) body(i);
  }

  std::vector<PluginEvent> events;

 private:
  static void refuse(const WriteDone& done) { done(Error{"nothing is written in this test"}); }
};

/// A host over a small cluster, and one profile that plugins are added to.
struct FrameworkFixture : cache::testing::CacheFixture {
  FakePlugin& make_plugin(std::string name) { return plugins.emplace_back(std::move(name)); }
  Result<std::unique_ptr<PluginInstance>> create(FakePlugin& plugin, std::string of_profile = {}) {
    FakePlugin::in_creation = &plugin;
    return PluginInstance::create({&plugin.describe(), "", "", {}, {}}, "", host, profile.instances.size(),
                                  std::move(of_profile));
  }
  /// As of a file whose note names these watches; without a file, as linked in.
  Result<std::unique_ptr<PluginInstance>> create_from(FakePlugin& plugin, std::string file,
                                                      std::vector<std::string> watches) {
    FakePlugin::in_creation = &plugin;
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
    if (instance->score != nullptr) profile.score.push_back({instance, 1});
    return *instance;
  }
  /// Starts a cycle for the pod. Requires: all plugins are there.
  CycleContext& begin(model::PodPtr pod) {
    context = std::make_unique<CycleContext>(profile);
    context->begin(std::move(pod), 1, 1, &snapshot);
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
  ManualClock clock;
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

inline berth_str key(const char* text) { return {text, std::char_traits<char>::length(text)}; }
inline void explain(berth_note_v1* note, std::string_view text) {
  std::copy_n(text.data(), std::min<std::uint64_t>(text.size(), note->text_cap), note->text);
  note->text_len = text.size();
}

}  // namespace berth::framework::testing
