// SPDX-License-Identifier: Apache-2.0
#include "app/live/live_host.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/plugins/kept_parts.hpp"
#include "base/guarded.hpp"
#include "cluster/accepting_writer.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "observe/heap.hpp"
#include "observe/log.hpp"
#include "observe/log_writer.hpp"

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
  WatchedSink(cluster::ClusterSink& sink, framework::OpenCalls& calls) : sink_(sink), calls_(calls) {}

  void pod_added(const model::PodPtr& pod) override {
    const framework::OpenCalls::Scope scope(&calls_, pod);
    sink_.pod_added(pod);
  }
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override {
    const framework::OpenCalls::Scope scope(&calls_, new_pod);
    sink_.pod_updated(old_pod, new_pod);
  }
  void pod_deleted(const model::PodPtr& pod) override {
    const framework::OpenCalls::Scope scope(&calls_, pod);
    sink_.pod_deleted(pod);
  }
  void node_added(const model::NodePtr& node) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.node_added(node);
  }
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.node_updated(old_node, new_node);
  }
  void node_deleted(const model::NodePtr& node) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.node_deleted(node);
  }
  void object_added(const model::ObjectPtr& object) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.object_added(object);
  }
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.object_updated(old_object, new_object);
  }
  void object_deleted(const model::ObjectPtr& object) override {
    const framework::OpenCalls::Scope scope(&calls_);
    sink_.object_deleted(object);
  }
  void synced() override { sink_.synced(); }

 private:
  cluster::ClusterSink& sink_;
  framework::OpenCalls& calls_;
};

LiveHost::LiveHost(SymbolTable& symbols, const Clock& clock, LiveHostOptions options)
    : symbols_(symbols),
      clock_(clock),
      options_(std::move(options)),
      open_calls_(clock),
      slow_calls_(options_.slow_plugin_threshold_ns),
      cycle_clock_(clock) {}

std::unique_ptr<LiveHost> LiveHost::make(SymbolTable& symbols, const config::Configuration& configuration,
                                         const PluginLibrary& plugins, std::shared_ptr<net::Endpoint> endpoint,
                                         net::IoThreads& io, const Clock& clock, LiveHostOptions options,
                                         std::vector<std::string>& complaints) {
  std::unique_ptr<LiveHost> made(new LiveHost(symbols, clock, std::move(options)));
  LiveHost* const self = made.get();
  const config::ClientConnection& connection = configuration.client_connection;
  const auto find_pod = [self](std::string_view ns, std::string_view name) -> model::PodPtr {
    return self->reader_ == nullptr ? nullptr : self->reader_->find_pod(ns, name);
  };
  // On the pool: plugins hear of what expires.
  made->gate_ = std::make_shared<cluster::BindingGate>(
      clock, cluster::BindingGateOptions{.after = [self](std::int64_t delay_ns, std::function<void()> task) {
        scheduler::Scheduler* const scheduler = self->complete_;
        if (scheduler == nullptr) return;
        scheduler->timers().start(delay_ns, [self, task = std::move(task)] { self->pool_->post(task); });
      }});
  cluster::kube::KubeWriterOptions writer{client_options(connection, made->options_, 1000),
                                          client_options(connection, made->options_, 2000), made->options_.host_name,
                                          made->gate_};
  made->kube_writer_ = std::make_unique<cluster::kube::KubeWriter>(io, endpoint, clock, find_pod, writer);
  if (made->options_.dry_run) made->dry_writer_ = std::make_unique<DryRunWriter>();
  if (made->options_.shadow) made->dry_writer_ = std::make_unique<cluster::AcceptingWriter>();
  cluster::ClusterWriter& direct = made->dry_writer_ ? *made->dry_writer_ : *made->kube_writer_;
  if (made->options_.recorder) made->start_recorder();
  if (made->recorder_) made->recorded_writer_ = std::make_unique<RecordedWriter>(direct, *made->recorder_);
  made->pool_ = std::make_unique<binding::ThreadPool>(binding::ThreadPoolOptions{
      k_binding_threads, k_binding_threads_most, std::chrono::milliseconds(100), &made->open_calls_});

  const std::size_t complaints_before = complaints.size();
  made->extenders_ = extender::ConfiguredExtenders::make(
      configuration, symbols, [self](bool waits) { self->cycle_clock_.wait(waits); }, complaints);

  scheduler::SchedulerParts parts{symbols,
                                  configuration,
                                  plugins.sources(),
                                  made->recorded_writer_ ? *made->recorded_writer_ : direct,
                                  [find_pod](const model::Pod& pod) { return find_pod(pod.ns, pod.name); },
                                  *made->pool_,
                                  clock};
  parts.leftover_age_ns = made->options_.leftover_age_ns;
  parts.extenders = made->extenders_ ? &made->extenders_->all() : nullptr;
  if (made->dry_writer_) parts.extender_binding = scheduler::ExtenderBinding::none;
  // The caller may hold the queue's lock; the pool does not.
  parts.on_activation = [self] { self->apply_activations_soon(); };
  parts.watch = &made->open_calls_;
  parts.hint_patience_ns = k_hint_patience_ns;
  parts.gate = made->gate_.get();
  parts.recorder = made->recorder_.get();
  parts.bindings_in_flight_max = bindings_in_flight_max(writer.writes);
  made->scheduler_ = scheduler::Scheduler::make(std::move(parts), complaints);
  if (complaints.size() != complaints_before) return nullptr;
  scheduler::Scheduler& scheduler = *made->scheduler_;
  made->complete_ = &scheduler;

  cluster::kube::KubeReaderOptions reader;
  reader.resources = scheduler.objects().resources();
  reader.decode.needs = made->options_.needs;
  read_as_gated(configuration, reader.decode);
  keep_for_extenders(configuration, reader.decode);
  keep_for_plugins(scheduler.framework(), reader.decode);
  reader.client = client_options(connection, made->options_, 3000);
  reader.client.accept_gzip = endpoint->takes_gzip();
  reader.reflector.accept = accepted_types(connection);
  reader.gate = made->gate_;
  made->reading_ = std::make_unique<net::IoThreads>(k_reading_threads);
  made->reader_ = std::make_unique<cluster::kube::KubeReader>(*made->reading_, std::move(endpoint), symbols, reader);
  made->feed_ = std::make_unique<scheduler::StoreFeed>(scheduler.objects());
  made->handling_times_ = std::make_unique<metrics::HandlingTimes>(scheduler.framework().host().metrics);
  made->ingest_ = std::make_unique<ingest::Ingest>(ingest::IngestParts{
      scheduler.cache(), scheduler.groups(), scheduler.queue(), scheduler.waiting(), *made->feed_, clock,
      [&scheduler](std::string_view name) { return scheduler.framework().find(name) != nullptr; },
      [self] {
        if (self->on_synced_) self->on_synced_();
      },
      [self](const model::ClusterEvent& event, double seconds) { self->handling_times_->record(event, seconds); }});
  made->sink_ = std::make_unique<WatchedSink>(*made->ingest_, made->open_calls_);
  if (made->options_.shadow) made->shadow_ = std::make_unique<Shadow>(*made->sink_, scheduler, configuration, clock);
  if (made->recorder_) made->recorded_sink_ = std::make_unique<RecordedSink>(*made->sink_, *made->recorder_);
  made->timers_ = std::thread([&scheduler] {
    net::IoThreads::run_guarded("the timers", [&scheduler] { scheduler.timers().run_until_stopped(); });
  });
  made->call_watch_ = std::thread(
      [self] { net::IoThreads::run_guarded("the watch of plugin calls", [self] { self->watch_calls(); }); });
  return made;
}

void LiveHost::start_recorder() {
  recording::RecorderOptions options = *options_.recorder;
  options.object_fields = [this](std::string_view resource) {
    scheduler::Scheduler* const scheduler = complete_;
    return scheduler == nullptr ? std::vector<std::string>() : scheduler->objects().fields_of(resource);
  };
  options.add_state = [this] {
    const scheduler::Scheduler* const scheduler = complete_;
    if (scheduler == nullptr || scheduler->recording() == nullptr || !follows_) return;
    recording::WholeCluster others;
    others.objects = reader_->objects();
    for (model::PodPtr& pod : reader_->pods())
      if (pod->node_name == k_no_symbol) others.waiting.push_back(std::move(pod));
    scheduler->recording()->add_state(std::move(others));
  };
  Result<std::unique_ptr<recording::Recorder>> started =
      recording::Recorder::start(std::move(options), symbols_, clock_);
  if (started.ok()) {
    recorder_ = std::move(*started);
    observe::info("Decisions are recorded", {{"directory", options_.recorder->directory}});
  } else {
    observe::warning("Decisions are not recorded", {{"err", started.error().message}});
  }
}

/// One task for all activations until it runs: the queue may be busy, and each task that waits for it holds a thread.
void LiveHost::apply_activations_soon() {
  if (activating_.exchange(true)) return;
  pool_->post([this] {
    activating_ = false;
    if (scheduler::Scheduler* const scheduler = complete_) scheduler->apply_activations();
  });
}

std::vector<framework::OpenCall> LiveHost::open_calls() const {
  std::vector<framework::OpenCall> out = open_calls_.all();
  if (std::optional<framework::OpenCall> deciding = cycle_clock_.open_call()) out.push_back(std::move(*deciding));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.age_ns > b.age_ns; });
  return out;
}

Status LiveHost::plugin_calls_return() const {
  const std::vector<framework::OpenCall> calls = open_calls();
  if (calls.empty() || calls.front().age_ns <= options_.plugin_call_limit_ns) return Unit{};
  const framework::OpenCall& oldest = calls.front();
  return Error{fmt::format("{} of plugin {} has not returned for {} s{}{}", oldest.point, oldest.plugin,
                           oldest.age_ns / 1'000'000'000, oldest.pod.empty() ? "" : ", for pod ", oldest.pod)};
}

LiveViews LiveHost::views() {
  const scheduler::Scheduler& scheduler = *scheduler_;
  return {symbols_,
          scheduler.queue(),
          scheduler.bindings(),
          scheduler.framework(),
          scheduler.objects(),
          scheduler.cache(),
          scheduler_->cache().resources(),
          *reader_,
          *gate_,
          scheduler_->framework().host().debug_pages,
          extenders_ ? &extenders_->all() : nullptr,
          scheduler.recorded(),
          scheduler.hints(),
          scheduler.metrics(),
          scheduler.counters(),
          slow_calls_,
          recorder_.get(),
          [this] { return scheduler_->queue().nominations(); },
          [this](const model::PodPtr& pod) { return scheduler_->explain(pod, true); },
          [this](const std::function<void(const cache::Snapshot&)>& look) { scheduler_->inspect(look); },
          [this] { return open_calls(); },
          [this] { return plugin_calls_return(); },
          [this] { return cycle_clock_.age_ns(); },
          [this] { return pool_->counts(); },
          [this] { return shadow_ ? std::optional(shadow_->report()) : std::nullopt; }};
}

std::string LiveHost::standstill(std::int64_t cycle_limit_ns) const {
  constexpr std::int64_t k_s = 1'000'000'000;
  if (const std::int64_t age_ns = cycle_clock_.age_ns(); age_ns > cycle_limit_ns)
    return fmt::format("one cycle has been running for {} s", age_ns / k_s);
  if (const std::int64_t waited_ns = pool_->counts().waited.count(); waited_ns > cycle_limit_ns)
    return fmt::format("no thread has come for a binding step for {} s: plugins hold all of them", waited_ns / k_s);
  // The queue asks these under its lock, and there is no answer in their place.
  for (const framework::OpenCall& call : open_calls_.all())
    if (call.age_ns > options_.plugin_call_limit_ns &&
        std::find(k_asked_by_queue.begin(), k_asked_by_queue.end(), call.point) != k_asked_by_queue.end())
      return fmt::format("{} of plugin {} has been running for {} s, and holds the queue", call.point, call.plugin,
                         call.age_ns / k_s);
  return {};
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
    const std::int64_t now_ns = clock_.monotonic_ns();
    for (const framework::SlowCalls::Slow& slow : slow_calls_.look(calls, now_ns)) {
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
  if (reader_) reader_->stop();
  stop_writing();
  if (extenders_) extenders_->all().stop();
  if (scheduler_) {
    scheduler_->end_bindings(std::chrono::milliseconds(1000));
    scheduler_->timers().stop();
  }
  if (timers_.joinable()) timers_.join();
  pool_.reset();  // runs what was posted, which needs the scheduler
  {
    const Lock lock(watch_mutex_);
    watch_over_ = true;
  }
  watch_ends_.notify_one();
  if (call_watch_.joinable()) call_watch_.join();
  if (reading_) reading_->stop();
  if (recorder_) recorder_->stop();  // it asks scheduler and reader
}

void LiveHost::follow(std::function<void()> on_synced) {
  on_synced_ = std::move(on_synced);
  cluster::ClusterSink& direct = shadow_ ? static_cast<cluster::ClusterSink&>(*shadow_) : *sink_;
  follows_ = true;
  reader_->start(recorded_sink_ ? *recorded_sink_ : direct);
}

void LiveHost::schedule() {
  scheduler::Scheduler::Watch watch;
  watch.before = [this](const model::PodPtr& pod) { cycle_clock_.begin(pod); };
  watch.after = [this](const model::PodPtr&, const cycle::Outcome&) { cycle_clock_.end(); };
  while (!stopping_ && scheduler_->schedule_next(watch)) {
  }
}

ShadowReport LiveHost::end_shadow(std::chrono::milliseconds limit) {
  reader_->stop();
  shadow_->finish(std::chrono::nanoseconds(limit).count());
  return shadow_->report();
}

void LiveHost::stop_scheduling() {
  stopping_ = true;
  if (extenders_) extenders_->all().cancel();
  if (scheduler_) {
    scheduler_->binder().stop_waiting();
    scheduler_->queue().close();
  }
}

bool LiveHost::drain(std::chrono::milliseconds limit) { return scheduler_->binder().drain(limit); }

void LiveHost::stop_reporting() noexcept {
  scheduler_->stop_reporting();
  // Elsewhere: plugins hear that their bindings failed.
  pool_->post([gate = gate_] { gate->stop(); });
}

void LiveHost::stop_writing() noexcept {
  if (kube_writer_) kube_writer_->stop();
}

}  // namespace berth::app
