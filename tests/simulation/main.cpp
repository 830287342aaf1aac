// SPDX-License-Identifier: Apache-2.0
// simulate-faults: worlds from seeds, one after the other, each in a process of its own.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "simulation/run.hpp"

namespace {

using berth::simulation::Ran;
using berth::simulation::WorldOptions;

struct Totals {
  std::size_t seeds = 0, pods = 0, evicted = 0, faults = 0;
  double virtual_s = 0;
  int broken = 0;
};

double seconds_of_processor() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void print_one(const WorldOptions& options, const Ran& ran, double seconds) {
  const auto& result = ran.result;
  const char* const verdict = ran.is_good() ? "good" : WIFEXITED(ran.status) ? "BROKEN" : "CRASHED";
  if (!result.rule.empty())
    std::printf("%sBROKEN: %s: %s\n", ran.story.c_str(), result.rule.c_str(), result.what.c_str());
  std::printf(
      "seed %llu: %s; %zu of %zu pods bound, %zu evicted, %zu starts, %llu faults, %llu switches, %.0f virtual s; "
      "digest %016llx; %.1f s so far\n",
      static_cast<unsigned long long>(options.seed), verdict, result.bound, result.pods, result.evicted, result.starts,
      static_cast<unsigned long long>(result.faults), static_cast<unsigned long long>(result.switches),
      result.virtual_s, static_cast<unsigned long long>(result.digest), seconds);
  std::fflush(stdout);
}

/// Tells the shortest history that breaks the same rule, and keeps it in that folder.
void tell_shortest(const WorldOptions& options, const Ran& broken, std::size_t tries, const std::string& folder) {
  const WorldOptions shortest = shorten(options, broken, tries, [](std::size_t tried, std::size_t left) {
    std::printf("after %zu tries: %zu faults and batches of pods are left\n", tried, left);
    std::fflush(stdout);
  });
  WorldOptions again = shortest;
  const Ran ran = run_world(again);
  std::printf("The shortest history that still fails:\n");
  print_one(again, ran, 0);
  if (folder.empty()) return;
  const std::string path = folder + "/seed-" + std::to_string(options.seed) + ".json";
  std::ofstream(path) << history_text(shortest, ran.result);
  std::printf("kept as %s\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli{"Runs berth in simulated worlds where things go wrong, and judges what it does"};
  WorldOptions options;
  std::uint64_t seeds = 1;
  double hours = 0;
  bool twice = false;
  std::size_t tries = 0;
  std::string history, keep, replay;
  std::vector<std::string> only, with;
  cli.add_option("--seed", options.seed, "The first seed; absent: one of the moment");
  cli.add_option("--seeds", seeds, "How many seeds are tried");
  cli.add_option("--hours", hours, "Instead of --seeds: for how long seeds are tried");
  cli.add_option("--minutes", options.fault_minutes, "Virtual minutes of faults for each seed");
  cli.add_option("--replicas", options.replicas, "Replicas of berth; 0: the seed decides");
  cli.add_option("--only", only, "Kinds of faults; absent: the seed decides")
      ->delimiter(',')
      ->check(CLI::IsMember(berth::simulation::fault_kinds()));
  cli.add_option("--with", with, "The faults and batches of pods that happen (crash.3,pods.12); absent: all")
      ->delimiter(',');
  cli.add_option("--shorten", tries, "How many worlds are tried to make a broken history shorter");
  cli.add_option("--keep", keep, "A directory for what --shorten leaves");
  cli.add_option("--replay", replay, "A file of such a directory, instead of a seed");
  cli.add_option("--plugin-dir", options.plugin_dir, "The plugin files")->required();
  cli.add_option("--logs", options.log_dir, "A directory for the logs of the replicas");
  cli.add_option("--history", history, "A file for everything that happens, a line each");
  cli.add_flag("--tell", options.tells, "Say what happens as it happens");
  cli.add_flag("--twice", twice, "Run each seed twice, and fail unless both histories are the same");
  CLI11_PARSE(cli, argc, argv);
  options.only.insert(only.begin(), only.end());
  if (!with.empty()) options.with.emplace(with.begin(), with.end());
  if (cli.count("--seed") == 0)
    options.seed =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'000;
  if (!replay.empty()) read_history(replay, options);
  std::string directory = std::filesystem::temp_directory_path() / "berth-simulation-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  options.kubeconfig_dir = directory;
  if (!history.empty())
    options.history_descriptor = ::open(history.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);

  using Time = std::chrono::steady_clock;
  const auto began = Time::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Time::now() - began).count(); };
  Totals all;
  for (; hours > 0 ? seconds() < hours * 3600 : all.seeds < seeds; ++all.seeds, ++options.seed) {
    const Ran ran = run_world(options);
    all.pods += ran.result.bound;
    all.evicted += ran.result.evicted;
    all.faults += ran.result.faults;
    all.virtual_s += ran.result.virtual_s;
    if (!ran.is_good()) ++all.broken;
    print_one(options, ran, seconds());
    if (!ran.result.rule.empty() && tries > 0) tell_shortest(options, ran, tries, keep);
    if (!twice || !ran.is_good()) continue;
    if (const Ran again = run_world(options); again.result.digest != ran.result.digest) {
      std::printf("seed %llu: NOT REPLAYED: digest %016llx\n", static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(again.result.digest));
      ++all.broken;
    }
  }
  std::filesystem::remove_all(directory);
  const double processor_s = seconds_of_processor();
  std::printf(
      "%zu seeds, %zu pods bound, %zu evicted, %zu faults, %.1f virtual hours, %d broken, in %.1f s; %.0f pods an hour "
      "and core\n",
      all.seeds, all.pods, all.evicted, all.faults, all.virtual_s / 3600, all.broken, seconds(),
      static_cast<double>(all.pods) * 3600 / processor_s);
  return all.broken == 0 ? 0 : 1;
}
