// SPDX-License-Identifier: Apache-2.0
#include "app/live_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "app/debug_pages.hpp"
#include "app/live_metrics.hpp"
#include "app/log_format.hpp"
#include "app/plugin_library.hpp"
#include "cluster/kube/event_recorder.hpp"
#include "cluster/kube/json_object.hpp"

namespace berth::app {
namespace {

using cluster::kube::JsonObject;
constexpr const char* k_json = "application/json";
constexpr const char* k_metrics = "text/plain; version=0.0.4; charset=utf-8";

/// Reads a verbosity, as `curl -X PUT -d 4` sends it.
serving::Reply flags_v_reply(const serving::Ask& ask) {
  if (ask.method != "PUT") return {405, "unsupported http method: PUT a number\n"};
  int value = 0;
  const char* const end = ask.body.data() + ask.body.size();
  const auto [stop, error] = std::from_chars(ask.body.data(), end, value);
  if (error != std::errc() || std::any_of(stop, end, [](unsigned char c) { return std::isspace(c) == 0; }))
    return {400, fmt::format("error setting flags: \"{}\" is no number\n", ask.body)};
  log_up_to(value);
  return {200, fmt::format("successfully set klog.logging.verbosity to {}\n", value)};
}

/// What a z-page may be answered with: text unless something else is asked for, and then only what was named.
enum class ZForm { text, json, neither };
ZForm z_form(const serving::Ask& ask, std::string_view kind) {
  const std::string_view accept = ask.header("accept");
  if (accept.empty() || accept.find("*/*") != std::string_view::npos ||
      accept.find("text/plain") != std::string_view::npos)
    return ZForm::text;
  const bool is_named = accept.find("application/json") != std::string_view::npos &&
                        accept.find("g=config.k8s.io") != std::string_view::npos &&
                        accept.find(fmt::format("as={}", kind)) != std::string_view::npos;
  return is_named ? ZForm::json : ZForm::neither;
}

constexpr const char* k_z_warning =
    "\nkube-scheduler {}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only.\n\n";

serving::Reply flagz_reply(const LivePagesParts& parts, const serving::Ask& ask) {
  const ZForm form = z_form(ask, "Flagz");
  if (form == ZForm::neither) return {406, "not acceptable\n"};
  if (form == ZForm::text) {
    std::string out = fmt::format(fmt::runtime(k_z_warning), "flagz");
    for (const auto& [name, value] : parts.flags) out += fmt::format("{}={}\n", name, value);
    return {200, out};
  }
  JsonObject flags, metadata, out;
  for (const auto& [name, value] : parts.flags) flags.text(name, value);
  out.text("kind", "Flagz").text("apiVersion", "config.k8s.io/v1beta1");
  out.json("metadata", metadata.text("name", "kube-scheduler").done()).json("flags", flags.done());
  return {200, out.done(), k_json};
}

serving::Reply statusz_reply(const LivePagesParts& parts, const serving::Ask& ask, std::int64_t now_ns) {
  const ZForm form = z_form(ask, "Statusz");
  if (form == ZForm::neither) return {406, "not acceptable\n"};
  const std::string started = cluster::kube::second_time(parts.started_wall_ns);
  const std::int64_t up_s = (now_ns - parts.started_wall_ns) / 1'000'000'000;
  if (form == ZForm::text)
    return {200,
            fmt::format(fmt::runtime(k_z_warning), "statusz") +
                fmt::format("Started: {}\nUp: {}h {:02}m {:02}s\nBinary version: {}\nEmulation version: 1.36\n"
                            "Product: {}\nPaths: /configz /debug/ /flagz /healthz /livez /metrics /readyz /statusz "
                            "/version\n",
                            started, up_s / 3600, up_s / 60 % 60, up_s % 60, parts.reported_version, k_product)};
  JsonObject metadata, out;
  out.text("kind", "Statusz").text("apiVersion", "config.k8s.io/v1beta1");
  out.json("metadata", metadata.text("name", "kube-scheduler").done()).text("startTime", started);
  out.number("uptimeSeconds", up_s).text("binaryVersion", parts.reported_version).text("emulationVersion", "1.36");
  return {200,
          out.json("paths", R"(["/configz","/debug/","/flagz","/healthz","/livez","/metrics","/readyz","/statusz"])")
              .done(),
          k_json};
}

std::string sli_text(const serving::HealthRecord& record) {
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
  return page.text();
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
    return parts.host.reader().is_synced() ? Status(Unit{}) : Status(Error{"waiting for handlers to sync"});
  };
  std::vector<serving::HealthCheck> healthz, readyz;
  healthz.push_back(elects ? leader : serving::HealthCheck{"ping", ping});
  if (elects) readyz.push_back(leader);
  readyz.push_back({"shutdown", shutdown});
  readyz.push_back({"sched-handler-sync", synced});

  const auto record = std::make_shared<serving::HealthRecord>();
  std::vector<serving::Route> out = debug_routes(parts.host);
  for (const auto& [endpoint, checks] :
       std::initializer_list<std::pair<const char*, std::vector<serving::HealthCheck>>>{
           {"healthz", healthz}, {"livez", {{"ping", ping}}}, {"readyz", readyz}})
    for (serving::Route& route : serving::health_routes(endpoint, checks, record)) out.push_back(std::move(route));
  const auto add = [&out](const char* path, serving::Handler handler) { out.push_back({path, std::move(handler)}); };
  add("/metrics", [parts](const serving::Ask& ask) -> serving::Reply {
    if (ask.method == "DELETE") return {405, "metrics are not reset: what counts calls is never written by readers\n"};
    return {200, metrics_text(parts), k_metrics};
  });
  add("/metrics/resources", [parts](const serving::Ask&) -> serving::Reply {
    return {200, resource_metrics_text(parts), k_metrics};
  });
  add("/metrics/slis", [record](const serving::Ask& ask) -> serving::Reply {
    if (ask.method != "DELETE") return {200, sli_text(*record), k_metrics};
    record->clear();
    return {200, "metrics reset\n"};
  });
  add("/configz", [parts](const serving::Ask&) -> serving::Reply {
    return {200, "{\"componentconfig\":" + parts.config_json + "}", k_json};
  });
  add("/version", [parts](const serving::Ask&) -> serving::Reply {
    JsonObject version;
    version.text("product", k_product)
        .text("gitVersion", parts.reported_version)
        .text("major", "1")
        .text("minor", "36");
    return {200, version.done(), k_json};
  });
  add("/flagz", [parts](const serving::Ask& ask) { return flagz_reply(parts, ask); });
  add("/statusz", [parts](const serving::Ask& ask) { return statusz_reply(parts, ask, parts.clock.wall_ns()); });
  if (parts.configuration.enable_profiling) {
    add("/debug/flags/v", flags_v_reply);
    add("/debug/flags/", [](const serving::Ask&) -> serving::Reply {
      return {200, "v: PUT a number to /debug/flags/v\n"};
    });
  }
  return out;
}

}  // namespace berth::app
