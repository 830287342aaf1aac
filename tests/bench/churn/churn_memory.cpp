// SPDX-License-Identifier: Apache-2.0
// What pods that come and go leave behind: memory and tables at steps, for a replica that decides or one that stands by.
#include <malloc.h>

#include <spdlog/fmt/fmt.h>
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/churn/churn.hpp"

int main(int argc, char** argv) {
  CLI::App app("what pods that come and go leave behind");
  berth::bench::ChurnOptions options;
  std::int64_t steps = 10;
  bool trim = false;
  app.add_option("--pods", options.pods, "How many come")->check(CLI::PositiveNumber);
  app.add_option("--alive", options.alive, "How many are there at once")->check(CLI::PositiveNumber);
  app.add_option("--nodes", options.nodes, "How many nodes there are")->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "How often to print")->check(CLI::PositiveNumber);
  app.add_flag("--standby", options.standby, "Another replica decides");
  app.add_flag("--trim", trim, "Give back to the system what malloc keeps, before each line");
  CLI11_PARSE(app, argc, argv);
  try {
    std::size_t first_rss = 0, first_heap = 0;
    const auto percent = [](std::size_t now, std::size_t first) {
      return 100.0 * static_cast<double>(now) / static_cast<double>(first) - 100.0;
    };
    berth::bench::churn(options, std::max<std::int64_t>(options.pods / steps, 1), [&](const auto& sizes) {
      if (trim) malloc_trim(0);
      if (first_rss == 0) {
        first_rss = sizes.rss_bytes;
        first_heap = sizes.heap_bytes;
      }
      std::cout << fmt::format("{} pods: RSS {} KiB ({:+.1f} %), heap {} KiB ({:+.1f} %);", sizes.pods,
                               sizes.rss_bytes / 1024, percent(sizes.rss_bytes, first_rss), sizes.heap_bytes / 1024,
                               percent(sizes.heap_bytes, first_heap));
      for (const auto& [name, size] : sizes.tables) std::cout << ' ' << name << ' ' << size;
      std::cout << std::endl;
    });
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "churn_memory: " << error.what() << '\n';
    return 1;
  }
}
