// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "config/profile.hpp"

namespace CLI {
class App;
}

namespace berth::app {

/// What `berth run` was told on its command line. Absent: not said, so that a configuration file's word holds.
struct RunOptions {
  std::string config, kubeconfig, master, plugin_dir, write_config_to;
  bool dry_run = false;

  struct LeaderElectionFlags {
    std::optional<bool> leader_elect;
    std::optional<std::string> lease_duration, renew_deadline, retry_period;  // Go durations
    std::optional<std::string> resource_lock, resource_name, resource_namespace;
  } leader_election;
  // Without --config only, as upstream's deprecated flags.
  std::optional<double> qps;
  std::optional<std::int32_t> burst;
  std::optional<std::string> content_type;

  std::string bind_address = "0.0.0.0";
  std::uint16_t secure_port = 10259;
  std::string tls_cert_file, tls_private_key_file;
  std::string authentication_kubeconfig, authorization_kubeconfig;
  int verbosity = 0;
  std::string logging_format = "text";
  /// Upstream's flags that are understood and change nothing here: name and value, for the log.
  std::vector<std::pair<std::string, std::string>> without_effect;
};

/// Adds kube-scheduler's flags to a command. `options` outlives the parse.
/// Source: kubernetes v1.36 cmd/kube-scheduler/app/options.
void add_run_flags(CLI::App& command, RunOptions& options);

/// The command line for CLI11, last argument first. Called as kube-scheduler, through a link, the program is `berth
/// run`; flags of that command may be written with underscores.
std::vector<std::string> arguments(int argc, const char* const* argv);

/// Lays the flags over a configuration: leader election always, the others only without --config. Returns what is
/// wrong.
std::vector<std::string> apply_flags(const RunOptions& options, config::Configuration& configuration);

/// Schedules a live cluster until SIGTERM or SIGINT. Returns the exit status: 0 after a signal, 1 when it cannot start
/// or loses its lease.
int run_live(const RunOptions& options, std::ostream& err);

}  // namespace berth::app
