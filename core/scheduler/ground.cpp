// SPDX-License-Identifier: Apache-2.0
#include "scheduler/ground.hpp"

#include <algorithm>

#include "base/product.hpp"
#include "config/absent_plugins.hpp"
#include "decode/selectors/selector_text.hpp"
#include "framework/services/gates_service.hpp"
#include "scheduler/object_projector.hpp"

namespace berth::scheduler {
namespace {

/// Reads PodDisruptionBudgets for preemption. A selector that does not parse protects no pod, as upstream.
preemption::BudgetReader budget_reader(SymbolTable& symbols) {
  return [&symbols](const framework::Projection& projection) {
    preemption::DisruptionBudget budget;
    SymbolCollection symbols_of_budget(symbols);
    budget.ns = symbols.intern(projection.ns);
    const auto& values = projection.values;  // in the order of budget_fields()
    if (values[0].present) budget.selector = decode::label_selector_of_json(values[0].text, symbols);
    if (values[1].present) budget.allowed = values[1].number;
    if (values[2].present) budget.disrupted = decode::keys_of_json(values[2].text);
    budget.symbols = symbols_of_budget.take();
    return budget;
  };
}

preemption::AnswerReuse answer_reuse(config::VerdictReuse reuse) {
  switch (reuse) {
    case config::VerdictReuse::on:
      return preemption::AnswerReuse::on;
    case config::VerdictReuse::verify:
      return preemption::AnswerReuse::verify;
    case config::VerdictReuse::off:
      break;
  }
  return preemption::AnswerReuse::off;
}

preemption::CandidateReview candidate_review(extender::Extenders* extenders) {
  if (extenders == nullptr || !extenders->any_preempts()) return {};
  return
      [extenders](framework::Host& host, const model::Pod& preemptor, std::vector<preemption::Candidate>& candidates) {
        return extenders->review(preemptor, candidates, host);
      };
}

/// Whether a plugin of some profile declares that service.
bool declares(const config::Configuration& configuration, const std::vector<framework::PluginSource>& plugins,
              std::string_view service_id) {
  const auto declares_it = [&](const config::EnabledPlugin& enabled) {
    return !enabled.absent && std::any_of(plugins.begin(), plugins.end(), [&](const framework::PluginSource& source) {
      return source.descriptor->name == enabled.name && framework::declares(*source.descriptor, service_id);
    });
  };
  for (const config::Profile& profile : configuration.profiles)
    for (const auto& enabled : profile.points)
      if (std::any_of(enabled.begin(), enabled.end(), declares_it)) return true;
  return false;
}

bool is_scheduler_name(const config::Configuration& configuration, std::string_view name) {
  return std::any_of(configuration.profiles.begin(), configuration.profiles.end(),
                     [&](const config::Profile& profile) { return profile.scheduler_name == name; });
}

}  // namespace

Ground::Ground(SchedulerParts given)
    : parts(std::move(given)),
      recorded_writer(parts.recorder != nullptr ? std::make_unique<RecordedWriter>(parts.writer, *parts.recorder)
                                                : nullptr),
      writer(recorded_writer ? *recorded_writer : parts.writer),
      cache(parts.symbols),
      bind_lookups{[&lookup = parts.lookup](const model::Pod& pod) {
                     const model::PodPtr now = lookup(pod);
                     return now != nullptr && now->uid == pod.uid;
                   },
                   [this](std::string_view name) { return cache.find_node(parts.symbols.find(name)); }},
      queue(parts.retries_between_decisions ? &parts.executor : nullptr),
      objects(make_projector(parts.configuration.features),
              [this](const model::ObjectPtr& written) { queue.object_written(written); }),
      feed(objects),
      metrics(counters),
      waiting(parts.timers),
      recorded(parts.configuration, metrics, counters),
      writes(writer),
      events(writer),
      tasks(parts.executor, parts.timers),
      group_members(groups, cache,
                    [&configuration = parts.configuration](std::string_view name) {
                      return is_scheduler_name(configuration, name);
                    }),
      evictions(parts.lookup),
      handling_times(metrics),
      preemption(objects, declares(parts.configuration, parts.plugins, preemption::k_service),
                 budget_reader(parts.symbols), candidate_review(parts.extenders),
                 answer_reuse(parts.configuration.plugins.verdict_reuse)) {
  if (parts.recorder == nullptr) return;
  recording = std::make_unique<DecisionRecording>(*parts.recorder, cache, snapshot);
  cache.tell(recording.get());
}

Result<std::unique_ptr<framework::Framework>, text::Diagnostics> make_framework(Ground& ground) {
  const SchedulerParts& parts = ground.parts;
  std::vector<framework::HostService> services = ground.preemption.services();
  services.push_back(framework::gates_service(parts.configuration.features));
  framework::FrameworkParts framework{
      parts.symbols,
      ground.snapshot,
      ground.cache.resources(),
      ground.cache.lists(),
      [&cache = ground.cache](cache::PodHandle handle) { return cache.pod(handle); },
      ground.objects,
      ground.metrics,
      ground.counters,
      {parts.clock, ground.waiting, ground.queue, ground.writes, ground.events, ground.tasks, &ground.evictions,
       &ground.group_members, &ground.queue},
      std::string(product()),
      std::move(services),
      parts.extenders != nullptr ? std::string(extender::k_extender_rejector) : std::string(),
      parts.traps_unasked_fields,
      parts.withheld};
  auto made = framework::Framework::make(parts.configuration, config::AbsentPlugins::embedded(), parts.plugins,
                                         std::move(framework));
  if (made.ok()) return std::move(*made);
  text::Diagnostics diagnostics;
  for (const framework::Refusal& refusal : made.error())
    diagnostics.add(fmt::format("BERTH-P051 profile \"{}\": plugin {} refused to be made: {}", refusal.scheduler_name,
                                refusal.plugin, refusal.message));
  return diagnostics;
}

}  // namespace berth::scheduler
