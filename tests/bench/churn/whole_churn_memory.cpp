// SPDX-License-Identifier: Apache-2.0
// What pods that come and go leave behind in a leader and a standby, each a process of its own. Ends with 1 when a replica
// has more memory at the end than --more-percent above what it had after the first tenth.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "bench/churn/whole_churn.hpp"

namespace {

void print(const char* who, const berth::bench::ReplicaSizes& now, const berth::bench::ReplicaSizes& first) {
  std::cout << fmt::format("  {}: RSS {} KiB ({:+.1f} %); tables {} KiB:", who, now.rss_bytes / 1024,
                           100.0 * static_cast<double>(now.rss_bytes) / static_cast<double>(first.rss_bytes) - 100.0,
                           now.table_bytes() / 1024);
  for (const auto& [name, bytes] : now.tables) std::cout << ' ' << name << ' ' << bytes / 1024;
  std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("what pods that come and go leave behind in two replicas");
  berth::bench::WholeChurnOptions options;
  std::int64_t steps = 20;
  double more_percent = 5;
  app.add_option("--berth", options.berth, "The program")->required();
  app.add_option("--plugin-dir", options.plugin_dir, "Its plugins")->required();
  app.add_option("--pods", options.pods, "How many come")->check(CLI::PositiveNumber);
  app.add_option("--alive", options.alive, "How many are there at once")->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "How often to print, a multiple of ten")->check(CLI::PositiveNumber);
  app.add_option("--more-percent", more_percent, "How much more memory a replica may have at the end");
  CLI11_PARSE(app, argc, argv);
  try {
    std::optional<berth::bench::WholeChurnSizes> first, last;
    berth::bench::whole_churn(options, std::max<std::int64_t>(options.pods / steps, 1), [&](const auto& sizes) {
      if (!first || sizes.pods <= options.pods / 10) first = sizes;
      last = sizes;
      std::cout << fmt::format("{} pods, {} bound\n", sizes.pods, sizes.bound);
      print("leader", sizes.leader, first->leader);
      print("standby", sizes.standby, first->standby);
    });
    const auto is_flat = [&](const berth::bench::ReplicaSizes& before, const berth::bench::ReplicaSizes& now) {
      return static_cast<double>(now.rss_bytes) <= static_cast<double>(before.rss_bytes) * (1 + more_percent / 100);
    };
    const bool is_good = is_flat(first->leader, last->leader) && is_flat(first->standby, last->standby);
    std::cout << (is_good ? "flat" : "it grows") << std::endl;
    return is_good ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "whole_churn_memory: " << error.what() << '\n';
    return 1;
  }
}
