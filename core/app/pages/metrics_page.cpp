// SPDX-License-Identifier: Apache-2.0
#include "app/pages/metrics_page.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "app/pages/explained_metrics.hpp"
#include "app/pages/shadow_metrics.hpp"
#include "app/pages/table_metrics.hpp"
#include "app/plugins/plugin_library.hpp"
#include "base/guarded.hpp"
#include "base/product.hpp"
#include "isolation/isolated_state.hpp"
#include "net/io_threads.hpp"
#include "observe/log_writer.hpp"

namespace berth::app {
namespace {

using observe::HistogramSample;
using observe::MetricKind;
using observe::MetricPage;
using observe::MetricSample;

struct PointLabel {
  const char* point;  // observe::point_name
  const char* label;  // upstream's extension_point
};
constexpr std::array k_point_labels = std::to_array<PointLabel>({{"pre_enqueue", "PreEnqueue"},
                                                                 {"pre_filter", "PreFilter"},
                                                                 {"add_pod", "PreFilterExtensionAddPod"},
                                                                 {"remove_pod", "PreFilterExtensionRemovePod"},
                                                                 {"filter", "Filter"},
                                                                 {"post_filter", "PostFilter"},
                                                                 {"pre_score", "PreScore"},
                                                                 {"score", "Score"},
                                                                 {"normalize_score", "ScoreExtensionNormalize"},
                                                                 {"reserve", "Reserve"},
                                                                 {"unreserve", "Unreserve"},
                                                                 {"permit", "Permit"},
                                                                 {"pre_bind_check", "PreBindPreFlight"},
                                                                 {"pre_bind", "PreBind"},
                                                                 {"bind", "Bind"},
                                                                 {"post_bind", "PostBind"}});

const char* extension_point(std::string_view point) {
  for (const PointLabel& known : k_point_labels)
    if (point == known.point) return known.label;
  return nullptr;
}

std::string status_label(std::uint8_t outcome) {
  // The last cell holds whatever has a larger number: calls that are answered later.
  const auto code = outcome < 7 ? static_cast<framework::Code>(outcome) : framework::Code::async;
  return std::string(framework::code_name(code));
}

void add_durations(MetricPage& page, const observe::CallCounters& counters) {
  std::vector<HistogramSample> runs;
  std::map<std::array<std::string, 3>, HistogramSample> calls;  // plugin, point, status: profiles together
  std::map<std::array<std::string, 3>, double> evaluations;     // plugin, point, profile
  for (observe::CallOutcome& outcome : counters.outcomes()) {
    const char* const point = extension_point(outcome.point);
    if (point == nullptr) continue;
    const std::string status = status_label(outcome.outcome);
    if (outcome.family == observe::CallFamily::point_run) {
      runs.push_back({{{"extension_point", point}, {"profile", outcome.profile}, {"status", status}},
                      std::move(outcome.buckets),
                      outcome.seconds});
      continue;
    }
    HistogramSample& sample = calls[{outcome.plugin, point, status}];
    sample.labels = {{"extension_point", point}, {"plugin", outcome.plugin}, {"status", status}};
    sample.counts.resize(outcome.buckets.size());
    for (std::size_t i = 0; i < outcome.buckets.size(); ++i) sample.counts[i] += outcome.buckets[i];
    sample.sum += outcome.seconds;
    const bool counts = outcome.point == "pre_filter" || outcome.point == "filter" || outcome.point == "pre_score" ||
                        outcome.point == "score";
    if (counts && status != "Skip")
      evaluations[{outcome.plugin, point, outcome.profile}] += static_cast<double>(outcome.calls);
  }
  page.add_histogram("scheduler_framework_extension_point_duration_seconds",
                     "[STABLE] Latency for running all plugins of a specific extension point.",
                     observe::CallCounters::bounds_s(observe::CallFamily::point_run), std::move(runs));
  std::vector<HistogramSample> per_plugin;
  for (auto& [key, sample] : calls) per_plugin.push_back(std::move(sample));
  page.add_histogram("scheduler_plugin_execution_duration_seconds",
                     "[ALPHA] Duration for running a plugin at a specific extension point, every call.",
                     observe::CallCounters::bounds_s(observe::CallFamily::plugin_call), std::move(per_plugin));
  std::vector<MetricSample> counted;
  for (const auto& [key, value] : evaluations)
    counted.push_back({{{"extension_point", key[1]}, {"plugin", key[0]}, {"profile", key[2]}}, value});
  page.add(MetricKind::counter, "scheduler_plugin_evaluation_total",
           "[BETA] Number of attempts to schedule pods by each plugin and the extension point (available only in "
           "PreFilter, Filter, PreScore, and Score). A call of Filter or Score judges many nodes and counts once.",
           std::move(counted));
}

void add_queue(MetricPage& page, const LiveViews& live, ShownGauges& shown) {
  const queue::QueueSizes sizes = live.queue.sizes();
  const auto number = [](auto value) { return static_cast<double>(value); };
  page.add(MetricKind::gauge, "scheduler_pending_pods",
           "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' "
           "means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the "
           "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler "
           "never attempted to schedule because they are gated.",
           {{{{"queue", "active"}}, number(sizes.active)},
            {{{"queue", "backoff"}}, number(sizes.backoff)},
            {{{"queue", "gated"}}, number(sizes.gated)},
            {{{"queue", "unschedulable"}}, number(sizes.unschedulable)}});
  const queue::QueueCounts counts = live.queue.counts();
  std::vector<MetricSample> incoming, logged, rejectors;
  for (const queue::IncomingCount& count : counts.incoming) {
    const auto one = [&](const char* queue, std::uint64_t value) {
      if (value != 0) incoming.push_back({{{"event", count.label}, {"queue", queue}}, number(value)});
    };
    one("active", count.active);
    one("backoff", count.backoff);
    one("unschedulable", count.unschedulable);
    if (shown.is_logged(count.label, count.logged != 0))
      logged.push_back({{{"event", count.label}}, number(count.logged)});
  }
  page.add_one(
      MetricKind::counter, "berth_long_attempts_total",
      "Attempts of a second or more, after which pods of the same namespace and kind let others go first for as "
      "long.",
      number(counts.long_attempts));
  const framework::Framework& framework = live.framework;
  std::map<std::pair<std::string, std::string>, double> rejected = shown.rejected();
  for (const queue::RejectorCount& count : counts.rejectors)
    rejected[{std::string(framework.names().name(count.plugin)),
              count.profile < framework.profiles().size() ? framework.profiles()[count.profile]->scheduler_name : ""}] =
        number(count.pods);
  for (const auto& [of, pods] : rejected) rejectors.push_back({{{"plugin", of.first}, {"profile", of.second}}, pods});
  shown.keep_rejected(std::move(rejected));
  page.add(MetricKind::counter, "scheduler_queue_incoming_pods_total",
           "[STABLE] Number of pods added to scheduling queues by event and queue type.", std::move(incoming));
  page.add(MetricKind::gauge, "scheduler_inflight_events",
           "[ALPHA] Number of events currently tracked in the scheduling queue.", std::move(logged));
  page.add(MetricKind::gauge, "scheduler_unschedulable_pods",
           "[BETA] The number of unschedulable pods broken down by plugin name.", std::move(rejectors));
}

void add_attempts(MetricPage& page, const LivePagesParts& parts) {
  const LiveViews& live = parts.live;
  const extender::Extenders* const extenders = live.extenders;
  std::vector<MetricSample> attempts;
  for (const config::Profile& profile : parts.configuration.profiles)
    for (const auto& [result, which] : std::initializer_list<std::pair<const char*, binding::AttemptResult>>{
             {"scheduled", binding::AttemptResult::scheduled},
             {"unschedulable", binding::AttemptResult::unschedulable},
             {"error", binding::AttemptResult::error}})
      if (const std::uint64_t count = live.recorded.attempts(profile.scheduler_name, which); count != 0)
        attempts.push_back({{{"profile", profile.scheduler_name}, {"result", result}}, static_cast<double>(count)});
  page.add(MetricKind::counter, "scheduler_schedule_attempts_total",
           "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
           "scheduled, while 'error' means an internal scheduler problem.",
           std::move(attempts));
  std::uint64_t searches = 0;
  for (const observe::CallTotal& total : live.counters.totals())
    for (const auto& profile : live.framework.profiles())
      if (total.point == "post_filter" &&
          std::any_of(profile->post_filter.begin(), profile->post_filter.end(), [&](const auto* plugin) {
            return plugin->name() == total.plugin && plugin->declares(preemption::k_service);
          })) {
        searches += total.calls;
        break;  // totals are of all profiles
      }
  page.add_one(MetricKind::counter, "scheduler_preemption_attempts_total",
               "[STABLE] Total preemption attempts in the cluster till now", static_cast<double>(searches));
  page.add_one(MetricKind::counter, "scheduler_pod_scheduled_after_flush_total",
               "[ALPHA] Pods bound after they had waited so long that they were tried without an event.",
               static_cast<double>(live.recorded.scheduled_after_flush()));
  page.add(MetricKind::gauge, "scheduler_goroutines", "[BETA] Number of running tasks split by the work they do.",
           {{{{"operation", "binding"}}, static_cast<double>(live.bindings.counts().open)},
            {{{"operation", "prioritizing_extender"}}, extenders == nullptr ? 0.0 : extenders->prioritizing()}});
  const cache::CacheCounts cached = live.cache.counts();
  page.add(MetricKind::gauge, "scheduler_cache_size", "[ALPHA] Number of nodes, pods, and assumed pods in the cache.",
           {{{{"type", "assumed_pods"}}, static_cast<double>(cached.assumed_pods)},
            {{{"type", "nodes"}}, static_cast<double>(cached.nodes)},
            {{{"type", "pods"}}, static_cast<double>(cached.pods)}});
}

void add_recorder(MetricPage& page, const recording::Recorder* recorder) {
  const recording::RecorderCounts counts = recorder != nullptr ? recorder->counts() : recording::RecorderCounts();
  page.add_one(MetricKind::counter, "berth_recorder_records_total",
               "Records of decisions, and of what they depend on, that were written. 0: nothing is recorded.",
               static_cast<double>(counts.records));
  page.add_one(MetricKind::counter, "berth_recorder_written_bytes_total", "What those records took.",
               static_cast<double>(counts.bytes));
  page.add_one(
      MetricKind::counter, "berth_recorder_dropped_records_total",
      "Records that came faster than they were written, or could not be written: the recording has a gap there.",
      static_cast<double>(counts.dropped));
  page.add_one(MetricKind::counter, "berth_recorder_write_failures_total",
               "How often the recorder could not write, as on a full disk. It is tried again every ten seconds.",
               static_cast<double>(counts.write_failures));
}

void add_isolated(MetricPage& page, const framework::Framework& framework) {
  std::vector<MetricSample> up, failures, restarts;
  for (const auto& profile : framework.profiles())
    for (const auto& plugin : profile->instances)
      if (const auto state = isolation::isolated_state(*plugin)) {
        const std::vector<std::pair<std::string, std::string>> labels{{"plugin", plugin->name()},
                                                                      {"profile", profile->scheduler_name}};
        up.push_back({labels, state->is_up ? 1.0 : 0.0});
        failures.push_back({labels, static_cast<double>(state->failures)});
        restarts.push_back({labels, static_cast<double>(state->restarts)});
      }
  page.add(MetricKind::gauge, "berth_isolated_plugin_up",
           "Whether the process of a plugin with isolation: process runs. Pods of the profile wait while it does not.",
           std::move(up));
  page.add(MetricKind::counter, "berth_isolated_plugin_failures_total",
           "How often the process of an isolated plugin has ended, hung or given an answer that cannot be right.",
           std::move(failures));
  page.add(MetricKind::counter, "berth_isolated_plugin_restarts_total",
           "How often the process of an isolated plugin was started again and had loaded the plugin.",
           std::move(restarts));
}

void add_own(MetricPage& page, const LivePagesParts& parts) {
  const LiveViews& live = parts.live;
  const binding::BindingCounts bindings = live.bindings.counts();
  page.add_one(MetricKind::gauge, "berth_open_bindings", "Pods that are on their way to a node.",
               static_cast<double>(bindings.open));
  page.add(MetricKind::counter, "berth_bindings_total", "Binding cycles that came to an end, by result.",
           {{{{"result", "bound"}}, static_cast<double>(bindings.bound)},
            {{{"result", "failed"}}, static_cast<double>(bindings.failed)}});
  page.add_one(
      MetricKind::gauge, "berth_bindings_in_flight",
      "Pods between the decision and the API server's answer, without those that wait at permit, for their group "
      "or in a pre-bind plugin. Bounded: the scheduling loop waits.",
      static_cast<double>(bindings.in_flight));
  page.add_one(MetricKind::counter, "berth_decisions_held_back_total",
               "How often the scheduling loop waited because too many bindings were in flight.",
               static_cast<double>(bindings.room_waits));
  page.add_one(MetricKind::gauge, "berth_bindings_waiting_for_nodes",
               "Bindings that wait because the watch of nodes is down: ten seconds at most.",
               static_cast<double>(live.gate.waiting()));
  std::vector<MetricSample> withheld;
  for (std::size_t i = 0; i < cluster::k_withheld_words.size(); ++i)
    withheld.push_back({{{"reason", std::string(cluster::k_withheld_words.at(i))}},
                        static_cast<double>(live.gate.withheld(static_cast<cluster::WithheldReason>(i)))});
  page.add(
      MetricKind::counter, "berth_bindings_withheld_total",
      "Bindings that were not sent, by reason: the node was deleted (node_gone) or replaced (node_replaced) after the "
      "decision, or the watch of nodes was down for ten seconds (watch_down). The pods are tried again.",
      std::move(withheld));
  const cycle::ReuseCounts reuse = live.recorded.reuse();
  page.add(
      MetricKind::counter, "berth_cycles_total",
      "Scheduling cycles, by whether the nodes were judged again or the verdicts of an equivalent pod were reused.",
      {{{{"verdicts", "judged"}}, static_cast<double>(reuse.evaluated)},
       {{{"verdicts", "reused"}}, static_cast<double>(reuse.reused)}});
  page.add_one(MetricKind::counter, "berth_reused_diagnoses_total",
               "Pods that were told why with the diagnosis of an earlier pod like them.",
               static_cast<double>(reuse.diagnoses));
  page.add_one(MetricKind::counter, "berth_reuse_violations_total",
               "Kept verdicts and scores that a fresh look did not confirm: at one decision in 1,000, or at each with "
               "verdictReuse: verify. Anything but 0 is a defect.",
               static_cast<double>(reuse.violations));
  std::vector<MetricSample> stopped;
  for (const auto& profile : live.framework.profiles())
    for (const auto& plugin : profile->instances)
      if (plugin->reuse_stopped())
        stopped.push_back({{{"plugin", plugin->name()}, {"profile", profile->scheduler_name}}, 1});
  page.add(MetricKind::gauge, "berth_plugin_reuse_stopped",
           "Plugins whose answers are not reused any more, because they depend on more than the plugin declares.",
           std::move(stopped));
  add_isolated(page, live.framework);
  page.add_one(MetricKind::gauge, "berth_cycle_age_seconds",
               "For how long the current scheduling cycle has been running; 0 between cycles.",
               static_cast<double>(live.cycle_age_ns()) * 1e-9);
  add_tables(page, live);
  add_recorder(page, live.recorder);
  if (live.shadow)
    if (const std::optional<ShadowReport> shadow = live.shadow()) add_shadow(page, *shadow);
  // One of each point and plugin: the first of them is the oldest.
  std::vector<MetricSample> calls;
  std::set<std::pair<std::string, std::string>> named;
  for (const framework::OpenCall& call : live.open_calls())
    if (named.emplace(call.point, call.plugin).second)
      calls.push_back({{{"plugin", call.plugin}, {"point", call.point}}, static_cast<double>(call.age_ns) * 1e-9});
  page.add(MetricKind::gauge, "berth_oldest_plugin_call_seconds",
           "For how long the oldest call into a plugin that has not returned has been running, by extension point and "
           "plugin.",
           std::move(calls));
  std::vector<MetricSample> slow;
  for (const auto& [of, count] : live.slow_calls.counts())
    slow.push_back({{{"plugin", of.first}, {"point", of.second}}, static_cast<double>(count)});
  page.add(
      MetricKind::counter, "berth_slow_plugin_calls_total",
      "Calls into plugins that were seen open for 100 ms or longer, by plugin and extension point; some of less than "
      "200 ms are missed. One a second stands in the log.",
      std::move(slow));
  const binding::ThreadPool::Counts threads = live.binding_threads();
  page.add_one(MetricKind::gauge, "berth_binding_threads",
               "Threads for binding steps: more than usual come when plugins do not return.",
               static_cast<double>(threads.threads));
  page.add_one(MetricKind::gauge, "berth_binding_wait_seconds",
               "For how long the oldest binding step has waited for a thread.",
               std::chrono::duration<double>(threads.waited).count());
  std::vector<MetricSample> info;
  for (const auto& [library, plugin] : parts.plugins.plugins.all())
    info.push_back({{{"plugin", plugin->name},
                     {"version", plugin->version != nullptr ? plugin->version : ""},
                     {"sha256", library->sha256},
                     {"abi", fmt::format("{}.{}", BERTH_ABI_MAJOR, library->entry->abi_minor_built)},
                     {"file", library->path}},
                    1});
  page.add(MetricKind::gauge, "berth_plugin_info", "Plugins in the process: version and digest of the file.",
           std::move(info));
  std::vector<MetricSample> events, objects, undecodable;
  for (const auto& progress : parts.live.reader.progress()) {
    events.push_back({{{"resource", progress.resource}}, static_cast<double>(progress.counts.events)});
    objects.push_back({{{"resource", progress.resource}}, static_cast<double>(progress.objects)});
    for (std::size_t i = 0; i < progress.counts.undecodable.size(); ++i)
      undecodable.push_back(
          {{{"resource", progress.resource}, {"reason", std::string(cluster::kube::k_undecodable_words.at(i))}},
           static_cast<double>(progress.counts.undecodable.at(i))});
  }
  page.add(MetricKind::counter, "berth_watch_events_total", "Watch events received, by resource.", std::move(events));
  page.add(MetricKind::gauge, "berth_watched_objects", "Objects known, by resource.", std::move(objects));
  page.add(
      MetricKind::counter, "berth_undecodable_objects_total",
      "Objects received that cannot be read, by resource and reason: malformed, invalid or nameless. Each is named "
      "once in the log.",
      std::move(undecodable));
  page.add_one(MetricKind::gauge, "berth_closed_nodes",
               "Nodes that take no new pods because a pod on them, or they themselves, cannot be read.",
               static_cast<double>(parts.live.reader.closed_nodes()));
  page.add_one(MetricKind::gauge, "berth_unplaced_pods",
               "Pods that cannot be read and may be on any node. While there are any, readyz fails.",
               static_cast<double>(parts.live.reader.unplaced_pods()));
}

void add_election(MetricPage& page, const LivePagesParts& parts) {
  if (!parts.configuration.leader_election.leader_elect) return;
  const std::string name = "kube-scheduler";  // whatever the lease is called
  page.add(MetricKind::gauge, "leader_election_master_status",
           "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates "
           "master. 'name' is the string used to identify the lease. Please make sure to group by name.",
           {{{{"name", name}}, parts.is_leading() ? 1.0 : 0.0}});
  page.add(MetricKind::counter, "leader_election_slowpath_total",
           "[ALPHA] Total number of slow path exercised in renewing leader leases.",
           {{{{"name", name}}, static_cast<double>(parts.slow_renewals())}});
}

/// The version without its v and suffix.
std::string plain_version(std::string_view version) {
  version.remove_prefix(version.starts_with('v') ? 1 : 0);
  return std::string(version.substr(0, version.find_first_of("-+")));
}

void add_process(MetricPage& page, const LivePagesParts& parts) {
  page.add(MetricKind::gauge, "kubernetes_build_info",
           "[BETA] A metric with a constant '1' value labeled by what kube-scheduler this one decides as.",
           {{{{"major", "1"},
              {"minor", std::string(k_upstream_minor)},
              {"git_version", parts.reported_version},
              {"git_commit", ""},
              {"git_tree_state", ""},
              {"build_date", ""},
              {"go_version", std::string(k_compiler)},
              {"compiler", "c++"},
              {"platform", std::string(k_platform)}},
             1}});
  page.add(MetricKind::gauge, "berth_build_info", "A metric with a constant '1' value labeled by the version of berth.",
           {{{{"version", std::string(product_version())}}, 1}});
  page.add_one(MetricKind::counter, "berth_caught_exceptions_total",
               "Exceptions caught where connections are served or answers are read: what they were about failed, "
               "everything else went on. Each is a defect and is logged.",
               static_cast<double>(net::IoThreads::exceptions()));
  page.add_one(MetricKind::counter, "berth_log_lines_dropped_total",
               "Lines of the log that were left out, because what reads standard error did not go on. Anything but 0: "
               "look at what collects logs.",
               static_cast<double>(observe::log_writer().dropped()));
  page.add(MetricKind::gauge, "version_info", "[ALPHA] Provides the compatibility version info of the component.",
           {{{{"component", "kube"},
              {"binary", plain_version(parts.reported_version)},
              {"emulation", release(parts.version.emulated_minor)},
              {"min_compat", release(parts.version.min_compatible_minor)}},
             1}});
  observe::add_process_metrics(page);
}

/// The metrics about metrics: what is on the page, and those three themselves.
void add_registered(MetricPage& page, const LivePagesParts& parts) {
  std::vector<MetricSample> registered;
  std::map<std::string, std::size_t> counts = page.families_by_stability();
  counts["BETA"] += 3;
  for (const auto& [stability, count] : counts)
    registered.push_back({{{"deprecated_version", ""}, {"stability_level", stability}}, static_cast<double>(count)});
  page.add(MetricKind::counter, "registered_metrics_total",
           "[BETA] The count of registered metrics broken by stability level and deprecation version.",
           std::move(registered));
  page.add_one(MetricKind::counter, "disabled_metrics_total", "[BETA] The count of disabled metrics.",
               static_cast<double>(parts.metric_filter.disabled.size()));
  page.add_one(MetricKind::counter, "hidden_metrics_total", "[BETA] The count of hidden metrics.", 0);
}

/// A gauge of what pods ask for, or may use at most: one of "request" and "limit".
class PodResourceSamples {
 public:
  explicit PodResourceSamples(const SymbolTable& symbols) : symbols_(symbols) {}

  void add(const model::Pod& pod, Symbol resource, std::int64_t amount) {
    if (amount == 0) return;
    const std::string name(symbols_.text(resource));
    const bool is_cpu = name == "cpu";
    const bool is_bytes =
        name == "memory" || name == "storage" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    const char* const unit = is_cpu                                    ? "cores"
                             : is_bytes                                ? "bytes"
                             : name.starts_with("attachable-volumes-") ? "integer"
                                                                       : "";
    samples_.push_back({{{"namespace", pod.ns},
                         {"node", pod.node_name == k_no_symbol ? "" : std::string(symbols_.text(pod.node_name))},
                         {"pod", pod.name},
                         {"priority", std::to_string(pod.priority)},
                         {"resource", name},
                         {"scheduler", pod.scheduler_name},
                         {"unit", unit}},
                        static_cast<double>(amount) * (is_cpu ? 1e-3 : 1.0)});
  }
  std::vector<MetricSample> take() { return std::move(samples_); }

 private:
  const SymbolTable& symbols_;
  std::vector<MetricSample> samples_;
};

/// What a pod's containers may use at most, by resource: those that run side by side together, or one init container
/// while the sidecars that began before it run; instead, what the pod as a whole may use; and the overhead of what is
/// limited at all.
/// Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/resource/helpers.go (PodLimits).
std::map<Symbol, std::int64_t> limits_of(const model::Pod& pod) {
  using Kind = model::ContainerResources::Kind;
  std::map<Symbol, std::int64_t> together, peak;
  const auto raise = [&peak](Symbol name, std::int64_t amount) {
    std::int64_t& highest = peak[name];
    highest = std::max(highest, amount);
  };
  for (const model::ContainerResources& container : pod.requests->containers)
    for (const model::ContainerAmount& amount : container.amounts) {
      if (!amount.has_limit) continue;
      if (container.kind == Kind::init)
        raise(amount.name, together[amount.name] + amount.limit);  // by then only sidecars are in there
      else
        together[amount.name] += amount.limit;
    }
  for (const auto& [name, amount] : together) raise(name, amount);
  for (const model::ContainerAmount& whole : pod.requests->whole) peak[whole.name] = whole.limit;
  for (const model::ContainerAmount& overhead : pod.requests->overhead)
    if (const auto limited = peak.find(overhead.name); limited != peak.end() && limited->second != 0)
      limited->second += overhead.request;
  return peak;
}

}  // namespace

/// Which of upstream's families are not here, and why: conf/deploy/monitoring/README.md.
MetricPage metrics_page(const LivePagesParts& parts, ShownGauges& shown) {
  MetricPage page;
  const LiveViews& live = parts.live;
  page.add(live.registry);
  add_durations(page, live.counters);
  add_queue(page, live, shown);
  live.hints.add_to(page, live.framework.names());
  add_attempts(page, parts);
  add_own(page, parts);
  add_explained(page, live);
  add_election(page, parts);
  add_process(page, parts);
  if (parts.add_metrics) parts.add_metrics(page);
  add_registered(page, parts);
  return page;
}

bool ShownGauges::is_logged(const std::string& event, bool now) {
  const Lock lock(mutex_);
  if (now) logged_.insert(event);
  return now || logged_.contains(event);
}

std::map<std::pair<std::string, std::string>, double> ShownGauges::rejected() const {
  const Lock lock(mutex_);
  return rejected_;
}

void ShownGauges::keep_rejected(std::map<std::pair<std::string, std::string>, double> shown) {
  for (auto& [of, pods] : shown) pods = 0;
  const Lock lock(mutex_);
  rejected_.merge(shown);
}

MetricPage resource_metrics_page(const LivePagesParts& parts) {
  MetricPage page;
  if (parts.configuration.leader_election.leader_elect && !parts.is_leading()) return page;
  PodResourceSamples requests(parts.live.symbols), limits(parts.live.symbols);
  for (const model::PodPtr& pod : parts.live.reader.pods()) {
    for (const model::PodResource& resource : pod->requests->resources)
      requests.add(*pod, resource.name, resource.request);
    for (const auto& [name, amount] : limits_of(*pod)) limits.add(*pod, name, amount);
  }
  page.add(
      MetricKind::gauge, "kube_pod_resource_request",
      "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage "
      "the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
      requests.take());
  page.add(MetricKind::gauge, "kube_pod_resource_limit",
           "[STABLE] Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage "
           "the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
           limits.take());
  return page;
}

}  // namespace berth::app
