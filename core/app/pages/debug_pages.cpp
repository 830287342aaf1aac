// SPDX-License-Identifier: Apache-2.0
#include "app/pages/debug_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include <map>

#include "cluster/kube/write/event_recorder.hpp"
#include "isolation/isolated_state.hpp"
#include "report/text_table.hpp"
#include "scheduler/wake_events.hpp"
#include "text/json_object.hpp"

namespace berth::app {
namespace {

using text::JsonObject;
using text::list_json;
constexpr const char* k_json = "application/json";
constexpr std::size_t k_examples_max = 5;
constexpr std::size_t k_details_max = 1000;  // distinct texts in a group

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

std::string_view step_name(binding::BindStep step) {
  switch (step) {
    case binding::BindStep::checks:
      return "checks";
    case binding::BindStep::permit_wait:
      return "waits for permit";
    case binding::BindStep::pre_bind:
      return "pre-bind";
    case binding::BindStep::group_wait:
      return "waits for its group";
    case binding::BindStep::bind:
      return "bind";
    case binding::BindStep::post_bind:
      return "post-bind";
    case binding::BindStep::ended:
      break;
  }
  return "ended";
}

std::string objects_json(const std::vector<std::string>& objects, std::string_view between = ",") {
  return fmt::format("[{}]", fmt::join(objects, between));
}

std::vector<std::string> names_of(const framework::Framework& framework, const model::PluginSet& plugins) {
  std::vector<std::string> out;
  plugins.for_each([&](model::PluginIndex plugin) { out.emplace_back(framework.names().name(plugin)); });
  return out;
}

JsonObject pending_json(const LiveViews& live, const queue::PendingPod& pending) {
  const framework::Framework& framework = live.framework;
  const queue::QueueView& view = live.queue;
  const model::PodPtr now = live.reader.find_pod(pending.pod->ns, pending.pod->name);
  JsonObject out;
  out.text("namespace", pending.pod->ns).text("name", pending.pod->name).text("uid", pending.pod->uid.text());
  out.text("scheduler", pending.pod->scheduler_name)
      .text("place", pending.gated() ? "gated" : place_name(pending.place));
  out.number("priority", pending.pod->priority).number("attempts", pending.attempts);
  out.text("since", cluster::kube::second_time(pending.enqueued_ns));
  if (pending.backoff_until_ns != 0) out.text("nextTry", cluster::kube::second_time(pending.backoff_until_ns));
  out.json("rejectedBy", list_json(names_of(framework, pending.unschedulable_plugins)));
  out.json("waitsFor", list_json(names_of(framework, pending.pending_plugins)));
  if (pending.place == queue::Place::unschedulable) {
    model::PluginSet rejectors = pending.unschedulable_plugins;
    pending.pending_plugins.for_each([&](model::PluginIndex plugin) { rejectors.insert(plugin); });
    out.json("wokenBy", list_json(scheduler::wake_events(view, live.objects, pending.pod->scheduler_name, rejectors)));
    if (!pending.gated())
      out.text("triedAgainBy", cluster::kube::second_time(pending.enqueued_ns + view.leftover_limit_ns()));
  }
  if (pending.gated()) out.text("gate", framework.names().name(pending.gate)).text("gateMessage", pending.gate_message);
  const model::Pod& pod = now ? *now : *pending.pod;
  if (pod.nominated_node != k_no_symbol) out.text("nominatedNode", live.symbols.text(pod.nominated_node));
  for (const model::PodCondition& condition : pod.conditions)
    if (condition.type == "PodScheduled") out.text("reason", condition.reason).text("message", condition.message);
  return out;
}

/// Nodes that say the same, counted.
std::string verdicts_json(const cycle::Explanation& explanation) {
  struct Group {
    std::size_t nodes = 0;
    std::vector<std::string> examples;
    std::map<std::string, std::uint64_t> details;
  };
  std::map<std::tuple<std::string, framework::Code, std::vector<std::string>>, Group> groups;
  for (const cycle::NodeExplanation& node : explanation.nodes) {
    if (node.code == framework::Code::success) continue;
    Group& group = groups[{node.plugin, node.code, node.reasons}];
    if (++group.nodes <= k_examples_max) group.examples.push_back(node.node);
    for (const cycle::ExplanationDetail& detail : node.details)
      if (group.details.size() < k_details_max || group.details.contains(detail.text))
        group.details[detail.text] += detail.count;
  }
  std::vector<std::string> out;
  for (const auto& [what, group] : groups) {
    JsonObject entry;
    entry.text("plugin", std::get<0>(what)).text("code", framework::code_name(std::get<1>(what)));
    entry.json("reasons", list_json(std::get<2>(what))).number("nodes", group.nodes);
    entry.json("examples", list_json(group.examples));
    JsonObject details;
    for (const auto& [text, count] : group.details) details.number(text, count);
    if (!details.empty()) entry.json("details", details.done());
    out.push_back(entry.done());
  }
  return objects_json(out);
}

/// How the processes of isolated plugins fare, an object for each profile.
std::map<std::string, std::vector<std::string>> isolated_by_name(const framework::Framework& framework) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& profile : framework.profiles())
    for (const auto& plugin : profile->instances)
      if (const auto state = isolation::isolated_state(*plugin)) {
        JsonObject process;
        process.text("profile", profile->scheduler_name).json("up", state->is_up ? "true" : "false");
        if (state->is_up) process.number("process", state->process);
        process.number("failures", state->failures).number("restarts", state->restarts);
        if (!state->failure.empty()) process.text("lastFailure", state->failure);
        out[plugin->name()].push_back(process.done());
      }
  return out;
}

/// Of all profiles together, the longest first.
std::string plugins_page(const LiveViews& live) {
  struct Calls {
    std::uint64_t calls = 0;
    double seconds = 0;
    JsonObject points;
  };
  std::map<std::string, Calls> by_name;
  for (const observe::CallTotal& total : live.counters.totals()) {
    Calls& calls = by_name[total.plugin];
    calls.calls += total.calls;
    calls.seconds += total.seconds;
    JsonObject point;
    point.number("calls", total.calls);
    point.number("tookNs", static_cast<std::int64_t>(total.seconds * 1e9));
    calls.points.json(total.point, point.done());
  }
  const std::map<std::string, std::vector<std::string>> isolated = isolated_by_name(live.framework);
  std::vector<std::pair<double, std::string>> lines;
  for (auto& [name, calls] : by_name) {
    JsonObject out;
    out.text("name", name).number("calls", calls.calls);
    out.number("tookNs", static_cast<std::int64_t>(calls.seconds * 1e9)).json("points", calls.points.done());
    if (const auto processes = isolated.find(name); processes != isolated.end())
      out.json("processes", objects_json(processes->second));
    lines.emplace_back(calls.seconds, out.done());
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (auto& [seconds, line] : lines) out.push_back(std::move(line));
  return objects_json(out, ",\n");
}

std::string nodes_json(const cycle::Explanation& explanation) {
  std::vector<std::string> out;
  for (const cycle::NodeExplanation& node : explanation.nodes) {
    JsonObject entry;
    entry.text("node", node.node);
    if (node.code == framework::Code::success) {
      JsonObject scores;
      for (std::size_t i = 0; i < node.scores.size(); ++i) scores.number(explanation.scorers[i], node.scores[i]);
      entry.number("score", node.total).json("scores", scores.done());
    } else {
      entry.text("plugin", node.plugin).text("code", framework::code_name(node.code));
      entry.json("reasons", list_json(node.reasons));
    }
    out.push_back(entry.done());
  }
  return objects_json(out, ",\n");
}

void add_verdicts(JsonObject& out, const cycle::Explanation& explanation, bool every_node) {
  JsonObject now;
  if (explanation.pod_rejection) {
    now.text("plugin", explanation.pod_rejection->plugin);
    now.text("code", framework::code_name(explanation.pod_rejection->code));
    now.json("reasons", list_json(explanation.pod_rejection->reasons));
  } else {
    std::vector<std::string> feasible;
    for (const cycle::NodeExplanation& node : explanation.nodes)
      if (node.code == framework::Code::success) feasible.push_back(node.node);
    now.number("judged", explanation.nodes.size());
    now.number("feasible", feasible.size());
    if (feasible.size() > k_examples_max) feasible.resize(k_examples_max);
    now.json("feasibleExamples", list_json(feasible)).json("rejections", verdicts_json(explanation));
    if (every_node) now.json("nodes", nodes_json(explanation));
  }
  if (!explanation.error.empty()) now.text("error", explanation.error);
  out.json("now", now.done());
}

std::optional<std::string> binding_page(const LiveViews& live, std::string_view ns, std::string_view name) {
  for (const binding::OpenBinding& open : live.bindings.open_bindings()) {
    if (open.pod->ns != ns || open.pod->name != name) continue;
    JsonObject out;
    out.text("namespace", ns).text("name", name).text("place", "binding").text("step", step_name(open.step));
    return out.text("node", live.symbols.text(open.node_name)).done();
  }
  return std::nullopt;
}

serving::HttpResponse pod_reply(const LiveViews& live, const serving::HttpRequest& ask) {
  constexpr std::string_view k_prefix = "/debug/pods/";
  const std::string_view rest = std::string_view(ask.path).substr(k_prefix.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return {404, "/debug/pods/NAMESPACE/NAME\n"};
  const std::string_view ns = rest.substr(0, slash), name = rest.substr(slash + 1);
  if (const std::optional<std::string> page = binding_page(live, ns, name)) return {200, *page + "\n", k_json};
  if (const std::optional<std::string> page = pod_page(live, ns, name, ask.has("verbose")))
    return {200, *page + "\n", k_json};
  const model::PodPtr pod = live.reader.find_pod(ns, name);
  // The caller may have written anything.
  const std::string key = report::terminal_text(fmt::format("{}/{}", ns, name));
  if (pod == nullptr) return {404, fmt::format("there is no pod {}\n", key)};
  if (pod->node_name == k_no_symbol) return {404, fmt::format("pod {} is not berth's to schedule\n", key)};
  JsonObject out;
  out.text("namespace", ns).text("name", name).text("place", "bound").text("node", live.symbols.text(pod->node_name));
  return {200, out.done() + "\n", k_json};
}

/// A page that a plugin offers.
serving::HttpResponse plugin_reply(const LiveViews& live, std::string_view name) {
  const Result<std::string> page = live.plugin_pages.render(name);
  if (!page.ok()) return {500, page.error().message + "\n"};
  return {200, *page + "\n", k_json};
}

std::string queue_page(const LiveViews& live) {
  std::vector<std::string> pods;
  for (const queue::PendingPod& pending : live.queue.pending_pods()) pods.push_back(pending_json(live, pending).done());
  return objects_json(pods, ",\n") + "\n";
}

/// Of a row's amounts, those that the node offers.
std::string amounts_json(const LiveViews& live, const model::Node& node, const std::vector<std::int64_t>& amounts) {
  JsonObject out;
  for (const model::ResourceAmount& offered : node.allocatable) {
    const cache::ResourceIndex index = live.resources.find(offered.name);
    if (index < amounts.size() && amounts[index] != 0) out.number(live.symbols.text(offered.name), amounts[index]);
  }
  return out.done();
}

/// One object per node of the snapshot, in its order.
std::vector<std::string> node_lines(const LiveViews& live) {
  std::vector<std::string> out;
  live.inspect([&](const cache::Snapshot& snapshot) {
    for (const cache::Slot slot : snapshot.order()) {
      const cache::NodeRow& row = snapshot.row(slot);
      JsonObject node;
      node.text("node", row.node->name).number("pods", row.pods.size());
      node.number("allowedPods", row.allowed_pods).json("requested", amounts_json(live, *row.node, row.requested));
      out.push_back(node.json("allocatable", amounts_json(live, *row.node, row.allocatable)).done());
    }
  });
  return out;
}

std::string cache_page(const LiveViews& live) {
  std::vector<std::string> resources;
  for (const auto& progress : live.reader.progress()) {
    JsonObject entry;
    entry.text("resource", progress.resource).number("objects", progress.objects);
    entry.json("inSync", progress.is_synced ? "true" : "false");
    entry.number("snapshots", progress.counts.snapshots);
    entry.number("watches", progress.counts.watches);
    entry.number("events", progress.counts.events);
    entry.number("failures", progress.counts.failures);
    resources.push_back(entry.done());
  }
  const cache::CacheCounts counts = live.cache.counts();
  JsonObject sizes, out;
  sizes.number("nodes", counts.nodes).number("pods", counts.pods);
  sizes.number("assumedPods", counts.assumed_pods);
  out.json("resources", objects_json(resources, ",\n")).json("counts", sizes.done());
  return out.json("nodes", objects_json(node_lines(live), ",\n")).done() + "\n";
}

/// Pods that one side has on another node than the other, or not at all: what the watches told, and the cache.
std::vector<std::string> disagreements(const LiveViews& live) {
  std::vector<std::string> out;
  const cache::ClusterCache& cache = live.cache;
  std::size_t bound = 0;
  for (const model::PodPtr& pod : live.reader.pods()) {
    if (pod->node_name == k_no_symbol) continue;
    ++bound;
    const auto cached = cache.find_pod(pod->uid);
    if (!cached || cached->node != pod->node_name)
      out.push_back(fmt::format("cache: pod {}/{} is on {}, and in the cache {}", pod->ns, pod->name,
                                live.symbols.text(pod->node_name),
                                cached ? "on " + std::string(live.symbols.text(cached->node)) : "nowhere"));
  }
  const cache::CacheCounts counts = cache.counts();
  if (counts.pods != bound + counts.assumed_pods)
    out.push_back(fmt::format("cache: {} pods of which {} are assumed, and {} bound pods are known", counts.pods,
                              counts.assumed_pods, bound));
  return out;
}

}  // namespace

std::optional<std::string> pod_page(const LiveViews& live, std::string_view ns, std::string_view name,
                                    bool every_node) {
  for (const queue::PendingPod& pending : live.queue.pending_pods()) {
    if (pending.pod->ns != ns || pending.pod->name != name) continue;
    JsonObject out = pending_json(live, pending);
    if (!pending.gated()) add_verdicts(out, live.explain(pending.pod), every_node);
    return out.done();
  }
  return std::nullopt;
}

void dump(const LiveViews& live, const std::function<void(const std::string& line)>& write) {
  for (const model::NominatedPod& nominated : live.queue.nominations())
    write(fmt::format("nominated: {}/{} to {}", nominated.pod->ns, nominated.pod->name,
                      live.symbols.text(nominated.node)));
  for (const queue::PendingPod& pending : live.queue.pending_pods())
    write("queue: " + pending_json(live, pending).done());
  for (const std::string& line : disagreements(live)) write(line);
  if (const std::int64_t age_ns = live.cycle_age_ns(); age_ns != 0)
    write(fmt::format("cycle: one has been running for {} ms; the nodes are shown when it ends", age_ns / 1'000'000));
  for (const std::string& node : node_lines(live)) write("cache: " + node);
}

std::vector<serving::Route> debug_routes(const LiveViews& live) {
  std::vector<serving::Route> routes = {
      {"/debug/queue",
       [live](const serving::HttpRequest&) {
         return serving::HttpResponse{200, queue_page(live), k_json};
       }},
      {"/debug/cache",
       [live](const serving::HttpRequest&) {
         return serving::HttpResponse{200, cache_page(live), k_json};
       }},
      {"/debug/plugins",
       [live](const serving::HttpRequest&) {
         return serving::HttpResponse{200, plugins_page(live), k_json};
       }},
      {"/debug/pods/", [live](const serving::HttpRequest& ask) { return pod_reply(live, ask); }}};
  for (const std::string& name : live.plugin_pages.names())
    routes.push_back(
        {"/debug/" + name, [live, name](const serving::HttpRequest&) { return plugin_reply(live, name); }});
  return routes;
}

}  // namespace berth::app
