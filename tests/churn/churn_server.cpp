// SPDX-License-Identifier: Apache-2.0
// The tests' API server as a program, for churn.py where kube-apiserver is not at hand. Writes lines like those of
// Kubernetes' audit log; SIGHUP ends all connections and forgets history, as a restart does; SIGTERM ends it.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "support/api_server/api_server.hpp"

namespace {

namespace json = boost::json;
using berth::tests::SeenWrite;

/// "2026-01-02T03:04:05.678901Z"
std::string stamp(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, wall_ns % 1'000'000'000 / 1000);
}

/// The parts of a path behind its group and version: "namespaces", NS, RESOURCE, NAME, SUBRESOURCE.
std::vector<std::string> parts_of(const std::string& target) {
  std::vector<std::string> out;
  std::string part;
  std::istringstream path(target.substr(1, target.find('?') - 1));
  while (std::getline(path, part, '/')) out.push_back(part);
  const std::size_t skipped = out.empty() || out[0] == "api" ? 2 : 3;
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, out.size())));
  return out;
}

/// As audit.k8s.io/v1 has it, as far as ledger.py reads it. Empty: it does not.
std::string audit_line(const SeenWrite& write) {
  std::vector<std::string> parts = parts_of(write.target);
  json::object ref;
  if (parts.size() > 2 && parts[0] == "namespaces") {
    ref["namespace"] = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (parts.empty()) return {};
  ref["resource"] = parts[0];
  boost::system::error_code not_json;
  const json::value body = json::parse(write.body, not_json);
  if (parts.size() > 1) {
    ref["name"] = parts[1];
  } else if (const json::value* name = not_json ? nullptr : body.find_pointer("/metadata/name", not_json)) {
    ref["name"] = *name;
  }
  if (parts.size() > 2) ref["subresource"] = parts[2];
  const bool is_binding = parts.size() > 2 && parts[0] == "pods" && parts[2] == "binding";
  if (!is_binding && parts[0] != "nodes" && parts[0] != "leases") return {};
  json::object out;
  out["verb"] = write.method == "POST" ? "create" : write.method == "DELETE" ? "delete" : "update";
  json::object user, status;
  user["username"] = write.authorization.substr(write.authorization.rfind('-') + 1);  // of "Bearer token-of-NAME"
  status["code"] = write.status;
  out["user"] = std::move(user);
  out["responseStatus"] = std::move(status);
  out["objectRef"] = std::move(ref);
  if (parts[0] != "nodes" && body.is_object()) out["requestObject"] = body;
  out["requestReceivedTimestamp"] = stamp(write.received_wall_ns);
  out["stageTimestamp"] = stamp(berth::SystemClock().wall_ns());
  return json::serialize(out) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli{"A Kubernetes API server for churn.py; prints its port"};
  std::string audit_path;
  std::vector<std::string> tokens;
  cli.add_option("--audit-log", audit_path, "Where lines about bindings, leases and nodes go")->required();
  cli.add_option("--token", tokens, "Of a user, as token-of-NAME; may be repeated")->required();
  CLI11_PARSE(cli, argc, argv);
  std::ofstream audit(audit_path, std::ios::app);
  if (!audit) {
    std::cerr << audit_path << " cannot be written\n";
    return 2;
  }
  sigset_t heard;
  sigemptyset(&heard);
  for (const int number : {SIGHUP, SIGTERM, SIGINT}) sigaddset(&heard, number);
  ::pthread_sigmask(SIG_BLOCK, &heard, nullptr);  // before there are threads
  berth::tests::ApiServerOptions options;
  options.more_tokens.insert(tokens.begin(), tokens.end());
  options.on_write = [&audit](const SeenWrite& write) { audit << audit_line(write) << std::flush; };
  berth::tests::ApiServer server(options);
  std::cout << server.port() << std::endl;
  for (int number = 0; ::sigwait(&heard, &number) == 0 && number == SIGHUP;) server.restart();
  return 0;
}
