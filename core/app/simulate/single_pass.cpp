// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/single_pass.hpp"

#include "app/simulate/claim_report.hpp"
#include "app/simulate/pre_bind_pass.hpp"
#include "observe/log.hpp"

namespace berth::app {

/// What is written to objects reaches the plugins; pods and nodes are the pass's own affair.
class SinglePass::Feed final : public cluster::ClusterSink {
 public:
  explicit Feed(ingest::ObjectFeed& objects) : objects_(objects) {}
  void pod_added(const model::PodPtr&) override {}
  void pod_updated(const model::PodPtr&, const model::PodPtr&) override {}
  void pod_deleted(const model::PodPtr&) override {}
  void node_added(const model::NodePtr&) override {}
  void node_updated(const model::NodePtr&, const model::NodePtr&) override {}
  void node_deleted(const model::NodePtr&) override {}
  void object_added(const model::ObjectPtr& object) override { objects_.store(*object); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override { objects_.store(*object); }
  void object_deleted(const model::ObjectPtr& object) override { objects_.remove(*object); }
  void synced() override {}

 private:
  ingest::ObjectFeed& objects_;
};

SinglePass::World::World(SymbolTable& symbols, std::int64_t wall_ns)
    : clock(wall_ns), timers(clock), cluster(symbols, clock, {.claim_controller = true}), gate(cluster) {}

Result<std::unique_ptr<SinglePass>, text::Diagnostics> SinglePass::make(SymbolTable& symbols,
                                                                        const config::Configuration& configuration,
                                                                        const PluginLibrary& plugins,
                                                                        std::int64_t wall_ns,
                                                                        recording::Recorder* recorder) {
  auto world = std::make_unique<World>(symbols, wall_ns);
  const auto lookup = [&pods = world->pending_pods](const model::Pod& pod) {
    const auto it = pods.find(pod.key());
    return it == pods.end() ? nullptr : it->second;
  };
  auto extenders = extender::ConfiguredExtenders::make(configuration, symbols, {});
  scheduler::SchedulerParts parts{symbols,         configuration, plugins.sources(), world->gate,      lookup,
                                  world->executor, world->timers, world->clock,      &world->nominated};
  if (extenders.ok() && *extenders) parts.extenders = &(*extenders)->all();
  parts.opens_gates = true;
  parts.recorder = recorder;
  parts.traps_unasked_fields = configuration.plugins.verdict_reuse == config::VerdictReuse::verify;
  auto scheduler = scheduler::Scheduler::make(std::move(parts));
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
                       std::unique_ptr<scheduler::Scheduler> scheduler)
    : symbols_(symbols),
      world_(std::move(world)),
      extenders_(std::move(extenders)),
      scheduler_(std::move(scheduler)),
      deciding_(scheduler_->decision_parts()),
      intake_(scheduler_->intake()),
      feed_(std::make_unique<Feed>(intake_.objects)) {}

SinglePass::~SinglePass() { world_->cluster.stop(); }

void SinglePass::load(const cluster::Manifests& manifests) {
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object)) intake_.cache.add_node(*node);
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* other = std::get_if<model::ObjectPtr>(&object)) world_->cluster.put_object(*other);
  for (const decode::Decoded& object : manifests.objects) {
    if (const auto* pod = std::get_if<model::PodPtr>(&object); pod != nullptr && !(*pod)->finished()) load(*pod);
  }
  gives_up_ = has_stranded_claim(world_->cluster, [this](std::string_view name) {
    const Symbol symbol = symbols_.find(name);
    return symbol != k_no_symbol && intake_.cache.find_node(symbol) != nullptr;
  });
  world_->cluster.start(*feed_);
  for (const decode::Decoded& object : manifests.objects) {
    const auto* pod = std::get_if<model::PodPtr>(&object);
    if (pod == nullptr) continue;
    if (const auto pending = world_->pending_pods.find((*pod)->key()); pending != world_->pending_pods.end())
      deciding_.queue.add(pending->second);
  }
  world_->nominated.list = deciding_.queue.nominations();
}

void SinglePass::load(model::PodPtr pod) {
  intake_.groups.put(pod, intake_.group_of(*pod));
  if (pod->node_name != k_no_symbol) {
    if (const Status added = intake_.cache.add_pod(pod); !added.ok())
      observe::warning("A pod is left out", {{"err", added.error().message}, {"pod", *pod}});
    return;
  }
  if (!intake_.responsible(pod->scheduler_name)) return;
  world_->cluster.put_pod(pod);
  // With the claims that were made for it.
  world_->pending_pods.emplace(pod->key(),
                               pod->spec->resource_claims.empty() ? pod : world_->cluster.find_pod(pod->ns, pod->name));
}

std::vector<report::Decision> SinglePass::run(const Options& options) {
  std::vector<report::Decision> decisions;
  decisions.reserve(world_->pending_pods.size());
  PreBindPass pre_binds(deciding_.bind_lookups, symbols_, world_->cluster, world_->timers, world_->clock);
  while (auto popped = deciding_.queue.pop()) {
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
    decisions.push_back(std::move(decision));
    deciding_.queue.done(std::move(ticket));
    if (options.progress) options.progress(decisions.size(), world_->pending_pods.size());
  }
  return decisions;
}

}  // namespace berth::app
