// SPDX-License-Identifier: Apache-2.0
// simulate-faults: worlds from seeds, one after the other, each in a process of its own.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>

#include "simulation/world.hpp"

namespace {

using berth::simulation::WorldOptions;
using berth::simulation::WorldResult;

int g_result = -1;  // where a world's process writes its result

int say(const WorldResult& result, const std::deque<std::string>& story) {
  if (!result.rule.empty()) {
    for (const std::string& line : story) std::printf("%s\n", line.c_str());
    std::printf("BROKEN: %s: %s\n", result.rule.c_str(), result.what.c_str());
  }
  std::fflush(stdout);
  [[maybe_unused]] const auto written = ::write(g_result, &result.digest, sizeof result.digest);
  const std::size_t counts[] = {result.pods,
                                result.bound,
                                result.starts,
                                static_cast<std::size_t>(result.faults),
                                static_cast<std::size_t>(result.switches),
                                static_cast<std::size_t>(result.virtual_s)};
  [[maybe_unused]] const auto rest = ::write(g_result, counts, sizeof counts);
  return result.rule.empty() ? 0 : 3;
}

struct Ran {
  int status = 0;
  std::uint64_t digest = 0;
  std::size_t counts[6] = {};
};

Ran run_one(const WorldOptions& options) {
  int ends[2] = {};
  if (::pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    g_result = ends[1];
    berth::simulation::World(options).run(say);
  }
  ::close(ends[1]);
  Ran ran;
  char* into = reinterpret_cast<char*>(&ran.digest);
  std::size_t left = sizeof ran.digest + sizeof ran.counts, at = 0;
  static_assert(offsetof(Ran, counts) == offsetof(Ran, digest) + sizeof(std::uint64_t));
  for (ssize_t got = 0; left > 0 && (got = ::read(ends[0], into + at, left)) > 0; left -= static_cast<std::size_t>(got))
    at += static_cast<std::size_t>(got);
  ::close(ends[0]);
  ::waitpid(child, &ran.status, 0);
  return ran;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli{"Runs berth in simulated worlds where things go wrong, and judges what it does"};
  WorldOptions options;
  std::uint64_t seeds = 1;
  double hours = 0;
  bool twice = false;
  std::string history;
  std::vector<std::string> only;
  cli.add_option("--seed", options.seed, "The first seed; absent: one of the moment");
  cli.add_option("--seeds", seeds, "How many seeds are tried");
  cli.add_option("--hours", hours, "Instead of --seeds: for how long seeds are tried");
  cli.add_option("--minutes", options.fault_minutes, "Virtual minutes of faults for each seed");
  cli.add_option("--replicas", options.replicas, "Replicas of berth; 0: the seed decides");
  cli.add_option("--only", only, "Kinds of faults; absent: the seed decides")
      ->delimiter(',')
      ->check(CLI::IsMember(berth::simulation::fault_kinds()));
  cli.add_option("--plugin-dir", options.plugin_dir, "The plugin files")->required();
  cli.add_option("--logs", options.log_dir, "A directory for the logs of the replicas");
  cli.add_option("--history", history, "A file for everything that happens, a line each");
  cli.add_flag("--tell", options.tells, "Say what happens as it happens");
  cli.add_flag("--twice", twice, "Run each seed twice, and fail unless both histories are the same");
  CLI11_PARSE(cli, argc, argv);
  options.only.insert(only.begin(), only.end());
  if (cli.count("--seed") == 0)
    options.seed =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'000;
  std::string directory = std::filesystem::temp_directory_path() / "berth-simulation-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  options.kubeconfig_dir = directory;
  if (!history.empty())
    options.history_descriptor = ::open(history.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);

  using Time = std::chrono::steady_clock;
  const auto began = Time::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Time::now() - began).count(); };
  std::size_t pods = 0, faults = 0, virtual_s = 0;
  int broken = 0;
  for (std::uint64_t done = 0; hours > 0 ? seconds() < hours * 3600 : done < seeds; ++done, ++options.seed) {
    const Ran ran = run_one(options);
    pods += ran.counts[1];
    faults += ran.counts[3];
    virtual_s += ran.counts[5];
    const bool has_ended = WIFEXITED(ran.status);
    std::printf(
        "seed %llu: %s; %zu of %zu pods bound, %zu starts, %zu faults, %zu switches, %zu virtual s; digest %016llx; "
        "%.1f s so far\n",
        static_cast<unsigned long long>(options.seed),
        ran.status == 0 ? "good"
        : has_ended     ? "BROKEN"
                        : "CRASHED",
        ran.counts[1], ran.counts[0], ran.counts[2], ran.counts[3], ran.counts[4], ran.counts[5],
        static_cast<unsigned long long>(ran.digest), seconds());
    if (ran.status != 0) ++broken;
    if (twice && ran.status == 0) {
      if (const Ran again = run_one(options); again.digest != ran.digest) {
        std::printf("seed %llu: NOT REPLAYED: digest %016llx\n", static_cast<unsigned long long>(options.seed),
                    static_cast<unsigned long long>(again.digest));
        ++broken;
      }
    }
    std::fflush(stdout);
  }
  std::filesystem::remove_all(directory);
  std::printf("%zu pods bound, %zu faults, %.2f virtual days, %d broken, in %.1f s\n", pods, faults,
              static_cast<double>(virtual_s) / 86400, broken, seconds());
  return broken == 0 ? 0 : 1;
}
