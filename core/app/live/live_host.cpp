// SPDX-License-Identifier: Apache-2.0
#include "app/live/live_host.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/plugins/decode_retention.hpp"
#include "base/guarded.hpp"
#include "base/process/thread_name.hpp"
#include "cluster/accepting_writer.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "observe/fatal_signal.hpp"
#include "observe/heap.hpp"
#include "observe/log.hpp"
#include "observe/log_writer.hpp"
#include "scheduler/decision_recording.hpp"

namespace berth::app {
namespace {

// Threads for binding steps: those that stay, and with those that come when steps do not return.
constexpr std::size_t k_binding_threads = 4, k_binding_threads_most = 64;
constexpr std::size_t k_reading_threads = 3;
constexpr std::int64_t k_hint_patience_ns = 1'000'000'000;
// How old a call into a plugin is when the log speaks of it, how often it does, and how often that is looked at.
constexpr std::int64_t k_slow_said_every_ns = 1'000'000'000;
constexpr std::int64_t k_said_from_ns = 10'000'000'000, k_said_every_ns = 30'000'000'000;
constexpr std::chrono::milliseconds k_look_period{50};
constexpr int k_looks_between_flushes = 20;  // of the log
constexpr int k_looks_between_trims = 1200;  // of the heap
constexpr std::array<std::string_view, 4> k_asked_by_queue{"queue_key", "queue_less", "pre_enqueue", "group_of"};

/// Says what would be written.
class DryRunWriter final : public cluster::AcceptingWriter {
 public:
  void bind(const cluster::PodRef& pod, std::string_view node_name, Done done) override {
    observe::info("Dry run: would bind pod to node", {{"pod", pod}, {"node", node_name}});
    AcceptingWriter::bind(pod, node_name, std::move(done));
  }
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    for (const model::PodCondition& condition : patch.conditions)
      observe::info("Dry run: would set condition of pod", {{"pod", pod},
                                                            {"conditionType", condition.type},
                                                            {"conditionStatus", condition.status},
                                                            {"conditionReason", condition.reason},
                                                            {"conditionMessage", condition.message}});
    if (patch.nominated_node)
      observe::info("Dry run: would nominate node for pod", {{"pod", pod}, {"node", *patch.nominated_node}});
    AcceptingWriter::patch_pod_status(pod, patch, std::move(done));
  }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch& patch, Done done) override {
    observe::info("Dry run: would patch metadata of pod", {{"pod", pod}});
    AcceptingWriter::patch_pod_metadata(pod, patch, std::move(done));
  }
  void evict(const cluster::PodRef& pod, Done done) override {
    observe::info("Dry run: would evict pod", {{"pod", pod}});
    AcceptingWriter::evict(pod, std::move(done));
  }
  void patch_object(const cluster::ObjectRef& object, std::string_view merge_patch_json, Done done) override {
    observe::info("Dry run: would patch object", {{"resource", object.resource}, {"object", object}});
    AcceptingWriter::patch_object(object, merge_patch_json, std::move(done));
  }
  void write_object(const cluster::ObjectWrite& write, ObjectDone done) override {
    observe::info("Dry run: would write object",
                  {{"resource", write.object.resource}, {"subresource", write.subresource}, {"object", write.object}});
    AcceptingWriter::write_object(write, std::move(done));
  }
};

net::HttpClientOptions client_options(const config::ClientConnection& connection, const LiveHostOptions& options,
                                      std::uint64_t number) {
  net::HttpClientOptions out;
  out.qps = connection.qps;
  out.burst = connection.burst;
  // Enough for the rate where an answer takes a quarter of a second, as slow admission makes it.
  constexpr double k_most = 100;
  const double for_rate = connection.qps < 0 ? k_most : connection.qps / 4;
  out.connections_max =
      static_cast<std::size_t>(std::clamp(for_rate, static_cast<double>(out.connections_max), k_most));
  out.user_agent = options.user_agent;
  out.seed = options.seed + number;
  out.on_call = options.on_call;
  out.fence = options.reign;
  return out;
}

/// How many decisions may wait for their bindings: as many as go in a second, so that none is about a cluster of long
/// ago; but at least two for each connection, so that none is ever idle, and at most four.
std::size_t bindings_in_flight_max(const net::HttpClientOptions& writes) {
  const std::size_t least = 2 * writes.connections_max, most = 2 * least;
  if (writes.qps < 0 || writes.qps > static_cast<double>(most)) return most;
  return std::max(least, static_cast<std::size_t>(writes.qps));
}

/// What lists and watches are asked for. The configuration's own words win, as long as they name something that is
/// understood.
std::string accepted_types(const config::ClientConnection& connection) {
  const std::string& own = connection.accept_content_types;
  for (const std::string_view known : {"json", "protobuf", "*/*"})
    if (own.find(known) != std::string::npos) return own;
  if (!own.empty())
    observe::warning("acceptContentTypes names neither JSON nor protobuf, and is not used", {{"value", own}});
  // Custom resources come as JSON from every server.
  constexpr std::string_view k_protobuf = cluster::kube::k_protobuf;
  return connection.content_type == k_protobuf ? std::string(k_protobuf) + ",application/json" : "application/json";
}

}  // namespace

/// Ingest with its calls watched: it asks gates, groups and hints of plugins while it handles a change of the cluster.
class LiveHost::WatchedSink final : public cluster::ClusterSink {
 public:
  using Sink = cluster::ClusterSink;
  WatchedSink(Sink& sink, framework::OpenCalls& calls) : sink_(sink), calls_(calls) {}

  void pod_added(const model::PodPtr& pod) override { watch(pod, &Sink::pod_added, pod); }
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override {
    watch(new_pod, &Sink::pod_updated, old_pod, new_pod);
  }
  void pod_deleted(const model::PodPtr& pod) override { watch(pod, &Sink::pod_deleted, pod); }
  void node_added(const model::NodePtr& node) override { watch(nullptr, &Sink::node_added, node); }
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override {
    watch(nullptr, &Sink::node_updated, old_node, new_node);
  }
  void node_deleted(const model::NodePtr& node) override { watch(nullptr, &Sink::node_deleted, node); }
  void object_added(const model::ObjectPtr& object) override { watch(nullptr, &Sink::object_added, object); }
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override {
    watch(nullptr, &Sink::object_updated, old_object, new_object);
  }
  void object_deleted(const model::ObjectPtr& object) override { watch(nullptr, &Sink::object_deleted, object); }
  void synced() override { sink_.synced(); }

 private:
  template <typename... Objects>
  void watch(model::PodPtr about, void (Sink::*call)(const Objects&...), const Objects&... objects) {
    const framework::OpenCalls::Scope scope(&calls_, std::move(about));
    (sink_.*call)(objects...);
  }

  Sink& sink_;
  framework::OpenCalls& calls_;
};

LiveHost::Base::Base(SymbolTable& symbols_given, const config::ClientConnection& connection,
                     const std::shared_ptr<net::Endpoint>& endpoint, net::IoThreads& io, const Clock& clock_given,
                     LiveHostOptions options_given)
    : symbols(symbols_given),
      clock(clock_given),
      options(std::move(options_given)),
      open_calls(clock),
      slow_calls(options.slow_plugin_threshold_ns),
      timers(clock),
      pool(std::make_unique<binding::ThreadPool>(binding::ThreadPoolOptions{
          k_binding_threads, k_binding_threads_most, std::chrono::milliseconds(100), &open_calls})),
      cycle_clock(clock),
      // On the pool: plugins hear of what expires.
      gate(std::make_shared<cluster::BindingGate>(
          clock, cluster::BindingGateOptions{.after =
                                                 [this](std::int64_t delay_ns, std::function<void()> task) {
                                                   timers.start(delay_ns,
                                                                [this, task = std::move(task)] { pool->post(task); });
                                                 }})),
      kube_writer(io, endpoint, clock,
                  [this](std::string_view ns, std::string_view name) { return find_pod(ns, name); },
                  {client_options(connection, options, 1000), client_options(connection, options, 2000),
                   options.host_name, gate}) {
  if (options.dry_run) dry_writer = std::make_unique<DryRunWriter>();
  if (options.shadow) dry_writer = std::make_unique<cluster::AcceptingWriter>();
  if (options.recorder) start_recorder();
  if (options.explain_after_ns != 0 && !options.dry_run && !options.shadow) explain_events();
}

cluster::ClusterWriter& LiveHost::Base::writer() noexcept {
  if (dry_writer) return *dry_writer;
  return kube_writer;
}

model::PodPtr LiveHost::Base::find_pod(std::string_view ns, std::string_view name) const {
  model::PodPtr found;
  whole.with([&](const Whole& now) { found = now.reader.find_pod(ns, name); });
  return found;
}

void LiveHost::Base::explain_events() {
  explained = std::make_unique<binding::ExplainedEvents>(
      options.explain_after_ns,
      [this](const model::PodPtr& pod, const binding::GoesOn& goes_on) {
        std::string line;
        whole.with(
            [&](const Whole& now) { line = options.fit_line(now.scheduler.views().cache, now.reader, pod, goes_on); });
        return line;
      },
      [this](const model::Pod& pod) { return find_pod(pod.ns, pod.name); }, clock);
}

void LiveHost::Base::start_recorder() {
  recording::RecorderOptions parts = *options.recorder;
  parts.object_fields = [this](std::string_view resource) {
    std::vector<std::string> fields;
    whole.with([&](const Whole& now) { fields = now.scheduler.views().objects.fields_of(resource); });
    return fields;
  };
  parts.add_state = [this] {
    whole.with([this](const Whole& now) {
      if (!follows) return;
      recording::WholeCluster others;
      others.objects = now.reader.objects();
      for (model::PodPtr& pod : now.reader.pods())
        if (pod->node_name == k_no_symbol) others.waiting.push_back(std::move(pod));
      now.scheduler.record_state(std::move(others));
    });
  };
  parts.plugin_times = [this] {
    std::vector<recording::PluginTime> times;
    whole.with([&](const Whole& now) { times = scheduler::plugin_times_of(now.scheduler.views().counters); });
    return times;
  };
  Result<std::unique_ptr<recording::Recorder>> started = recording::Recorder::start(std::move(parts), symbols, clock);
  if (started.ok()) {
    recorder = std::move(*started);
    observe::info("Decisions are recorded", {{"directory", options.recorder->directory}});
  } else {
    observe::warning("Decisions are not recorded", {{"err", started.error().message}});
  }
}

Result<std::unique_ptr<LiveHost>, text::Diagnostics> LiveHost::make(
    SymbolTable& symbols, const config::Configuration& configuration, const PluginLibrary& plugins,
    std::shared_ptr<net::Endpoint> endpoint, net::IoThreads& io, const Clock& clock, LiveHostOptions options) {
  auto base = std::make_unique<Base>(symbols, configuration.client_connection, endpoint, io, clock, std::move(options));
  auto extenders = extender::ConfiguredExtenders::make(
      configuration, symbols, [&cycle_clock = base->cycle_clock](bool waits) { cycle_clock.wait(waits); });
  scheduler::SchedulerParts parts{symbols,
                                  configuration,
                                  plugins.sources(),
                                  base->writer(),
                                  [&known = *base](const model::Pod& pod) { return known.find_pod(pod.ns, pod.name); },
                                  *base->pool,
                                  base->timers,
                                  clock};
  parts.leftover_age_ns = base->options.leftover_age_ns;
  if (extenders.ok() && *extenders) parts.extenders = &(*extenders)->all();
  if (base->dry_writer) parts.extender_binding = scheduler::ExtenderBinding::none;
  parts.retries_between_decisions = true;
  parts.watch = &base->open_calls;
  parts.hint_patience_ns = k_hint_patience_ns;
  parts.gate = base->gate.get();
  parts.recorder = base->recorder.get();
  parts.explained = base->explained.get();
  parts.bindings_in_flight_max =
      bindings_in_flight_max(client_options(configuration.client_connection, base->options, 1000));
  auto scheduler = scheduler::Scheduler::make(std::move(parts));
  if (extenders.ok() && scheduler.ok())
    return std::unique_ptr<LiveHost>(new LiveHost(configuration, std::move(endpoint), std::move(base),
                                                  std::move(*extenders), std::move(*scheduler)));
  text::Diagnostics diagnostics;
  if (!extenders.ok()) diagnostics = extenders.error();
  if (!scheduler.ok()) diagnostics.add(scheduler.error());
  return diagnostics;
}

LiveHost::LiveHost(const config::Configuration& configuration, std::shared_ptr<net::Endpoint> endpoint,
                   std::unique_ptr<Base> base, std::unique_ptr<extender::ConfiguredExtenders> extenders,
                   std::unique_ptr<scheduler::Scheduler> scheduler)
    : base_(std::move(base)),
      extenders_(std::move(extenders)),
      scheduler_(std::move(scheduler)),
      ingest_(intake()),
      shadow_(base_->options.shadow ? std::make_unique<Shadow>(ingest_, *scheduler_, configuration, base_->clock)
                                    : nullptr),
      sink_(std::make_unique<WatchedSink>(shadow_ ? static_cast<cluster::ClusterSink&>(*shadow_) : ingest_,
                                          base_->open_calls)),
      recorded_sink_(base_->recorder ? std::make_unique<scheduler::RecordedSink>(*sink_, *base_->recorder) : nullptr),
      reading_(k_reading_threads, "reading"),
      reader_(reading_, endpoint, base_->symbols, reading_options(configuration, *endpoint)),
      is_whole_(base_->whole, {*scheduler_, reader_}),
      timers_thread_([this] {
        name_this_thread("timers");
        net::IoThreads::run_guarded("the timers", [this] { base_->timers.run_until_stopped(); });
      }),
      call_watch_([this] {
        name_this_thread("call-watch");
        net::IoThreads::run_guarded("the watch of plugin calls", [this] { watch_calls(); });
      }) {
  if (base_->explained)
    explaining_ = std::thread([this] {
      name_this_thread("explaining");
      const observe::SignalStack signal_stack;  // plugins run here
      net::IoThreads::run_guarded("the explanation of events", [this] { base_->explained->run(); });
    });
}

ingest::IngestParts LiveHost::intake() {
  ingest::IngestParts parts = scheduler_->intake();
  parts.on_synced = [this] {
    if (on_synced_) on_synced_();
  };
  return parts;
}

cluster::kube::KubeReaderOptions LiveHost::reading_options(const config::Configuration& configuration,
                                                           const net::Endpoint& endpoint) const {
  const scheduler::SchedulerViews plugins = scheduler_->views();
  cluster::kube::KubeReaderOptions reader;
  reader.resources = plugins.objects.resources();
  reader.decode = decode_options(configuration, plugins.framework);
  reader.client = client_options(configuration.client_connection, base_->options, 3000);
  reader.client.accept_gzip = endpoint.takes_gzip();
  reader.reflector.accept = accepted_types(configuration.client_connection);
  reader.gate = base_->gate;
  return reader;
}

std::vector<framework::OpenCall> LiveHost::open_calls() const {
  std::vector<framework::OpenCall> out = base_->open_calls.all();
  if (std::optional<framework::OpenCall> deciding = base_->cycle_clock.open_call()) out.push_back(std::move(*deciding));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.age_ns > b.age_ns; });
  return out;
}

Status LiveHost::plugin_calls_return() const {
  const std::vector<framework::OpenCall> calls = open_calls();
  if (calls.empty() || calls.front().age_ns <= base_->options.plugin_call_limit_ns) return Unit{};
  const framework::OpenCall& oldest = calls.front();
  return Error{fmt::format("{} of plugin {} has not returned for {} s{}{}", oldest.point, oldest.plugin,
                           oldest.age_ns / 1'000'000'000, oldest.pod.empty() ? "" : ", for pod ", oldest.pod)};
}

LiveViews LiveHost::views() {
  const scheduler::SchedulerViews parts = scheduler_->views();
  return {base_->symbols,
          parts.queue,
          parts.bindings,
          parts.framework,
          parts.objects,
          parts.cache,
          parts.resources,
          reader_,
          *base_->gate,
          parts.debug_pages,
          parts.extenders,
          parts.recorded,
          parts.hints,
          parts.registry,
          parts.counters,
          base_->slow_calls,
          base_->recorder.get(),
          [this](const model::PodPtr& pod) { return scheduler_->explain(pod, {.details = true}); },
          [this](const std::function<void(const cache::Snapshot&)>& look) { scheduler_->inspect(look); },
          [this] { return open_calls(); },
          [this] { return plugin_calls_return(); },
          [this] { return base_->cycle_clock.age_ns(); },
          [this] { return base_->pool->counts(); },
          [this] { return shadow_ ? std::optional(shadow_->report()) : std::nullopt; },
          base_->explained.get()};
}

Status LiveHost::may_go_on(std::int64_t cycle_limit_ns) const {
  constexpr std::int64_t k_s = 1'000'000'000;
  if (const std::int64_t age_ns = base_->cycle_clock.age_ns(); age_ns > cycle_limit_ns)
    return Error{fmt::format("one cycle has been running for {} s", age_ns / k_s)};
  if (const std::int64_t waited_ns = base_->pool->counts().waited.count(); waited_ns > cycle_limit_ns)
    return Error{
        fmt::format("no thread has come for a binding step for {} s: plugins hold all of them", waited_ns / k_s)};
  // The queue asks these under its lock, and there is no answer in their place.
  for (const framework::OpenCall& call : base_->open_calls.all())
    if (call.age_ns > base_->options.plugin_call_limit_ns &&
        std::find(k_asked_by_queue.begin(), k_asked_by_queue.end(), call.point) != k_asked_by_queue.end())
      return Error{fmt::format("{} of plugin {} has been running for {} s, and holds the queue", call.point,
                               call.plugin, call.age_ns / k_s)};
  return Unit{};
}

void LiveHost::watch_calls() {
  std::int64_t said_age_ns = 0;                       // of the oldest call, when it was logged last
  std::int64_t slow_said_ns = -k_slow_said_every_ns;  // when a slow call was logged last
  int looks = 0;
  UniqueLock lock(watch_mutex_);
  while (!watch_ends_.wait_for(lock, k_look_period, [this]() REQUIRES(watch_mutex_) { return watch_over_; })) {
    lock.unlock();
    if (++looks % k_looks_between_trims == 0) observe::give_back_unused_heap();
    if (looks % k_looks_between_flushes == 0)
      observe::log_writer().flush(std::chrono::milliseconds(0));  // also when nothing more is logged
    const std::vector<framework::OpenCall> calls = open_calls();
    const std::int64_t now_ns = base_->clock.monotonic_ns();
    for (const framework::SlowCalls::Slow& slow : base_->slow_calls.look(calls, now_ns)) {
      if (now_ns - slow_said_ns < k_slow_said_every_ns) continue;  // the metric has all
      slow_said_ns = now_ns;
      observe::warning("A call into a plugin takes long", {{"plugin", slow.call.plugin},
                                                           {"point", slow.call.point},
                                                           {"pod", slow.call.pod},
                                                           {"runningForMs", slow.running_ns / 1'000'000}});
    }
    const std::int64_t age_ns = calls.empty() ? 0 : calls.front().age_ns;
    if (age_ns < said_age_ns) said_age_ns = 0;  // that call has returned
    if (age_ns >= k_said_from_ns && (said_age_ns == 0 || age_ns - said_age_ns >= k_said_every_ns)) {
      said_age_ns = age_ns;
      const auto old =
          std::count_if(calls.begin(), calls.end(), [](const auto& c) { return c.age_ns >= k_said_from_ns; });
      observe::warning("A call into a plugin has not returned", {{"plugin", calls.front().plugin},
                                                                 {"point", calls.front().point},
                                                                 {"pod", calls.front().pod},
                                                                 {"runningForS", age_ns / 1'000'000'000},
                                                                 {"calls", static_cast<std::int64_t>(old)}});
    }
    lock.lock();
  }
}

LiveHost::~LiveHost() {
  stop_scheduling();
  if (explaining_.joinable()) {
    base_->explained->stop();
    explaining_.join();
  }
  reader_.stop();
  stop_writing();
  if (extenders_) extenders_->all().stop();
  scheduler_->end_bindings(std::chrono::milliseconds(1000));
  base_->timers.stop();
  timers_thread_.join();
  base_->pool.reset();  // runs what was posted, which needs the scheduler
  {
    const Lock lock(watch_mutex_);
    watch_over_ = true;
  }
  watch_ends_.notify_one();
  call_watch_.join();
  reading_.stop();
  if (base_->recorder) base_->recorder->stop();  // it asks scheduler and reader
}

void LiveHost::follow(std::function<void()> on_synced) {
  on_synced_ = std::move(on_synced);
  base_->follows = true;
  reader_.start(recorded_sink_ ? static_cast<cluster::ClusterSink&>(*recorded_sink_) : *sink_);
}

void LiveHost::schedule() {
  const scheduler::Scheduler::Watch watch = watched_by(base_->cycle_clock);
  while (!stopping_ && scheduler_->schedule_next(watch)) {
  }
}

ShadowReport LiveHost::end_shadow(std::chrono::milliseconds limit) {
  reader_.stop();
  shadow_->finish(std::chrono::nanoseconds(limit).count());
  return shadow_->report();
}

void LiveHost::stop_scheduling() {
  stopping_ = true;
  scheduler_->stop_deciding();
  if (base_->explained) base_->explained->stop();
}

bool LiveHost::drain(std::chrono::milliseconds limit) { return scheduler_->drain(limit); }

void LiveHost::stop_reporting() noexcept {
  scheduler_->stop_reporting();
  // Elsewhere: plugins hear that their bindings failed.
  base_->pool->post([gate = base_->gate] { gate->stop(); });
}

void LiveHost::stop_writing() noexcept { base_->kube_writer.stop(); }

}  // namespace berth::app
