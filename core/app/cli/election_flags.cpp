// SPDX-License-Identifier: Apache-2.0
#include "app/cli/election_flags.hpp"

#include <CLI/CLI.hpp>

#include "app/cli/go_flags.hpp"

namespace berth::app {

void add_election_flags(CLI::App& command, RunOptions::LeaderElectionFlags& election) {
  command.option_defaults()->group("Leader election; these flags override --config");
  add_switch(
      command, "--leader-elect", [&election](bool is_on) { election.leader_elect = is_on; },
      "Hold a lease before scheduling, so that one of several replicas decides", true);
  const auto text = [&](const char* name, std::optional<std::string>& out, const char* help, const char* by_default) {
    add_text(command, name, out, help, by_default);
  };
  const auto duration = [&](const char* name, std::optional<std::string>& out, const char* help,
                            const char* by_default) { add_duration(command, name, out, help, by_default); };
  duration("--leader-elect-lease-duration", election.lease_duration,
           "How long a lease that is not renewed stays valid for its holder", "15s");
  duration("--leader-elect-renew-deadline", election.renew_deadline,
           "How long the leader tries to renew before it gives up", "10s");
  duration("--leader-elect-retry-period", election.retry_period, "Time between attempts to acquire or renew", "2s");
  text("--leader-elect-resource-lock", election.resource_lock, "Kind of the lock; there is one", "leases");
  text("--leader-elect-resource-name", election.resource_name, "Name of the lease", "kube-scheduler");
  text("--leader-elect-resource-namespace", election.resource_namespace, "Namespace of it", "kube-system");
}

config::ElectionFlags given_election_flags(const RunOptions::LeaderElectionFlags& flags) {
  config::ElectionFlags out;
  const auto add = [&out](const char* field, const char* flag, const std::optional<std::string>& given) {
    if (given) out.emplace(field, flag);
  };
  add("leaseDuration", "--leader-elect-lease-duration", flags.lease_duration);
  add("renewDeadline", "--leader-elect-renew-deadline", flags.renew_deadline);
  add("retryPeriod", "--leader-elect-retry-period", flags.retry_period);
  add("resourceLock", "--leader-elect-resource-lock", flags.resource_lock);
  add("resourceName", "--leader-elect-resource-name", flags.resource_name);
  add("resourceNamespace", "--leader-elect-resource-namespace", flags.resource_namespace);
  return out;
}

}  // namespace berth::app
