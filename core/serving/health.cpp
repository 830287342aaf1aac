// SPDX-License-Identifier: Apache-2.0
#include "serving/health.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

namespace berth::serving {
namespace {

Reply all_checks(const std::string& endpoint, const std::vector<HealthCheck>& checks, const Ask& ask) {
  std::set<std::string> excluded;
  for (const auto& [key, value] : ask.query)
    if (key == "exclude") excluded.insert(value);
  std::string lines;
  bool good = true;
  for (const HealthCheck& check : checks) {
    if (excluded.erase(check.name) != 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
      continue;
    }
    const Status status = check.check();
    lines += status.ok() ? fmt::format("[+]{} ok\n", check.name)
                         : fmt::format("[-]{} failed: reason withheld\n", check.name);
    if (!status.ok()) spdlog::debug("{}: {}: {}", endpoint, check.name, status.error().message);
    good = good && status.ok();
  }
  for (const std::string& unknown : excluded)
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n", unknown);
  if (!good) return {500, fmt::format("{}{} check failed\n", lines, endpoint)};
  if (!ask.has("verbose")) return {200, "ok"};
  return {200, fmt::format("{}{} check passed\n", lines, endpoint)};
}

Reply one_check(const HealthCheck& check) {
  const Status status = check.check();
  if (status.ok()) return {200, "ok"};
  return {500, fmt::format("internal server error: {}\n", status.error().message)};
}

}  // namespace

std::vector<Route> health_routes(const std::string& endpoint, const std::vector<HealthCheck>& checks) {
  std::vector<Route> out;
  out.push_back({"/" + endpoint, [endpoint, checks](const Ask& ask) { return all_checks(endpoint, checks, ask); }});
  for (const HealthCheck& check : checks)
    out.push_back({fmt::format("/{}/{}", endpoint, check.name), [check](const Ask&) { return one_check(check); }});
  return out;
}

}  // namespace berth::serving
