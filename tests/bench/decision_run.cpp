// SPDX-License-Identifier: Apache-2.0
#include "bench/decision_run.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "app/simulate/single_pass.hpp"
#include "bench/allocation_count.hpp"
#include "berth/static_plugins.hpp"

namespace berth::bench {
namespace {

/// Of the calling thread.
double thread_cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace

std::size_t DecisionRun::placed() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(placements.begin(), placements.end(), [](int node) { return node >= 0; }));
}

std::uint32_t DecisionRun::typical_allocations() const {
  std::vector<std::uint32_t> late(allocations.begin() + static_cast<std::ptrdiff_t>(allocations.size() / 2),
                                  allocations.end());
  if (late.empty()) return 0;
  const auto middle = late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2);
  std::nth_element(late.begin(), middle, late.end());
  return *middle;
}

double DecisionRun::mean_allocations() const noexcept {
  const auto late = allocations.begin() + static_cast<std::ptrdiff_t>(allocations.size() / 2);
  if (late == allocations.end()) return 0;
  return std::accumulate(late, allocations.end(), 0.0) / static_cast<double>(allocations.end() - late);
}

app::PluginLibrary linked_policies() {
  app::PluginLibrary library;
  library.plugins = loader::LoadedPlugins::from_static(static_plugins(), app::host_offer(), library.report);
  return library;
}

namespace {

constexpr std::string_view k_gangs =
    R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
  "profiles":[{"schedulerName":"default-scheduler","plugins":{"multiPoint":{"enabled":[{"name":"Coscheduling"}]},
  "queueSort":{"enabled":[{"name":"Coscheduling"}],"disabled":[{"name":"*"}]}}}]})";

/// Where the members went, as many as the queue gave.
void decide_gang(scheduler::ManualScheduler& scheduler, queue::Ticket first, std::vector<Symbol>& chosen) {
  const scheduler::DecisionParts host = scheduler.decision_parts();
  const framework::Quorum quorum = framework::ask_quorum(*host.framework.profiles().front()->groups, *first.pod());
  std::vector<queue::Ticket> tickets = host.queue.pop_group(std::move(first));
  if (!quorum.verdict.success() || tickets.size() < quorum.needed) throw std::runtime_error("a gang is not complete");
  cycle::GroupOutcome plan = cycle::GroupCycle(host.cycle, host.snapshot, host.framework.host().resources)
                                 .run(scheduler.group_request(tickets, quorum.needed));
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    auto* const placement = std::get_if<cycle::Placement>(&plan.members[i]);
    chosen.push_back(placement != nullptr ? placement->assumption.node_name() : k_no_symbol);
    if (placement != nullptr) placement->confirm();
    host.queue.done(std::move(tickets[i]));
  }
}

cluster::Manifests manifests_of(const Workload& workload) {
  cluster::Manifests manifests;
  for (const auto& node : workload.nodes) manifests.objects.emplace_back(node);
  for (const auto& object : workload.objects) manifests.objects.emplace_back(object);
  for (const auto& pod : workload.bound) manifests.objects.emplace_back(pod);
  for (const auto& pod : workload.pods) manifests.objects.emplace_back(pod);
  return manifests;
}

}  // namespace

config::RawConfiguration raw_configuration(bool gangs, const std::string& file) {
  text::Diagnostics problems;
  if (file.empty()) return gangs ? config::load(k_gangs, "gangs", problems) : config::load_defaults();
  config::RawConfiguration raw = config::load_file(file, problems);
  if (!problems.empty()) throw std::runtime_error(problems.render());
  return raw;
}

config::Configuration default_configuration(const app::PluginLibrary& plugins, config::VerdictReuse reuse, bool gangs,
                                            const std::string& file) {
  text::Diagnostics problems;
  config::Configuration configuration =
      config::resolve(raw_configuration(gangs, file), plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  if (!plugins.ok() || !problems.empty()) throw std::runtime_error(plugins.report.render() + problems.render());
  configuration.plugins.verdict_reuse = reuse;
  return configuration;
}

DecisionRun run_decisions(const Workload& workload, SymbolTable& symbols, const config::Configuration& configuration,
                          const app::PluginLibrary& plugins, Recording recording) {
  auto made = app::SinglePass::make(symbols, configuration, plugins, 0, recording.recorder);
  if (!made.ok()) throw std::runtime_error(made.error().render());
  const std::unique_ptr<app::SinglePass> pass = std::move(*made);
  {
    cluster::Manifests manifests = manifests_of(workload);
    pass->load(manifests);
  }
  if (recording.recorder != nullptr) recording.recorder->flush();
  const scheduler::DecisionParts host = pass->scheduler().decision_parts();
  std::vector<Symbol> chosen;
  chosen.reserve(workload.pods.size());
  DecisionRun run;
  run.allocations.reserve(workload.pods.size());

  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = thread_cpu_seconds();
  double slice_start = cpu_start;
  bool records = recording.recorder != nullptr;
  for (;;) {
    if (recording.in_turns != 0 && !chosen.empty() && chosen.size() % recording.in_turns == 0) {
      const double now = thread_cpu_seconds();
      (records ? run.recorded_slices : run.other_slices).push_back(now - slice_start);
      records = !records;
      slice_start = thread_cpu_seconds();
    }
    const std::uint64_t before = allocation_count();
    auto ticket = host.queue.pop();
    if (!ticket) break;
    if (!ticket->group().empty()) {
      decide_gang(pass->scheduler(), std::move(*ticket), chosen);
      run.allocations.push_back(static_cast<std::uint32_t>(allocation_count() - before));
      continue;
    }
    // As Scheduler does, whether it records or not; a recorder takes it over.
    model::PodPtr pod = recording.recorder != nullptr ? ticket->pod() : nullptr;
    recording::Attempt attempt;
    attempt.rotation = host.cycle.rotation();
    cycle::Outcome outcome = host.cycle.run(ticket->pod(), ticket->pod_class());
    if (records) host.recording->attempt(*ticket, std::move(pod), outcome, std::move(attempt), host.framework);
    Symbol node = k_no_symbol;
    if (auto* placement = std::get_if<cycle::Placement>(&outcome)) {
      node = placement->assumption.node_name();
      placement->confirm();
    }
    chosen.push_back(node);
    host.queue.done(std::move(*ticket));
    run.allocations.push_back(static_cast<std::uint32_t>(allocation_count() - before));
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  run.cpu_seconds = thread_cpu_seconds() - cpu_start;
  run.violations = host.cycle.reuse_counts().violations;

  std::unordered_map<Symbol, int> index;
  for (std::size_t i = 0; i < workload.nodes.size(); ++i) index[workload.nodes[i]->name_symbol] = static_cast<int>(i);
  for (const Symbol node : chosen) run.placements.push_back(node == k_no_symbol ? -1 : index.at(node));
  return run;
}

}  // namespace berth::bench
