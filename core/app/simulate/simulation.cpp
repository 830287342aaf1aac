// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/simulation.hpp"

#include <algorithm>
#include <map>

#include "scheduler/object_feed.hpp"

namespace berth::app {
namespace {

// How often every unbound pod may be tried while none of them gets bound, before a simulation calls it the end.
constexpr std::size_t k_fruitless_rounds = 3;

}  // namespace

Simulation::Simulation(SymbolTable& symbols, Options options)
    : symbols_(symbols),
      options_(std::move(options)),
      clock_(options_.start_wall_ns),
      cluster_(symbols, clock_,
               {.graceful_deletes = true,
                .record_writes = options_.record_writes,
                .volume_controller = options_.has_controllers,
                .claim_controller = options_.has_controllers}) {}

Simulation::~Simulation() {
  cluster_.stop();
  if (scheduler_) scheduler_->end_bindings(std::chrono::milliseconds(0));
}

std::unique_ptr<Simulation> Simulation::make(SymbolTable& symbols, const config::Configuration& configuration,
                                             const PluginLibrary& plugins, Options options,
                                             std::vector<std::string>& complaints) {
  std::unique_ptr<Simulation> made(new Simulation(symbols, std::move(options)));
  Simulation* const self = made.get();
  const std::size_t complaints_before = complaints.size();
  made->extenders_ = extender::ConfiguredExtenders::make(configuration, symbols, {}, complaints);
  recording::Recorder* const recorder = made->options_.recorder;
  if (recorder != nullptr) made->recorded_writer_ = std::make_unique<RecordedWriter>(made->cluster_, *recorder);
  cluster::ClusterWriter& plain_writer = made->cluster_;
  scheduler::SchedulerParts parts{symbols,
                                  configuration,
                                  plugins.sources(),
                                  made->recorded_writer_ ? *made->recorded_writer_ : plain_writer,
                                  [self](const model::Pod& pod) { return self->cluster_.find_pod(pod.ns, pod.name); },
                                  made->executor_,
                                  made->clock_};
  parts.extenders = made->extenders_ ? &made->extenders_->all() : nullptr;
  parts.extender_binding = scheduler::ExtenderBinding::recorded;
  parts.recorder = recorder;
  parts.traps_unasked_fields = configuration.plugins.verdict_reuse == config::VerdictReuse::verify;
  made->scheduler_ = scheduler::Scheduler::make(std::move(parts), complaints);
  if (complaints.size() != complaints_before) return nullptr;
  scheduler::Scheduler& scheduler = *made->scheduler_;
  made->feed_ = std::make_unique<scheduler::StoreFeed>(scheduler.objects());
  made->ingest_ = std::make_unique<ingest::Ingest>(
      ingest::IngestParts{scheduler.cache(),
                          scheduler.groups(),
                          scheduler.queue(),
                          scheduler.waiting(),
                          *made->feed_,
                          made->clock_,
                          [&scheduler](std::string_view name) { return scheduler.framework().find(name) != nullptr; },
                          {}});
  if (recorder != nullptr) made->recorded_sink_ = std::make_unique<RecordedSink>(*made->ingest_, *recorder);
  cluster::ClusterSink& plain_sink = *made->ingest_;
  made->cluster_.start(made->recorded_sink_ ? *made->recorded_sink_ : plain_sink);
  return made;
}

bool Simulation::decide_one(const Watcher& watcher) {
  std::map<std::string, std::unique_ptr<cycle::Explanation>> explanations;  // by uid: a group is tried at once
  scheduler::Scheduler::Watch watch;
  if (options_.explain_all || !options_.explain_pod.empty())
    watch.before = [&](const model::PodPtr& pod) {
      if (options_.explain_all || options_.explain_pod == pod->key())
        explanations[pod->uid] =
            std::make_unique<cycle::Explanation>(scheduler_->cycle().explain(pod, options_.explain_pod == pod->key()));
    };
  watch.after = [&](const model::PodPtr& pod, const cycle::Outcome& outcome) {
    if (!watcher) return;
    report::Decision decision = report::describe(pod, outcome, symbols_, scheduler_->cache());
    if (const auto at = explanations.find(pod->uid); at != explanations.end())
      decision.explanation = std::move(at->second);
    watcher(std::move(decision));
  };
  return scheduler_->schedule_one(watch);
}

std::size_t Simulation::run_until_idle(const Watcher& watcher) {
  std::size_t decided = 0;
  for (;;) {
    cluster_.finish_due_deletions();
    const std::size_t delivered = cluster_.deliver();
    scheduler_->timers().run_due();
    scheduler_->queue().flush();
    if (decide_one(watcher)) {
      ++decided;
      continue;
    }
    if (delivered == 0 && cluster_.waiting() == 0) return decided;
  }
}

void Simulation::take_in() {
  while (cluster_.deliver() != 0) {
  }
}

void Simulation::move_clock_to(std::int64_t monotonic_ns) {
  const std::int64_t now = clock_.monotonic_ns();
  if (monotonic_ns > now) clock_.advance(std::chrono::nanoseconds(monotonic_ns - now));
}

std::size_t Simulation::advance(std::chrono::nanoseconds duration, const Watcher& watcher) {
  const std::int64_t end = clock_.monotonic_ns() + duration.count();
  std::size_t decided = run_until_idle(watcher);
  for (;;) {
    std::optional<std::int64_t> next = scheduler_->queue().next_wakeup_ns();
    if (const auto timer = scheduler_->timers().next_ns(); timer && (!next || *timer < *next)) next = timer;
    if (const auto gone = cluster_.next_deletion_ns(); gone && (!next || *gone < *next)) next = gone;
    if (!next || *next > end) break;
    move_clock_to(std::max(*next, clock_.monotonic_ns() + 1));
    decided += run_until_idle(watcher);
  }
  move_clock_to(end);
  return decided + run_until_idle(watcher);
}

bool Simulation::binding_waits() const {
  return scheduler_->waiting().size() != 0 || !scheduler_->binder().open_bindings().empty();
}

void Simulation::end_waiting() {
  while (binding_waits()) {
    const auto timer = scheduler_->timers().next_ns();
    if (!timer) return;
    move_clock_to(std::max(*timer, clock_.monotonic_ns() + 1));
    scheduler_->timers().run_due();
    cluster_.deliver();
  }
}

std::size_t Simulation::run_to_the_end(const Watcher& watcher) {
  std::size_t decided = run_until_idle(watcher);
  // Time alone repeats what failed; it is worth letting it pass only while pods still get bound, or wait for a
  // decision. A place that a later step took away again counts for nothing.
  std::size_t bound_before_scan = cluster_.bound_count() + 1;
  std::size_t fruitless = 0;
  for (;;) {
    std::optional<std::int64_t> next = scheduler_->queue().next_backoff_ns();
    if (binding_waits())
      if (const auto timer = scheduler_->timers().next_ns(); timer && (!next || *timer < *next)) next = timer;
    const auto gone = cluster_.next_deletion_ns();  // room that was made and is not free yet
    if (gone && (!next || *gone < *next)) next = gone;
    if (!next) {
      if (cluster_.bound_count() == bound_before_scan) return decided;  // a whole round of leftovers changed nothing
      next = scheduler_->queue().next_leftover_ns();
      if (!next) return decided;
      bound_before_scan = cluster_.bound_count();
    }
    const std::size_t bound = cluster_.bound_count();
    move_clock_to(std::max(*next, clock_.monotonic_ns() + 1));
    const std::size_t now = run_until_idle(watcher);
    decided += now;
    fruitless = cluster_.bound_count() != bound || gone ? 0 : fruitless + now;
    const queue::QueueSizes sizes = scheduler_->queue().sizes();
    const std::size_t unbound = sizes.backoff + sizes.unschedulable + sizes.active + scheduler_->waiting().size();
    if (fruitless > k_fruitless_rounds * (unbound + 1)) {
      end_waiting();
      return decided;
    }
  }
}

}  // namespace berth::app
