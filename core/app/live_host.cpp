// SPDX-License-Identifier: Apache-2.0
#include "app/live_host.hpp"

#include <algorithm>

#include "app/kept_parts.hpp"
#include "cluster/kube/protobuf_frames.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_binding_threads = 4;

/// Says what would be written.
class DryRunWriter final : public cluster::ClusterWriter {
 public:
  void bind(const cluster::PodRef& pod, std::string_view node_name, Done done) override {
    observe::info("Dry run: would bind pod to node", {{"pod", pod}, {"node", node_name}});
    done(Unit{});
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
    done(Unit{});
  }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch&, Done done) override {
    observe::info("Dry run: would patch metadata of pod", {{"pod", pod}});
    done(Unit{});
  }
  void evict(const cluster::PodRef& pod, Done done) override {
    observe::info("Dry run: would evict pod", {{"pod", pod}});
    done(Unit{});
  }
  void patch_object(const cluster::ObjectRef& object, std::string_view, Done done) override {
    observe::info("Dry run: would patch object", {{"resource", object.resource}, {"object", object}});
    done(Unit{});
  }
  void record_event(const cluster::EventRecord&, Done done) override { done(Unit{}); }
};

cluster::kube::HttpClientOptions client_options(const config::ClientConnection& connection,
                                                const LiveHostOptions& options, std::uint64_t number) {
  cluster::kube::HttpClientOptions out;
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
  return out;
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

LiveHost::LiveHost(SymbolTable& symbols, const Clock& clock, LiveHostOptions options)
    : symbols_(symbols), options_(std::move(options)), cycle_clock_(clock) {}

std::unique_ptr<LiveHost> LiveHost::make(SymbolTable& symbols, const config::Configuration& configuration,
                                         const PluginLibrary& plugins,
                                         std::shared_ptr<cluster::kube::Endpoint> endpoint,
                                         cluster::kube::IoThreads& io, const Clock& clock, LiveHostOptions options,
                                         std::vector<std::string>& complaints) {
  std::unique_ptr<LiveHost> made(new LiveHost(symbols, clock, std::move(options)));
  LiveHost* const self = made.get();
  const config::ClientConnection& connection = configuration.client_connection;
  const auto find_pod = [self](std::string_view ns, std::string_view name) -> model::PodPtr {
    return self->reader_ == nullptr ? nullptr : self->reader_->find_pod(ns, name);
  };
  cluster::kube::KubeWriterOptions writer{client_options(connection, made->options_, 1000),
                                          client_options(connection, made->options_, 2000), made->options_.host_name};
  made->kube_writer_ = std::make_unique<cluster::kube::KubeWriter>(io, endpoint, clock, find_pod, writer);
  if (made->options_.dry_run) made->dry_writer_ = std::make_unique<DryRunWriter>();
  made->pool_ = std::make_unique<binding::ThreadPool>(k_binding_threads);

  const std::size_t complaints_before = complaints.size();
  made->extenders_ = ConfiguredExtenders::make(
      configuration, symbols, [self](bool waits) { self->cycle_clock_.wait(waits); }, complaints);

  SchedulerParts parts{symbols,
                       configuration,
                       plugins,
                       made->dry_writer_ ? *made->dry_writer_ : *made->kube_writer_,
                       [find_pod](const model::Pod& pod) { return find_pod(pod.ns, pod.name); },
                       *made->pool_,
                       clock};
  parts.leftover_age_ns = made->options_.leftover_age_ns;
  parts.extenders = made->extenders_ ? &made->extenders_->all() : nullptr;
  if (made->options_.dry_run) parts.extender_binding = ExtenderBinding::none;
  // Whoever asks may hold the queue's lock; the pool does not.
  parts.on_activation = [self] {
    self->pool_->post([self] {
      if (Scheduler* const scheduler = self->complete_) scheduler->apply_activations();
    });
  };
  made->scheduler_ = Scheduler::make(std::move(parts), complaints);
  if (complaints.size() != complaints_before) return nullptr;
  Scheduler& scheduler = *made->scheduler_;
  made->complete_ = &scheduler;

  cluster::kube::KubeReaderOptions reader;
  reader.resources = scheduler.objects().resources();
  reader.decode.needs = made->options_.needs;
  keep_for_extenders(configuration, reader.decode);
  keep_for_plugins(scheduler.framework(), reader.decode);
  reader.client = client_options(connection, made->options_, 3000);
  reader.client.accept_gzip = !endpoint->config().disable_compression;
  reader.reflector.accept = accepted_types(connection);
  made->reader_ = std::make_unique<cluster::kube::KubeReader>(io, std::move(endpoint), symbols, reader);
  made->feed_ = std::make_unique<StoreFeed>(scheduler.objects());
  made->handling_times_ = std::make_unique<HandlingTimes>(scheduler.framework().host().metrics);
  made->ingest_ = std::make_unique<ingest::Ingest>(ingest::IngestParts{
      scheduler.cache(), scheduler.groups(), scheduler.queue(), scheduler.waiting(), *made->feed_, clock,
      [&scheduler](std::string_view name) { return scheduler.framework().find(name) != nullptr; },
      [self] {
        if (self->on_synced_) self->on_synced_();
      },
      [self](const model::ClusterEvent& event, double seconds) { self->handling_times_->record(event, seconds); }});
  made->timers_ = std::thread([&scheduler] { scheduler.timers().run_until_stopped(); });
  return made;
}

LiveHost::~LiveHost() {
  stop_scheduling();
  if (reader_) reader_->stop();
  stop_writing();
  if (extenders_) extenders_->all().stop();
  if (scheduler_) {
    scheduler_->binder().drain(std::chrono::milliseconds(1000));
    scheduler_->timers().stop();
  }
  if (timers_.joinable()) timers_.join();
  pool_.reset();  // runs what was posted, which needs the scheduler
}

void LiveHost::follow(std::function<void()> on_synced) {
  on_synced_ = std::move(on_synced);
  reader_->start(*ingest_);
}

void LiveHost::schedule() {
  Scheduler::Watch watch;
  watch.before = [this](const model::PodPtr&) { cycle_clock_.begin(); };
  watch.after = [this](const model::PodPtr&, const cycle::Outcome&) { cycle_clock_.end(); };
  while (!stopping_ && scheduler_->schedule_next(watch)) {
  }
}

void LiveHost::stop_scheduling() {
  stopping_ = true;
  if (extenders_) extenders_->all().cancel();
  if (scheduler_) scheduler_->queue().close();
}

bool LiveHost::drain(std::chrono::milliseconds limit) { return scheduler_->binder().drain(limit); }

void LiveHost::stop_writing() noexcept {
  if (kube_writer_) kube_writer_->stop();
}

}  // namespace berth::app
