// SPDX-License-Identifier: Apache-2.0
#include "app/pages/live_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>

#include "app/pages/debug_pages.hpp"
#include "app/pages/metrics_page.hpp"
#include "app/pages/z_pages.hpp"
#include "app/plugins/plugin_library.hpp"
#include "base/product.hpp"
#include "cluster/kube/write/event_recorder.hpp"
#include "net/gzip.hpp"
#include "observe/log.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;
constexpr const char* k_json_type = "application/json";
constexpr const char* k_metrics = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* k_open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr std::size_t k_pack_from_bytes = 1024;
/// True when the caller would take gzip, which `gzip;q=0` is not.
bool takes_gzip(const serving::HttpRequest& ask) {
  std::string_view rest = ask.header("accept-encoding");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!one.starts_with("gzip")) continue;
    const std::string_view weight = one.substr(4);
    return weight.find("q=0") == std::string_view::npos || weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

/// OpenMetrics writes the bounds of buckets as le="1.0", which would be other series than those that kube-scheduler's
/// text has, le="1". So it is for callers who take nothing else; Prometheus takes both.
bool takes_open_metrics_only(const serving::HttpRequest& ask) {
  const std::string_view accept = ask.header("accept");
  const auto names = [accept](std::string_view type) { return accept.find(type) != std::string_view::npos; };
  return names("application/openmetrics-text") && !names("text/plain") && !names("text/*") && !names("*/*");
}

serving::HttpResponse metrics_reply(const serving::HttpRequest& ask, const observe::MetricPage& page,
                                    const observe::MetricFilter& filter) {
  const bool is_open = takes_open_metrics_only(ask);
  serving::HttpResponse out{
      200, is_open ? page.open_metrics(filter) : page.text(filter), is_open ? k_open_metrics : k_metrics, {}};
  if (out.body.size() >= k_pack_from_bytes && takes_gzip(ask)) {
    out.body = net::gzip(out.body);
    out.headers.emplace_back("Content-Encoding", "gzip");
  }
  return out;
}

/// Reads a verbosity, as `curl -X PUT -d 4` sends it.
serving::HttpResponse flags_v_reply(const serving::HttpRequest& ask) {
  if (ask.method != "PUT") return {406, "unsupported http method: PUT a number\n"};
  int value = 0;
  const char* const end = ask.body.data() + ask.body.size();
  const auto [stop, error] = std::from_chars(ask.body.data(), end, value);
  if (error != std::errc() || value < 0 ||
      std::any_of(stop, end, [](unsigned char c) { return std::isspace(c) == 0; })) {
    std::string reply = "error setting flags: ";
    text::append_json_string(reply, ask.body);
    return {400, reply + " is no number\n"};
  }
  observe::log_up_to(value);
  return {200, fmt::format("successfully set klog.logging.verbosity to {}\n", value)};
}

/// What kube-scheduler's /statusz lists; its other pages are not listed there either.
ZPagesParts z_parts(const LivePagesParts& parts) {
  ZPagesParts out{parts.clock};
  out.started_wall_ns = parts.started_wall_ns;
  out.compiler = k_compiler;
  out.binary_version = parts.reported_version;
  out.emulation_version = release(parts.version.emulated_minor);
  out.has_statusz = parts.gates.enabled("ComponentStatusz");
  out.has_flagz = parts.gates.enabled("ComponentFlagz");
  out.paths = {"/configz"};
  if (out.has_flagz) out.paths.emplace_back("/flagz");
  for (const char* path : {"/healthz", "/livez", "/metrics", "/readyz"}) out.paths.emplace_back(path);
  out.flags = parts.flags;
  return out;
}

observe::MetricPage sli_page(const serving::HealthRecord& record) {
  using observe::MetricKind;
  std::vector<observe::MetricSample> current, totals;
  for (const serving::HealthRecord::Entry& entry : record.entries()) {
    const std::pair<std::string, std::string> name{"name", entry.check}, type{"type", entry.endpoint};
    current.push_back({{name, type}, entry.is_good ? 1.0 : 0.0});
    if (entry.good != 0) totals.push_back({{name, {"status", "success"}, type}, static_cast<double>(entry.good)});
    if (entry.bad != 0) totals.push_back({{name, {"status", "error"}, type}, static_cast<double>(entry.bad)});
  }
  observe::MetricPage page;
  page.add(MetricKind::gauge, "kubernetes_healthcheck",
           "[STABLE] This metric records the result of a single healthcheck.", std::move(current));
  page.add(MetricKind::counter, "kubernetes_healthchecks_total",
           "[STABLE] This metric records the results of all healthcheck.", std::move(totals));
  return page;
}

Status ping() { return Unit{}; }

}  // namespace

std::vector<serving::Route> live_routes(const LivePagesParts& parts) {
  const serving::HealthCheck leader{"leaderElection", parts.lease_is_fresh};
  const bool elects = parts.configuration.leader_election.leader_elect;
  const auto shutdown = [parts] {
    return parts.is_stopping() ? Status(Error{"process is shutting down"}) : Status(Unit{});
  };
  const auto synced = [parts] {
    return parts.live.reader.is_synced() ? Status(Unit{}) : Status(Error{"waiting for handlers to sync"});
  };
  const auto readable = [parts] {
    return parts.live.reader.unplaced_pods() == 0
               ? Status(Unit{})
               : Status(Error{"pods that cannot be read may be on any node; the log names them"});
  };
  // A liveness probe is to learn of a plugin that hangs, leader or not.
  const serving::HealthCheck plugin_calls{"plugin-calls", [parts] { return parts.live.plugin_calls_return(); }};
  std::vector<serving::HealthCheck> healthz, readyz;
  healthz.push_back(elects ? leader : serving::HealthCheck{"ping", ping});
  healthz.push_back(plugin_calls);
  if (elects) readyz.push_back(leader);
  readyz.push_back({"shutdown", shutdown});
  readyz.push_back({"sched-handler-sync", synced});
  readyz.push_back({"readable-pods", readable});

  const auto record = std::make_shared<serving::HealthRecord>();
  std::vector<serving::Route> out = debug_routes(parts.live);
  for (const auto& [endpoint, checks] :
       std::initializer_list<std::pair<const char*, std::vector<serving::HealthCheck>>>{
           {"healthz", healthz}, {"livez", {{"ping", ping}, plugin_calls}}, {"readyz", readyz}})
    for (serving::Route& route : serving::health_routes(endpoint, checks, record)) out.push_back(std::move(route));
  const auto add = [&out](const char* path, serving::Handler handler) { out.push_back({path, std::move(handler)}); };
  const auto shown = std::make_shared<ShownGauges>();
  const auto scrapes = std::make_shared<std::atomic<std::uint64_t>>(0);
  add("/metrics", [parts, scrapes, shown](const serving::HttpRequest& ask) -> serving::HttpResponse {
    if (ask.method == "DELETE") {
      // What gate, reviews and API client count. What counts the calls of plugins and the work of the queue is written
      // without locks, so it cannot be reset.
      if (parts.clear_metrics) parts.clear_metrics();
      return {200, "metrics reset\n"};
    }
    observe::MetricPage page = metrics_page(parts, *shown);
    page.add(observe::MetricKind::counter, "promhttp_metric_handler_requests_total",
             "Total number of scrapes by HTTP status code.",
             {{{{"code", "200"}}, static_cast<double>(scrapes->fetch_add(1))},
              {{{"code", "500"}}, 0},
              {{{"code", "503"}}, 0}});
    return metrics_reply(ask, page, parts.metric_filter);
  });
  add("/metrics/resources", [parts](const serving::HttpRequest& ask) -> serving::HttpResponse {
    return metrics_reply(ask, resource_metrics_page(parts), parts.metric_filter);
  });
  add("/metrics/slis", [record](const serving::HttpRequest& ask) -> serving::HttpResponse {
    if (ask.method != "DELETE") return metrics_reply(ask, sli_page(*record), {});
    record->clear();
    return {200, "metrics reset\n"};
  });
  add("/configz", [parts](const serving::HttpRequest&) -> serving::HttpResponse {
    return {200, "{\"componentconfig\":" + parts.config_json + "}", k_json_type};
  });
  add("/version", [parts](const serving::HttpRequest&) -> serving::HttpResponse {
    JsonObject version;
    version.text("product", product())
        .text("gitVersion", parts.reported_version)
        .text("major", "1")
        .text("minor", k_upstream_minor);
    return {200, version.done(), k_json_type};
  });
  for (serving::Route& route : z_routes(z_parts(parts))) out.push_back(std::move(route));
  if (parts.configuration.enable_profiling) {
    add("/debug/flags/v", flags_v_reply);
    for (const char* path : {"/debug/flags", "/debug/flags/"})
      add(path, [](const serving::HttpRequest&) -> serving::HttpResponse {
        return {200, "v: PUT a number to /debug/flags/v\n"};
      });
  }
  return out;
}

}  // namespace berth::app
