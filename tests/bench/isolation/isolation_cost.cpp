// SPDX-License-Identifier: Apache-2.0
/// What a call costs more when the plugin is in a process of its own: filter and score of a block of 1,024 nodes, here and there,
/// the median of five rounds. Prints nanoseconds.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "framework/points/filter_call.hpp"
#include "isolation/turns.hpp"
#include "unit/isolation/isolation_fixture.hpp"

namespace {

using namespace berth;
using isolation::now_ns;
using isolation::testing::IsolationFixture;
using isolation::tried::Deed;

constexpr int k_rounds = 5, k_calls = 20'000, k_rested_calls = 200;
constexpr int k_nodes = 5'000;
constexpr std::int64_t k_rest_ns = 1'000'000;

struct Calls {
  IsolationFixture& f;
  framework::CycleContext& cycle;
  std::array<std::uint64_t, 16> pass{}, unresolvable{};
  std::vector<std::int64_t> raw = std::vector<std::int64_t>(1024);

  void filter(const framework::PluginInstance& plugin) {
    const framework::Block block = f.blocks.contiguous(0, 1024);
    pass.fill(~std::uint64_t{0});
    framework::FilterCall call(cycle, plugin, pass.data(), unresolvable.data(), nullptr);
    framework::Note note;
    const auto code = call.run(cycle.abi(plugin), f.blocks.bind(block, plugin, &cycle, f.snapshot.nodes()), note);
    if (code != framework::Code::success) fail(note.text());
  }
  void score(const framework::PluginInstance& plugin) {
    const Status done =
        framework::run_score(cycle, f.blocks, f.blocks.contiguous(0, 1024), plugin, f.snapshot.nodes(), raw.data());
    if (!done.ok()) fail(done.error().message);
  }
  [[noreturn]] static void fail(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::exit(1);
  }
};

/// Nanoseconds of one call, on average.
double time_of(int calls, const std::function<void()>& before, const std::function<void()>& call) {
  std::int64_t total_ns = 0;
  if (before == nullptr) {
    const std::int64_t begin_ns = now_ns();
    for (int i = 0; i < calls; ++i) call();
    total_ns = now_ns() - begin_ns;
  } else {
    for (int i = 0; i < calls; ++i) {
      before();
      const std::int64_t begin_ns = now_ns();
      call();
      total_ns += now_ns() - begin_ns;
    }
  }
  return static_cast<double>(total_ns) / calls;
}

void print(const char* what, int calls, const std::function<void()>& before, const std::function<void()>& here,
           const std::function<void()>& there) {
  std::vector<double> more, of_here, of_there;
  for (int round = 0; round < k_rounds; ++round) {
    of_here.push_back(time_of(calls, before, here));
    of_there.push_back(time_of(calls, before, there));
    more.push_back(of_there.back() - of_here.back());
  }
  for (auto* const list : {&more, &of_here, &of_there}) std::sort(list->begin(), list->end());
  fmt::print("{:<40} in berth {:>8.0f} ns   isolated {:>8.0f} ns   more {:>8.0f} ns\n", what, of_here[k_rounds / 2],
             of_there[k_rounds / 2], more[k_rounds / 2]);
}

}  // namespace

int main() {
  IsolationFixture f;
  for (int i = 0; i < k_nodes; ++i) f.add_node(fmt::format("node{}", i), "good");
  f.refresh();
  const framework::PluginInstance& there = *f.isolated();
  const framework::PluginInstance& here = *f.here();
  Calls calls{f, f.begin(f.pod_that(Deed::none, 1000))};
  const auto filter_here = [&] { calls.filter(here); };
  const auto filter_there = [&] { calls.filter(there); };
  filter_there();
  print("filter, call after call", k_calls, nullptr, filter_here, filter_there);
  print(
      "score, call after call", k_calls, nullptr, [&] { calls.score(here); }, [&] { calls.score(there); });
  int pods = 0;
  const auto change = [&] {
    f.add_pod(f.make_pod(fmt::format("pod{}", pods), fmt::format("node{}", pods % k_nodes), 1));
    ++pods;
    f.refresh();
  };
  print("filter, a node has changed", k_rested_calls * 10, change, filter_here, filter_there);
  const auto rest = [] {
    for (const std::int64_t until_ns = now_ns() + k_rest_ns; now_ns() < until_ns;) {
    }
  };
  print("filter, the process had gone to sleep", k_rested_calls, rest, filter_here, filter_there);
  return 0;
}
