// SPDX-License-Identifier: Apache-2.0
#include "serving/health.hpp"

#include <algorithm>
#include <set>

#include "base/guarded.hpp"
#include "observe/log.hpp"

namespace berth::serving {
namespace {

HttpResponse all_checks(const std::string& endpoint, const std::vector<HealthCheck>& checks, HealthRecord& record,
                        const HttpRequest& ask) {
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
    record.add(endpoint, check.name, status.ok());
    lines += status.ok() ? fmt::format("[+]{} ok\n", check.name)
                         : fmt::format("[-]{} failed: reason withheld\n", check.name);
    if (!status.ok())
      observe::V(2).info("Health check failed",
                         {{"endpoint", endpoint}, {"check", check.name}, {"err", status.error().message}});
    good = good && status.ok();
  }
  for (const std::string& unknown : excluded)
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n", unknown);
  if (!good) return {500, fmt::format("{}{} check failed\n", lines, endpoint)};
  if (!ask.has("verbose")) return {200, "ok"};
  return {200, fmt::format("{}{} check passed\n", lines, endpoint)};
}

HttpResponse one_check(const std::string& endpoint, const HealthCheck& check, HealthRecord& record) {
  const Status status = check.check();
  record.add(endpoint, check.name, status.ok());
  if (status.ok()) return {200, "ok"};
  return {500, fmt::format("internal server error: {}\n", status.error().message)};
}

}  // namespace

void HealthRecord::add(const std::string& endpoint, const std::string& check, bool is_good) {
  const Lock lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& e) { return e.endpoint == endpoint && e.check == check; });
  if (found == entries_.end()) found = entries_.insert(entries_.end(), Entry{endpoint, check});
  found->is_good = is_good;
  ++(is_good ? found->good : found->bad);
}

std::vector<HealthRecord::Entry> HealthRecord::entries() const {
  const Lock lock(mutex_);
  return entries_;
}

void HealthRecord::clear() {
  const Lock lock(mutex_);
  entries_.clear();
}

std::vector<Route> health_routes(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                                 std::shared_ptr<HealthRecord> record) {
  std::vector<Route> out;
  out.push_back({"/" + endpoint, [endpoint, checks, record](const HttpRequest& ask) {
                   return all_checks(endpoint, checks, *record, ask);
                 }});
  for (const HealthCheck& check : checks)
    out.push_back({fmt::format("/{}/{}", endpoint, check.name),
                   [endpoint, check, record](const HttpRequest&) { return one_check(endpoint, check, *record); }});
  return out;
}

}  // namespace berth::serving
