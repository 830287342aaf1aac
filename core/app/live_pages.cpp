// SPDX-License-Identifier: Apache-2.0
#include "app/live_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include "app/plugin_library.hpp"
#include "cluster/kube/event_recorder.hpp"
#include "cluster/kube/json_object.hpp"

namespace berth::app {
namespace {

using cluster::kube::JsonObject;
constexpr const char* k_json = "application/json";
constexpr const char* k_metrics = "text/plain; version=0.0.4; charset=utf-8";

std::string_view place_name(queue::Place place) {
  switch (place) {
    case queue::Place::active:
      return "active";
    case queue::Place::backoff:
      return "backoff";
    case queue::Place::error_backoff:
      return "error backoff";
    case queue::Place::unschedulable:
      return "unschedulable";
    case queue::Place::in_flight:
      return "in flight";
    case queue::Place::nowhere:
      break;
  }
  return "nowhere";
}

void family(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void sample(std::string& out, std::string_view name, std::string_view labels, std::uint64_t value) {
  out += labels.empty() ? fmt::format("{} {}\n", name, value) : fmt::format("{}{{{}}} {}\n", name, labels, value);
}

std::string names_of(const framework::Framework& framework, const model::PluginSet& plugins) {
  std::string out = "[";
  plugins.for_each([&](model::PluginIndex plugin) {
    if (out.size() > 1) out += ',';
    text::append_json_string(out, framework.names().name(plugin));
  });
  return out + "]";
}

std::string pod_json(const LiveHost& host, const queue::PendingPod& pending) {
  const framework::Framework& framework = host.scheduler().framework();
  const model::PodPtr now = host.reader().find_pod(pending.pod->ns, pending.pod->name);
  JsonObject out;
  out.text("namespace", pending.pod->ns).text("name", pending.pod->name).text("uid", pending.pod->uid);
  out.text("scheduler", pending.pod->scheduler_name)
      .text("place", pending.gated() ? "gated" : place_name(pending.place));
  out.number("priority", pending.pod->priority).number("attempts", pending.attempts);
  out.text("since", cluster::kube::second_time(pending.enqueued_ns));
  if (pending.backoff_until_ns != 0) out.text("nextTry", cluster::kube::second_time(pending.backoff_until_ns));
  out.json("rejectedBy", names_of(framework, pending.unschedulable_plugins));
  out.json("waitsFor", names_of(framework, pending.pending_plugins));
  if (pending.gated()) out.text("gate", framework.names().name(pending.gate)).text("gateMessage", pending.gate_message);
  for (const model::PodCondition& condition : (now ? now : pending.pod)->conditions)
    if (condition.type == "PodScheduled") out.text("reason", condition.reason).text("message", condition.message);
  return out.done();
}

serving::Reply pod_reply(const LiveHost& host, const serving::Ask& ask) {
  constexpr std::string_view k_prefix = "/debug/pods/";
  const std::string_view rest = std::string_view(ask.path).substr(k_prefix.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return {404, "/debug/pods/NAMESPACE/NAME\n"};
  const std::string_view ns = rest.substr(0, slash), name = rest.substr(slash + 1);
  if (const std::optional<std::string> page = pod_page(host, ns, name)) return {200, *page + "\n", k_json};
  const model::PodPtr pod = host.reader().find_pod(ns, name);
  if (pod == nullptr) return {404, fmt::format("there is no pod {}/{}\n", ns, name)};
  if (pod->node_name == k_no_symbol) return {404, fmt::format("pod {}/{} is not berth's to schedule\n", ns, name)};
  JsonObject out;
  out.text("namespace", ns).text("name", name).text("place", "bound").text("node", host.symbols().text(pod->node_name));
  return {200, out.done() + "\n", k_json};
}

std::string queue_page(const LiveHost& host) {
  std::string out = "[";
  for (const queue::PendingPod& pending : host.scheduler().queue().pending_pods())
    out += (out.size() > 1 ? ",\n" : "") + pod_json(host, pending);
  return out + "]\n";
}

std::string cache_page(const LiveHost& host) {
  std::string resources;
  for (const auto& progress : host.reader().progress()) {
    JsonObject entry;
    entry.text("resource", progress.resource).number("objects", static_cast<std::int64_t>(progress.objects));
    entry.json("inSync", progress.is_synced ? "true" : "false");
    entry.number("snapshots", static_cast<std::int64_t>(progress.counts.snapshots));
    entry.number("watches", static_cast<std::int64_t>(progress.counts.watches));
    entry.number("events", static_cast<std::int64_t>(progress.counts.events));
    entry.number("failures", static_cast<std::int64_t>(progress.counts.failures));
    resources += (resources.empty() ? "" : ",") + entry.done();
  }
  return "{\"resources\":[" + resources + "]}\n";
}

Status ping() { return Unit{}; }

}  // namespace

std::optional<std::string> pod_page(const LiveHost& host, std::string_view ns, std::string_view name) {
  for (const queue::PendingPod& pending : host.scheduler().queue().pending_pods())
    if (pending.pod->ns == ns && pending.pod->name == name) return pod_json(host, pending);
  return std::nullopt;
}

std::string metrics_text(const LivePagesParts& parts) {
  const Scheduler& scheduler = parts.host.scheduler();
  std::string out = scheduler.metrics().render();
  const queue::QueueSizes sizes = scheduler.queue().sizes();
  family(out, "scheduler_pending_pods", "gauge", "Number of pending pods, by the queue type.");
  sample(out, "scheduler_pending_pods", "queue=\"active\"", sizes.active);
  sample(out, "scheduler_pending_pods", "queue=\"backoff\"", sizes.backoff);
  sample(out, "scheduler_pending_pods", "queue=\"gated\"", sizes.gated);
  sample(out, "scheduler_pending_pods", "queue=\"unschedulable\"", sizes.unschedulable);
  family(out, "scheduler_queue_incoming_pods_total", "counter",
         "Number of pods added to scheduling queues by event and queue type.");
  for (const queue::IncomingCount& count : scheduler.queue().counts().incoming) {
    const auto one = [&](const char* queue, std::uint64_t value) {
      sample(out, "scheduler_queue_incoming_pods_total", fmt::format("event=\"{}\",queue=\"{}\"", count.label, queue),
             value);
    };
    one("active", count.active);
    one("backoff", count.backoff);
    one("unschedulable", count.unschedulable);
  }
  family(out, "scheduler_schedule_attempts_total", "counter", "Number of attempts to schedule pods, by the result.");
  for (const config::Profile& profile : parts.configuration.profiles) {
    const auto one = [&](const char* result, binding::AttemptResult which) {
      sample(out, "scheduler_schedule_attempts_total",
             fmt::format("profile=\"{}\",result=\"{}\"", profile.scheduler_name, result),
             scheduler.attempts().count(profile.scheduler_name, which));
    };
    one("scheduled", binding::AttemptResult::scheduled);
    one("unschedulable", binding::AttemptResult::unschedulable);
    one("error", binding::AttemptResult::error);
  }
  if (parts.configuration.leader_election.leader_elect) {
    family(out, "leader_election_master_status", "gauge",
           "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.");
    sample(out, "leader_election_master_status",
           fmt::format("name=\"{}\"", parts.configuration.leader_election.resource_name), parts.is_leading() ? 1 : 0);
  }
  const binding::BindingCounts bindings = scheduler.bindings().counts();
  family(out, "berth_open_bindings", "gauge", "Pods that are on their way to a node.");
  sample(out, "berth_open_bindings", "", bindings.open);
  family(out, "berth_bindings_total", "counter", "Binding cycles that came to an end, by result.");
  sample(out, "berth_bindings_total", "result=\"bound\"", bindings.bound);
  sample(out, "berth_bindings_total", "result=\"failed\"", bindings.failed);
  family(out, "berth_watch_events_total", "counter", "Watch events received, by resource.");
  for (const auto& progress : parts.host.reader().progress())
    sample(out, "berth_watch_events_total", fmt::format("resource=\"{}\"", progress.resource), progress.counts.events);
  return out;
}

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

  std::vector<serving::Route> out;
  for (const auto& [endpoint, checks] :
       std::initializer_list<std::pair<const char*, std::vector<serving::HealthCheck>>>{
           {"healthz", healthz}, {"livez", {{"ping", ping}}}, {"readyz", readyz}})
    for (serving::Route& route : serving::health_routes(endpoint, checks)) out.push_back(std::move(route));
  out.push_back({"/metrics", [parts](const serving::Ask&) {
                   return serving::Reply{200, metrics_text(parts), k_metrics};
                 }});
  out.push_back({"/configz", [parts](const serving::Ask&) {
                   return serving::Reply{200, "{\"componentconfig\":" + parts.config_json + "}", k_json};
                 }});
  out.push_back(
      {"/version", [](const serving::Ask&) {
         JsonObject version;
         version.text("product", k_product).text("gitVersion", "v1.36.2").text("major", "1").text("minor", "36");
         return serving::Reply{200, version.done(), k_json};
       }});
  out.push_back({"/debug/queue", [parts](const serving::Ask&) {
                   return serving::Reply{200, queue_page(parts.host), k_json};
                 }});
  out.push_back({"/debug/cache", [parts](const serving::Ask&) {
                   return serving::Reply{200, cache_page(parts.host), k_json};
                 }});
  out.push_back({"/debug/pods/", [parts](const serving::Ask& ask) { return pod_reply(parts.host, ask); }});
  return out;
}

}  // namespace berth::app
