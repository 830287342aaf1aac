// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/single_pass.hpp"

#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <string_view>
#include <utility>

#include "app/simulate/claim_report.hpp"
#include "app/simulate/pre_bind_pass.hpp"
#include "base/clock.hpp"
#include "binding/executor.hpp"
#include "binding/timers.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/quiet_sink.hpp"
#include "observe/heap.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

/// A cluster's writer that can be told to carry out no writes of objects for a while: they are answered as if they had been.
///
/// Place:   behind a pass, which tries pods without giving up anything for those that do not fit. Threads: one.
class ObjectWriteGate final : public cluster::ClusterWriter {
 public:
  explicit ObjectWriteGate(cluster::ClusterWriter& writer) : writer_(writer) {}

  /// Runs `body`; what it writes to objects does not happen.
  template <typename Body>
  auto closed(Body&& body) {
    struct Reopen {
      bool& is_closed;
      ~Reopen() { is_closed = false; }
    } reopen{is_closed_};
    is_closed_ = true;
    return body();
  }

  void bind(const cluster::PodRef& pod, std::string_view node_name, Done done) override {
    writer_.bind(pod, node_name, std::move(done));
  }
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    writer_.patch_pod_status(pod, patch, std::move(done));
  }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch& patch, Done done) override {
    writer_.patch_pod_metadata(pod, patch, std::move(done));
  }
  void evict(const cluster::PodRef& pod, Done done) override { writer_.evict(pod, std::move(done)); }
  void patch_object(const cluster::ObjectRef& object, std::string_view merge_patch_json, Done done) override {
    if (is_closed_) return done(Unit{});
    writer_.patch_object(object, merge_patch_json, std::move(done));
  }
  void write_object(const cluster::ObjectWrite& write, ObjectDone done) override {
    if (is_closed_) return done(write.body);
    writer_.write_object(write, std::move(done));
  }
  void record_event(const cluster::EventRecord& event, Done done) override {
    writer_.record_event(event, std::move(done));
  }

 private:
  cluster::ClusterWriter& writer_;
  bool is_closed_ = false;
};

/// Pods by namespace and name, which are the pods' own: there may be many.
struct ByName {
  using is_transparent = void;
  static const model::Pod& of(const model::Pod& pod) { return pod; }
  static const model::Pod& of(const model::PodPtr& pod) { return *pod; }
  template <typename Pod>
  std::size_t operator()(const Pod& pod) const {
    const std::hash<std::string_view> hash;
    return hash(of(pod).ns.get()) * 31 + hash(of(pod).name);
  }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return of(a).name == of(b).name && of(a).ns.get() == of(b).ns.get();
  }
};
using PodsByName = boost::unordered_flat_set<model::PodPtr, ByName, ByName>;

}  // namespace

/// What is there before the scheduler.
struct SinglePass::World {
  World(SymbolTable& symbols, std::int64_t wall_ns)
      : clock(wall_ns), timers(clock), cluster(symbols, clock, {.claim_controller = true}), gate(cluster) {}

  ManualClock clock;
  binding::Timers timers;
  binding::InlineExecutor executor;
  cluster::EmbeddedCluster cluster;  // objects and what plugins write to them
  ObjectWriteGate gate;              // between plugins and cluster
  PodsByName pending_pods;
  queue::FixedNominations nominated;
};

/// What is written to objects reaches the plugins; pods and nodes are the pass's own affair.
class SinglePass::Feed final : public cluster::QuietSink {
 public:
  explicit Feed(ingest::ObjectFeed& objects) : objects_(objects) {}
  void object_added(const model::ObjectPtr& object) override { objects_.store(*object); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override { objects_.store(*object); }
  void object_deleted(const model::ObjectPtr& object) override { objects_.remove(*object); }

 private:
  ingest::ObjectFeed& objects_;
};

Result<std::unique_ptr<SinglePass>, text::Diagnostics> SinglePass::make(SymbolTable& symbols,
                                                                        const config::Configuration& configuration,
                                                                        const PluginLibrary& plugins,
                                                                        std::int64_t wall_ns,
                                                                        recording::Recorder* recorder) {
  auto world = std::make_unique<World>(symbols, wall_ns);
  const auto lookup = [&pods = world->pending_pods](const model::Pod& pod) {
    const auto it = pods.find(pod);
    return it == pods.end() ? nullptr : *it;
  };
  auto extenders = extender::ConfiguredExtenders::make(configuration, symbols, {});
  scheduler::SchedulerParts parts{symbols,         configuration, plugins.sources(), world->gate,      lookup,
                                  world->executor, world->timers, world->clock,      &world->nominated};
  if (extenders.ok() && *extenders) parts.extenders = &(*extenders)->all();
  parts.opens_gates = true;
  parts.recorder = recorder;
  // Pods are decided in the order of their priority and age, all of them once: few classes take turns, and a pass is to
  // leave memory to others.
  parts.verdicts.bytes_per_node = std::size_t{6} << 10;
  parts.traps_unasked_fields = configuration.plugins.verdict_reuse == config::VerdictReuse::verify;
  auto scheduler = scheduler::ManualScheduler::make(std::move(parts));
  if (extenders.ok() && scheduler.ok())
    return std::unique_ptr<SinglePass>(
        new SinglePass(symbols, std::move(world), std::move(*extenders), std::move(*scheduler)));
  text::Diagnostics diagnostics;
  if (!extenders.ok()) diagnostics = extenders.error();
  if (!scheduler.ok()) diagnostics.add(scheduler.error());
  return diagnostics;
}

SinglePass::SinglePass(SymbolTable& symbols, std::unique_ptr<World> world,
                       std::unique_ptr<extender::ConfiguredExtenders> extenders,
                       std::unique_ptr<scheduler::ManualScheduler> scheduler)
    : symbols_(symbols),
      world_(std::move(world)),
      extenders_(std::move(extenders)),
      scheduler_(std::move(scheduler)),
      deciding_(scheduler_->decision_parts()),
      intake_(scheduler_->intake()),
      feed_(std::make_unique<Feed>(intake_.objects)) {}

SinglePass::~SinglePass() { world_->cluster.stop(); }

cluster::EmbeddedCluster& SinglePass::cluster() noexcept { return world_->cluster; }
std::size_t SinglePass::pending_pods() const noexcept { return world_->pending_pods.size(); }

void SinglePass::load(cluster::Manifests& manifests) {
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object)) intake_.cache.add_node(*node);
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* other = std::get_if<model::ObjectPtr>(&object)) world_->cluster.put_object(*other);
  for (decode::Decoded& object : manifests.objects) {
    if (auto* const pod = std::get_if<model::PodPtr>(&object); pod != nullptr && !(*pod)->finished())
      *pod = load(std::move(*pod));
  }
  gives_up_ = has_stranded_claim(world_->cluster, [this](std::string_view name) {
    const Symbol symbol = symbols_.find(name);
    return symbol != k_no_symbol && intake_.cache.find_node(symbol) != nullptr;
  });
  world_->cluster.start(*feed_);
  for (const decode::Decoded& object : manifests.objects) {
    const auto* pod = std::get_if<model::PodPtr>(&object);
    if (pod == nullptr) continue;
    if (const auto pending = world_->pending_pods.find(**pod); pending != world_->pending_pods.end())
      deciding_.queue.add(*pending);
  }
  world_->nominated.list = deciding_.queue.nominations();
}

model::PodPtr SinglePass::load(model::PodPtr pod) {
  intake_.groups.put(pod, intake_.group_of(*pod));
  if (pod->node_name != k_no_symbol) {
    if (const Status added = intake_.cache.add_pod(pod); !added.ok())
      observe::warning("A pod is left out", {{"err", added.error().message}, {"pod", *pod}});
    return pod;
  }
  if (!intake_.responsible(pod->scheduler_name)) return pod;
  world_->cluster.put_pod(pod);
  // The cluster's own, with a version and the claims that were made for it: there need not be two in memory.
  pod = world_->cluster.find_pod(pod->ns, pod->name);
  world_->pending_pods.insert(pod);
  return pod;
}

void SinglePass::run(const Options& options, const Watcher& watcher) {
  std::size_t decided = 0;
  struct GiveBackMemory {
    cycle::SchedulingCycle& cycle;
    ~GiveBackMemory() {
      cycle.forget_verdicts();
      observe::give_back_unused_heap();  // a report follows, which takes as much again
    }
  } at_the_end{deciding_.cycle};
  PreBindPass pre_binds(deciding_.bind_lookups, symbols_, world_->cluster, world_->timers, world_->clock);
  while (!options.is_too_late || !options.is_too_late()) {
    auto popped = deciding_.queue.pop();
    if (!popped) return;
    queue::Ticket ticket = std::move(*popped);
    const model::PodPtr pod = ticket.pod();
    std::unique_ptr<cycle::Explanation> explanation;
    if (options.explain_all || (!options.explain_pod.empty() && options.explain_pod == pod->key()))
      explanation = std::make_unique<cycle::Explanation>(
          deciding_.cycle.explain(pod, {.details = options.explain_pod == pod->key()}));
    if (pod->deleting) {
      deciding_.queue.done(std::move(ticket));
      continue;
    }
    const auto attempt = [&] { return deciding_.cycle.run(pod, ticket.pod_class()); };
    cycle::Outcome outcome = gives_up_ ? attempt() : world_->gate.closed(attempt);
    report::Decision decision = report::describe(pod, outcome, symbols_, intake_.cache);
    decision.explanation = std::move(explanation);
    if (auto* placement = std::get_if<cycle::Placement>(&outcome)) {
      const Result<PreBindPass::End> pre_bound = pre_binds.run(pod, std::move(*placement));
      if (!pre_bound.ok())
        decision.pre_bind = pre_bound.error().message;
      else if (*pre_bound == PreBindPass::End::waiting)
        decision.pre_bind = "waiting";
    }
    world_->cluster.deliver();
    decision.claims = claims_json(*pod, world_->cluster);
    watcher(std::move(decision));
    deciding_.queue.done(std::move(ticket));
    if (options.progress) options.progress(++decided, world_->pending_pods.size());
  }
}

}  // namespace berth::app
