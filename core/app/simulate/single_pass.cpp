// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/single_pass.hpp"

#include "observe/log.hpp"

namespace berth::app {

SinglePass::SinglePass(SymbolTable& symbols) : symbols_(symbols), writer_(symbols, clock_) {}
SinglePass::~SinglePass() = default;

std::unique_ptr<SinglePass> SinglePass::make(SymbolTable& symbols, const config::Configuration& configuration,
                                             const PluginLibrary& plugins, std::vector<std::string>& complaints) {
  std::unique_ptr<SinglePass> pass(new SinglePass(symbols));
  const auto lookup = [p = pass.get()](const model::Pod& pod) {
    const auto it = p->pending_pods_.find(pod.key());
    return it == p->pending_pods_.end() ? nullptr : it->second;
  };
  const cycle::Nominations kept{[p = pass.get()] { return !p->nominated_.empty(); },
                                [p = pass.get()] { return p->nominated_; }, [](const model::Pod&) {}};
  const std::size_t complaints_before = complaints.size();
  pass->extenders_ = extender::ConfiguredExtenders::make(configuration, symbols, {}, complaints);
  scheduler::SchedulerParts parts{symbols, configuration,   plugins.sources(), pass->writer_,
                                  lookup,  pass->executor_, pass->clock_,      kept};
  parts.extenders = pass->extenders_ ? &pass->extenders_->all() : nullptr;
  pass->scheduler_ = scheduler::Scheduler::make(std::move(parts), complaints);
  if (complaints.size() != complaints_before) return nullptr;
  return pass;
}

void SinglePass::load(const cluster::Manifests& manifests) {
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object)) scheduler_->cache().add_node(*node);
  for (const decode::Decoded& object : manifests.objects) {
    if (const auto* other = std::get_if<model::ObjectPtr>(&object)) {
      scheduler_->objects().apply(**other);
      continue;
    }
    const auto* pod = std::get_if<model::PodPtr>(&object);
    if (pod == nullptr || (*pod)->finished()) continue;
    scheduler_->groups().put(*pod);
    if ((*pod)->node_name != k_no_symbol) {
      if (const Status added = scheduler_->cache().add_pod(*pod); !added.ok())
        observe::warning("A pod is left out", {{"err", added.error().message}, {"pod", **pod}});
    } else if (scheduler_->framework().find((*pod)->scheduler_name) != nullptr) {
      pending_pods_.emplace((*pod)->key(), *pod);
    }
  }
  for (const decode::Decoded& object : manifests.objects) {
    const auto* pod = std::get_if<model::PodPtr>(&object);
    if (pod == nullptr || !pending_pods_.contains((*pod)->key())) continue;
    scheduler_->queue().add(*pod);
  }
  nominated_ = scheduler_->queue().nominations();
}

std::vector<report::Decision> SinglePass::run(const Options& options) {
  std::vector<report::Decision> decisions;
  decisions.reserve(pending_pods_.size());
  while (auto popped = scheduler_->queue().pop()) {
    queue::Ticket ticket = std::move(*popped);
    const model::PodPtr pod = ticket.pod();
    std::unique_ptr<cycle::Explanation> explanation;
    if (options.explain_all || (!options.explain_pod.empty() && options.explain_pod == pod->key()))
      explanation = std::make_unique<cycle::Explanation>(scheduler_->cycle().explain(pod));
    if (pod->deleting) {
      scheduler_->queue().done(std::move(ticket));
      continue;
    }
    cycle::Outcome outcome = scheduler_->cycle().run(pod, ticket.pod_class());
    report::Decision decision = report::describe(pod, outcome, symbols_, scheduler_->cache());
    decision.explanation = std::move(explanation);
    decisions.push_back(std::move(decision));
    if (auto* placement = std::get_if<cycle::Placement>(&outcome)) placement->assumption.confirm();
    scheduler_->queue().done(std::move(ticket));
    if (options.progress) options.progress(decisions.size(), pending_pods_.size());
  }
  return decisions;
}

}  // namespace berth::app
