// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin_call.hpp"
#include "framework/points/filter.hpp"
#include "framework/points/pre_filter.hpp"
#include "framework/points/requeue.hpp"
#include "framework/points/score.hpp"
#include "isolation/isolated_library.hpp"
#include "isolation/isolated_plugin.hpp"
#include "loader/plugin_loader.hpp"
#include "unit/framework/framework_fixture.hpp"
#include "unit/isolation/deeds.hpp"

namespace berth::isolation::testing {

using framework::PluginInstance;
using tried::Deed;

inline PluginProgram program_of(const std::string& file, const std::string& plugin) {
  return {std::filesystem::path(file).parent_path().string(), file, "", {plugin}};
}

/// A cluster of some nodes, and the plugin that is tried: in a process of its own, and in this one.
struct IsolationFixture : framework::testing::FrameworkFixture {
  static constexpr const char* k_name = "example.com/Tried";

  explicit IsolationFixture(std::int64_t call_ns = 10'000'000'000) {
    auto opened =
        IsolatedLibrary::open(program_of(BERTH_TRIED_PLUGIN, k_name), {call_ns, 20'000'000'000}, BERTH_PROGRAM);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    library = opened.ok() ? *opened : nullptr;
    for (const char* name : {"n0", "n1", "n2"}) add_node(name, "good");
    add_node("n3", "bad");
    refresh();
  }

  /// An instance in a process of its own. Null, with a failure of the test, where there is none.
  PluginInstance* isolated(const std::string& args = "") { return create_of(library->entry()->plugins[0], args); }
  /// The same with its code in this process.
  PluginInstance* here() {
    loader::LoadRequest request;
    request.directory = {std::filesystem::path(BERTH_TRIED_PLUGIN).parent_path(), "test", {}};
    request.wanted.push_back({k_name, {}, false});
    loader::HostOffer offer{"test", {"berth.sets/1", "berth.intern/1", "berth.reasons/1"}};
    loaded = loader::PluginLoader(offer).load(request);
    EXPECT_TRUE(loaded.report.ok()) << loaded.report.render();
    return create_of(loaded.plugins.find(k_name)->plugin, "");
  }
  PluginInstance* create_of(const berth_plugin_v1* descriptor, const std::string& args) {
    auto made =
        PluginInstance::create({descriptor, BERTH_TRIED_PLUGIN, "", {}, {}}, args, host, profile.instances.size());
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    if (!made.ok()) return nullptr;
    PluginInstance* const instance = made->get();
    profile.instances.push_back(std::move(*made));
    return instance;
  }

  model::PodPtr pod_that(Deed deed, std::int64_t cpu_milli = 0) {
    auto pod = make_pod("p", "", cpu_milli);
    pod->priority = static_cast<std::int32_t>(deed);
    return pod;
  }
  /// What its filter says of all nodes: "n0 ok", "n3 node(s) are in a bad zone (3)"; or the error.
  std::vector<std::string> filter(const PluginInstance& plugin, const model::PodPtr& pod, bool prepares = false) {
    auto& cycle = begin(pod);
    if (prepares) prepare(plugin, cycle);
    return filter_in(plugin, cycle);
  }
  void prepare(const PluginInstance& plugin, framework::CycleContext& cycle) {
    std::vector<std::uint64_t> nodes(snapshot.nodes(), snapshot.nodes() + snapshot.word_count());
    berth_prepare_out_v1 out{sizeof out, 0, nodes.data(), nodes.size()};
    framework::Note note;
    const framework::Code code = framework::call_plugin(plugin, observe::Point::pre_filter, note, [&] {
      return plugin.prepare->pre_filter(plugin.self(), cycle.abi(plugin), &out, note.abi());
    });
    EXPECT_EQ(code, framework::Code::success) << note.text();
  }
  std::vector<std::string> filter_in(const PluginInstance& plugin, framework::CycleContext& cycle) {
    std::vector<std::string> out;
    const PluginInstance* const filters[] = {&plugin};
    for (cache::Slot first = 0; first < snapshot.slot_count(); first += framework::k_block_rows) {
      const std::uint32_t rows = std::min(framework::k_block_rows, snapshot.slot_count() - first);
      std::vector<std::uint64_t> alive((rows + 63) / 64);
      for (std::size_t w = 0; w < alive.size(); ++w) alive[w] = snapshot.nodes()[first / 64 + w];
      std::vector<framework::NodeVerdict> verdicts(alive.size() * 64);
      framework::explain_filters(cycle, blocks, blocks.contiguous(first, rows), filters, alive.data(), scratch,
                                 verdicts);
      for (std::uint32_t row = 0; row < rows; ++row) {
        if (snapshot.row(first + row).node == nullptr) continue;
        std::string line = snapshot.row(first + row).node->name;
        const framework::NodeVerdict& verdict = verdicts[row];
        if (verdict.code == framework::Code::success) {
          line += " ok";
        } else {
          for (const std::string& sentence : framework::sentences(plugin, verdict.reason)) line += " " + sentence;
          line += fmt::format(" ({})", static_cast<int>(verdict.code));
        }
        out.push_back(std::move(line));
      }
    }
    return out;
  }
  /// Its error for the first node, without what comes before.
  std::string error(const PluginInstance& plugin, const model::PodPtr& pod) {
    const std::vector<std::string> lines = filter(plugin, pod);
    const std::string& first = lines.front();
    const std::size_t begin = first.find("filter plugin: ");
    return begin == std::string::npos ? first : first.substr(begin + 15, first.rfind(" (") - begin - 15);
  }
  std::string score(const PluginInstance& plugin, const model::PodPtr& pod) {
    auto& cycle = begin(pod);
    std::vector<std::int64_t> raw((snapshot.slot_count() + 63) / 64 * 64);
    const Status done = framework::run_score(cycle, blocks, blocks.contiguous(0, snapshot.slot_count()), plugin,
                                             snapshot.nodes(), raw.data());
    if (!done.ok()) return done.error().message;
    raw.resize(snapshot.slot_count());
    return fmt::format("{}", fmt::join(raw, " "));
  }
  /// Of the first instance.
  IsolatedState state() const { return isolated_state(*profile.instances.front()).value(); }

  std::shared_ptr<IsolatedLibrary> library;
  loader::LoadOutcome loaded;
  framework::NodeBlocks blocks{snapshot};
  framework::FilterScratch scratch;
  /// Instances go before what their code needs.
  struct InstancesFirst {
    IsolationFixture& of;
    ~InstancesFirst() {
      of.context.reset();
      of.profile.instances.clear();
    }
  } instances_first{*this};
};

}  // namespace berth::isolation::testing
