// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/single_pass.hpp"

#include "app/simulate/claim_report.hpp"
#include "app/simulate/pre_bind_pass.hpp"
#include "observe/log.hpp"

namespace berth::app {

/// What is written to objects reaches the plugins; pods and nodes are the pass's own affair.
class SinglePass::Feed final : public cluster::ClusterSink {
 public:
  explicit Feed(framework::ObjectStore& objects) : objects_(objects) {}
  void pod_added(const model::PodPtr&) override {}
  void pod_updated(const model::PodPtr&, const model::PodPtr&) override {}
  void pod_deleted(const model::PodPtr&) override {}
  void node_added(const model::NodePtr&) override {}
  void node_updated(const model::NodePtr&, const model::NodePtr&) override {}
  void node_deleted(const model::NodePtr&) override {}
  void object_added(const model::ObjectPtr& object) override { objects_.apply(*object); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override { objects_.apply(*object); }
  void object_deleted(const model::ObjectPtr& object) override { objects_.remove(*object); }
  void synced() override {}

 private:
  framework::ObjectStore& objects_;
};

SinglePass::SinglePass(SymbolTable& symbols, std::int64_t wall_ns)
    : symbols_(symbols), clock_(wall_ns), cluster_(symbols, clock_, {.claim_controller = true}) {}
SinglePass::~SinglePass() { cluster_.stop(); }

std::unique_ptr<SinglePass> SinglePass::make(SymbolTable& symbols, const config::Configuration& configuration,
                                             const PluginLibrary& plugins, std::vector<std::string>& complaints,
                                             std::int64_t wall_ns, recording::Recorder* recorder) {
  std::unique_ptr<SinglePass> pass(new SinglePass(symbols, wall_ns));
  const auto lookup = [p = pass.get()](const model::Pod& pod) {
    const auto it = p->pending_pods_.find(pod.key());
    return it == p->pending_pods_.end() ? nullptr : it->second;
  };
  const cycle::Nominations kept{[p = pass.get()] { return !p->nominated_.empty(); },
                                [p = pass.get()] { return p->nominated_; }, [](const model::Pod&) {}};
  const std::size_t complaints_before = complaints.size();
  pass->extenders_ = extender::ConfiguredExtenders::make(configuration, symbols, {}, complaints);
  scheduler::SchedulerParts parts{symbols, configuration,   plugins.sources(), pass->gate_,
                                  lookup,  pass->executor_, pass->clock_,      kept};
  parts.extenders = pass->extenders_ ? &pass->extenders_->all() : nullptr;
  parts.opens_gates = true;
  parts.recorder = recorder;
  parts.traps_unasked_fields = configuration.plugins.verdict_reuse == config::VerdictReuse::verify;
  pass->scheduler_ = scheduler::Scheduler::make(std::move(parts), complaints);
  if (complaints.size() != complaints_before) return nullptr;
  return pass;
}

void SinglePass::load(const cluster::Manifests& manifests) {
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object)) scheduler_->cache().add_node(*node);
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* other = std::get_if<model::ObjectPtr>(&object)) cluster_.put_object(*other);
  for (const decode::Decoded& object : manifests.objects) {
    if (const auto* pod = std::get_if<model::PodPtr>(&object); pod != nullptr && !(*pod)->finished()) load(*pod);
  }
  gives_up_ = has_stranded_claim(cluster_, [this](std::string_view name) {
    const Symbol symbol = symbols_.find(name);
    return symbol != k_no_symbol && scheduler_->cache().find_node(symbol) != nullptr;
  });
  feed_ = std::make_unique<Feed>(scheduler_->objects());
  cluster_.start(*feed_);
  for (const decode::Decoded& object : manifests.objects) {
    const auto* pod = std::get_if<model::PodPtr>(&object);
    if (pod == nullptr) continue;
    if (const auto pending = pending_pods_.find((*pod)->key()); pending != pending_pods_.end())
      scheduler_->queue().add(pending->second);
  }
  nominated_ = scheduler_->queue().nominations();
}

void SinglePass::load(model::PodPtr pod) {
  scheduler_->groups().put(pod);
  if (pod->node_name != k_no_symbol) {
    if (const Status added = scheduler_->cache().add_pod(pod); !added.ok())
      observe::warning("A pod is left out", {{"err", added.error().message}, {"pod", *pod}});
    return;
  }
  if (scheduler_->framework().find(pod->scheduler_name) == nullptr) return;
  cluster_.put_pod(pod);
  // With the claims that were made for it.
  pending_pods_.emplace(pod->key(), pod->spec->resource_claims.empty() ? pod : cluster_.find_pod(pod->ns, pod->name));
}

std::vector<report::Decision> SinglePass::run(const Options& options) {
  std::vector<report::Decision> decisions;
  decisions.reserve(pending_pods_.size());
  PreBindPass pre_binds(*scheduler_, cluster_, clock_);
  while (auto popped = scheduler_->queue().pop()) {
    queue::Ticket ticket = std::move(*popped);
    const model::PodPtr pod = ticket.pod();
    std::unique_ptr<cycle::Explanation> explanation;
    if (options.explain_all || (!options.explain_pod.empty() && options.explain_pod == pod->key()))
      explanation =
          std::make_unique<cycle::Explanation>(scheduler_->cycle().explain(pod, options.explain_pod == pod->key()));
    if (pod->deleting) {
      scheduler_->queue().done(std::move(ticket));
      continue;
    }
    const auto attempt = [&] { return scheduler_->cycle().run(pod, ticket.pod_class()); };
    cycle::Outcome outcome = gives_up_ ? attempt() : gate_.closed(attempt);
    report::Decision decision = report::describe(pod, outcome, symbols_, scheduler_->cache());
    decision.explanation = std::move(explanation);
    if (auto* placement = std::get_if<cycle::Placement>(&outcome))
      decision.pre_bind = pre_binds.run(pod, std::move(*placement));
    cluster_.deliver();
    decision.claims = claims_json(*pod, cluster_);
    decisions.push_back(std::move(decision));
    scheduler_->queue().done(std::move(ticket));
    if (options.progress) options.progress(decisions.size(), pending_pods_.size());
  }
  return decisions;
}

}  // namespace berth::app
