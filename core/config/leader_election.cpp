// SPDX-License-Identifier: Apache-2.0
#include "config/leader_election.hpp"

#include <spdlog/fmt/fmt.h>

#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

/// `leaderElection` as it was written, in today's version; null: nowhere.
const text::Value* written_election(const RawConfiguration& raw) {
  for (const text::Document& document : raw.documents) {
    const text::Value* const version = document.root().is_mapping() ? document.root().find("apiVersion") : nullptr;
    if (version == nullptr || version->text() != k_scheduler_api) continue;
    const text::Value* const election = document.root().find("leaderElection");
    return election != nullptr && election->is_mapping() ? election : nullptr;
  }
  return nullptr;
}

}  // namespace

void check_leader_election(const RawConfiguration& raw, const LeaderElection& election, const ElectionFlags& flags,
                           text::Diagnostics& diagnostics) {
  if (!election.leader_elect) return;
  const text::Value* const written = written_election(raw);
  const auto report = [&](std::string_view key, std::string message) {
    if (const auto flag = flags.find(key); flag != flags.end()) {
      diagnostics.add("", {}, flag->second, std::move(message));
      return;
    }
    const text::Value* const value = written != nullptr ? written->find(key) : nullptr;
    text::Position position;
    if (written != nullptr) position = value != nullptr ? value->position() : written->position();
    diagnostics.add(raw.file, position, fmt::format("leaderElection.{}", key), std::move(message));
  };
  const auto invalid = [&](std::string_view key, std::int64_t ns, std::string_view text) {
    report(key, fmt::format("Invalid value: \"{}\": {}", format_duration(ns), text));
  };
  if (election.lease_duration_ns <= 0)
    invalid("leaseDuration", election.lease_duration_ns, "must be greater than zero");
  if (election.renew_deadline_ns <= 0)
    invalid("renewDeadline", election.renew_deadline_ns, "must be greater than zero");
  if (election.retry_period_ns <= 0) invalid("retryPeriod", election.retry_period_ns, "must be greater than zero");
  if (election.lease_duration_ns <= election.renew_deadline_ns)
    invalid("leaseDuration", election.lease_duration_ns,
            fmt::format("LeaseDuration must be greater than RenewDeadline ({})",
                        format_duration(election.renew_deadline_ns)));
  // The elector retries with up to 20 % of jitter and must fit one retry into the deadline.
  if (static_cast<double>(election.renew_deadline_ns) <= 1.2 * static_cast<double>(election.retry_period_ns))
    invalid("renewDeadline", election.renew_deadline_ns,
            fmt::format("must be greater than 1.2 times retryPeriod ({})", format_duration(election.retry_period_ns)));
  if (election.resource_lock != "leases")
    report("resourceLock",
           fmt::format("Invalid value: {}: resourceLock value must be \"leases\"", quoted(election.resource_lock)));
  if (election.resource_namespace.empty()) report("resourceNamespace", "Required value");
  if (election.resource_name.empty()) report("resourceName", "Required value");
}

}  // namespace berth::config
