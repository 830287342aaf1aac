// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/simulation.hpp"

#include <algorithm>
#include <map>

namespace berth::app {
namespace {

// How often every unbound pod may be tried while none of them gets bound, before a simulation calls it the end.
constexpr std::size_t k_fruitless_rounds = 3;

}  // namespace

Simulation::World::World(SymbolTable& symbols, const Options& options)
    : clock(options.start_wall_ns),
      timers(clock),
      cluster(symbols, clock,
              {.graceful_deletes = true,
               .record_writes = options.record_writes,
               .volume_controller = options.has_controllers,
               .claim_controller = options.has_controllers,
               .refuse = options.refuse}) {}

Result<std::unique_ptr<Simulation>, text::Diagnostics> Simulation::make(SymbolTable& symbols,
                                                                        const config::Configuration& configuration,
                                                                        const PluginLibrary& plugins, Options options) {
  auto world = std::make_unique<World>(symbols, options);
  auto extenders = extender::ConfiguredExtenders::make(configuration, symbols, {});
  scheduler::SchedulerParts parts{
      symbols,
      configuration,
      plugins.sources(),
      world->cluster,
      [&cluster = world->cluster](const model::Pod& pod) { return cluster.find_pod(pod.ns, pod.name); },
      world->executor,
      world->timers,
      world->clock};
  if (extenders.ok() && *extenders) parts.extenders = &(*extenders)->all();
  parts.extender_binding = scheduler::ExtenderBinding::recorded;
  parts.recorder = options.recorder;
  parts.traps_unasked_fields = configuration.plugins.verdict_reuse == config::VerdictReuse::verify;
  parts.withheld = options.withheld;
  auto scheduler = scheduler::ManualScheduler::make(std::move(parts));
  if (extenders.ok() && scheduler.ok())
    return std::unique_ptr<Simulation>(
        new Simulation(symbols, std::move(options), std::move(world), std::move(*extenders), std::move(*scheduler)));
  text::Diagnostics diagnostics;
  if (!extenders.ok()) diagnostics = extenders.error();
  if (!scheduler.ok()) diagnostics.add(scheduler.error());
  return diagnostics;
}

Simulation::Simulation(SymbolTable& symbols, Options options, std::unique_ptr<World> world,
                       std::unique_ptr<extender::ConfiguredExtenders> extenders,
                       std::unique_ptr<scheduler::ManualScheduler> scheduler)
    : symbols_(symbols),
      options_(std::move(options)),
      world_(std::move(world)),
      extenders_(std::move(extenders)),
      scheduler_(std::move(scheduler)),
      deciding_(scheduler_->decision_parts()),
      ingest_(scheduler_->intake()) {
  if (options_.recorder != nullptr) recorded_sink_.emplace(ingest_, *options_.recorder);
  cluster::ClusterSink& plain_sink = ingest_;
  world_->cluster.start(recorded_sink_ ? *recorded_sink_ : plain_sink);
}

Simulation::~Simulation() {
  world_->cluster.stop();
  scheduler_->end_bindings(std::chrono::milliseconds(0));
}

bool Simulation::decide_one(const Watcher& watcher) {
  std::map<std::string, std::unique_ptr<cycle::Explanation>> explanations;  // by uid: a group is tried at once
  scheduler::Scheduler::Watch watch;
  if (options_.explain_all || !options_.explain_pod.empty())
    watch.before = [&](const model::PodPtr& pod) {
      if (options_.explain_all || options_.explain_pod == pod->key())
        explanations[pod->uid] = std::make_unique<cycle::Explanation>(
            deciding_.cycle.explain(pod, {.details = options_.explain_pod == pod->key()}));
    };
  watch.after = [&](const model::PodPtr& pod, const cycle::Outcome& outcome) {
    if (!watcher) return;
    report::Decision decision = report::describe(pod, outcome, symbols_, scheduler_->views().cache);
    if (const auto at = explanations.find(pod->uid); at != explanations.end())
      decision.explanation = std::move(at->second);
    watcher(std::move(decision));
  };
  return scheduler_->schedule_one(watch);
}

std::size_t Simulation::run_until_idle(const Watcher& watcher) {
  std::size_t decided = 0;
  for (;;) {
    if (is_too_late()) return decided;
    world_->cluster.finish_due_deletions();
    const std::size_t delivered = world_->cluster.deliver();
    world_->timers.run_due();
    deciding_.queue.flush();
    if (decide_one(watcher)) {
      ++decided;
      continue;
    }
    if (delivered == 0 && world_->cluster.waiting() == 0) return decided;
  }
}

void Simulation::take_in() {
  while (world_->cluster.deliver() != 0) {
  }
}

void Simulation::move_clock_to(std::int64_t monotonic_ns) {
  const std::int64_t now = world_->clock.monotonic_ns();
  if (monotonic_ns > now) world_->clock.advance(std::chrono::nanoseconds(monotonic_ns - now));
}

std::size_t Simulation::advance(std::chrono::nanoseconds duration, const Watcher& watcher) {
  const std::int64_t end = world_->clock.monotonic_ns() + duration.count();
  std::size_t decided = run_until_idle(watcher);
  for (;;) {
    std::optional<std::int64_t> next = deciding_.queue.next_wakeup_ns();
    if (const auto timer = world_->timers.next_ns(); timer && (!next || *timer < *next)) next = timer;
    if (const auto gone = world_->cluster.next_deletion_ns(); gone && (!next || *gone < *next)) next = gone;
    if (!next || *next > end) break;
    move_clock_to(std::max(*next, world_->clock.monotonic_ns() + 1));
    decided += run_until_idle(watcher);
  }
  move_clock_to(end);
  return decided + run_until_idle(watcher);
}

bool Simulation::binding_waits() const {
  return scheduler_->views().waiting.size() != 0 || !scheduler_->views().bindings.open_bindings().empty();
}

void Simulation::end_waiting() {
  while (binding_waits()) {
    const auto timer = world_->timers.next_ns();
    if (!timer) return;
    move_clock_to(std::max(*timer, world_->clock.monotonic_ns() + 1));
    world_->timers.run_due();
    world_->cluster.deliver();
  }
}

std::size_t Simulation::run_to_the_end(const Watcher& watcher) {
  std::size_t decided = run_until_idle(watcher);
  // Time alone repeats what failed; it is worth letting it pass only while pods still get bound, or wait for a
  // decision. A place that a later step took away again counts for nothing.
  std::size_t bound_before_scan = world_->cluster.bound_count() + 1;
  std::size_t fruitless = 0;
  while (!is_too_late()) {
    std::optional<std::int64_t> next = deciding_.queue.next_backoff_ns();
    if (binding_waits())
      if (const auto timer = world_->timers.next_ns(); timer && (!next || *timer < *next)) next = timer;
    const auto gone = world_->cluster.next_deletion_ns();  // room that was made and is not free yet
    if (gone && (!next || *gone < *next)) next = gone;
    if (!next) {
      if (world_->cluster.bound_count() == bound_before_scan)
        return decided;  // a whole round of leftovers changed nothing
      next = deciding_.queue.next_leftover_ns();
      if (!next) return decided;
      bound_before_scan = world_->cluster.bound_count();
    }
    const std::size_t bound = world_->cluster.bound_count();
    move_clock_to(std::max(*next, world_->clock.monotonic_ns() + 1));
    const std::size_t now = run_until_idle(watcher);
    decided += now;
    fruitless = world_->cluster.bound_count() != bound || gone ? 0 : fruitless + now;
    const queue::QueueSizes sizes = deciding_.queue.sizes();
    const std::size_t unbound = sizes.backoff + sizes.unschedulable + sizes.active + scheduler_->views().waiting.size();
    if (fruitless > k_fruitless_rounds * (unbound + 1)) {
      end_waiting();
      return decided;
    }
  }
  return decided;
}

}  // namespace berth::app
