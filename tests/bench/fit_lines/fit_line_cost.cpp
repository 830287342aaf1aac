// SPDX-License-Identifier: Apache-2.0
// What explainAfter costs a scheduler that runs: how long the copy of its cluster holds the lock of the cache, what one search
// takes, and the memory of both.
//
//   fit_line_cost tests/bench/workloads/bound-5000.yaml --plugin-dir build/release/plugins [--rounds 20]
#include <malloc.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "app/simulate/fit_lines.hpp"
#include "bench/workload.hpp"
#include "cache/cluster_cache.hpp"
#include "config/resolve.hpp"

namespace berth::bench {
namespace {

using Time = std::chrono::steady_clock;

struct Options {
  std::string workload, plugin_dir;
  std::size_t rounds = 20;
};

double milliseconds_since(Time::time_point start) {
  return std::chrono::duration<double, std::milli>(Time::now() - start).count();
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void print(const char* what, std::vector<double> times, std::size_t bytes) {
  std::sort(times.begin(), times.end());
  std::printf("%-28s median %8.2f ms, longest %8.2f ms, %7.1f MiB\n", what, times[times.size() / 2], times.back(),
              static_cast<double>(bytes) / (1 << 20));
}

model::PodPtr huge(const model::Pod& like) {
  auto pod = std::make_shared<model::Pod>(like);
  pod->name = "huge";
  pod->uid = "huge";
  pod->node_name = k_no_symbol;
  for (model::PodResource& resource : pod->requests.edit().resources) resource.request *= 1'000'000;
  return pod;
}

int run(const Options& options) {
  SymbolTable symbols;
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load_defaults();
  const app::PluginLibrary plugins = app::load_plugins(raw, options.plugin_dir);
  if (!plugins.ok()) throw std::runtime_error(plugins.report.render());
  const config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  if (!problems.empty()) throw std::runtime_error(problems.render());
  const Result<Workload> workload = read_workload(options.workload, symbols);
  if (!workload.ok()) throw std::runtime_error(workload.error().message);
  cache::ClusterCache cache(symbols);
  for (const model::NodePtr& node : workload->nodes) cache.add_node(node);
  for (const model::PodPtr& pod : workload->bound)
    if (const Status added = cache.add_pod(pod); !added.ok()) throw std::runtime_error(added.error().message);
  std::printf("%zu nodes, %zu pods\n", cache.counts().nodes, cache.counts().pods);

  std::vector<double> locked, searched;
  std::size_t copy_bytes = 0, search_bytes = 0;
  std::string line;
  const SystemClock clock;
  const app::FitLines lines(symbols, configuration, plugins, clock);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const std::size_t before = bytes_in_use();
    std::vector<decode::Decoded> cluster;
    const auto locking = Time::now();
    std::vector<model::NodePtr> nodes;
    std::vector<cache::CachedPod> pods;
    cache.visit([&](std::vector<model::NodePtr> all_nodes, std::vector<cache::CachedPod> all_pods) {
      nodes = std::move(all_nodes);
      pods = std::move(all_pods);
    });
    locked.push_back(milliseconds_since(locking));
    cluster.reserve(nodes.size() + pods.size());
    for (model::NodePtr& node : nodes) cluster.emplace_back(std::move(node));
    for (cache::CachedPod& pod : pods) cluster.emplace_back(std::move(pod.pod));
    copy_bytes = std::max(copy_bytes, bytes_in_use() - before);
    const auto searching = Time::now();
    line = lines.line(cluster, huge(*workload->bound.front()), [&] {
      search_bytes = std::max(search_bytes, bytes_in_use() - before);
      return true;
    });
    searched.push_back(milliseconds_since(searching));
  }
  print("copy, under the lock", locked, copy_bytes);
  print("search, on its own thread", searched, search_bytes);
  std::printf("%s\n", line.c_str());
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  berth::bench::Options options;
  CLI::App app("What explainAfter costs a scheduler that runs");
  app.add_option("workload", options.workload)->required();
  app.add_option("--plugin-dir", options.plugin_dir)->required();
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  try {
    return berth::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
