// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_hints.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/bitmap.hpp"
#include "framework/points/requeue.hpp"

namespace berth::scheduler {
namespace {

using framework::PluginInstance;
using framework::ProfileRuntime;

bool takes_part(const ProfileRuntime& profile, const PluginInstance* plugin) {
  const auto stands_in = [&](const std::vector<PluginInstance*>& list) {
    return std::find(list.begin(), list.end(), plugin) != list.end();
  };
  return stands_in(profile.pre_enqueue) || stands_in(profile.pre_filter) || stands_in(profile.filter) ||
         stands_in(profile.reserve) || stands_in(profile.permit);
}

/// How one plugin's hints are asked, timed and counted.
struct HintsOfPlugin {
  const PluginInstance& plugin;
  metrics::HintMetrics& metrics;
  std::shared_ptr<HintThreads> threads;
  std::shared_ptr<HintThreads::Line> line;

  queue::Hint hint(HintThreads::CallPlugin how) const {
    return [of = *this, how = std::make_shared<const HintThreads::CallPlugin>(std::move(how))](
               const queue::HintCall& call, std::uint64_t* queue) {
      const std::span<std::uint64_t> words(queue, bitmap::words_for(call.pods.size()));
      const auto began = std::chrono::steady_clock::now();
      const HintThreads::Answer answer = of.threads->ask(of.line, how, call, words);
      if (answer == HintThreads::Answer::not_asked) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      const std::size_t queued = bitmap::count(words.data(), words.size());
      of.metrics.add(of.plugin.index(), call.event,
                     {queued, call.pods.size() - queued, answer != HintThreads::Answer::given}, seconds);
    };
  }
};

/// What one plugin registered. Derived interests are answered by its filter on the new row.
std::vector<queue::Registration> registrations_of(const ProfileRuntime& profile, const PluginInstance& plugin,
                                                  metrics::HintMetrics& metrics,
                                                  const std::shared_ptr<HintThreads>& threads) {
  using Question = HintThreads::Question;
  using Words = std::span<std::uint64_t>;
  std::vector<queue::Registration> own;
  const HintsOfPlugin hints{plugin, metrics, threads, threads->make_line(plugin.name())};
  for (std::uint32_t i = 0; i < plugin.requeue->interest_count; ++i) {
    const berth_interest_v1& interest = plugin.requeue->interests[i];
    queue::Registration registration;
    registration.registered = {static_cast<model::EventResource>(plugin.resource_of(interest)), interest.actions, {}};
    registration.plugin = plugin.index();
    if (interest.hinted != 0 && plugin.requeue->hint != nullptr)
      registration.hint = hints.hint([&plugin, i](framework::HintCalls& calls, const Question& about, Words queue) {
        return calls.ask(plugin, i, about.event, about.objects, about.pods, queue.data());
      });
    else if ((interest.flags & BERTH_INTEREST_DERIVED) != 0)
      registration.hint =
          hints.hint([&profile, &plugin](framework::HintCalls& calls, const Question& about, Words queue) {
            return calls.ask_filter(profile, plugin, about.objects, about.pods, queue.data());
          });
    own.push_back(std::move(registration));
  }
  return own;
}

constexpr model::EventActions k_pod_updates =
    model::actions::update_pod_label | model::actions::update_pod_scale_down | model::actions::update_pod_toleration |
    model::actions::update_pod_scheduling_gates_eliminated | model::actions::update_pod_generated_resource_claim;

}  // namespace

queue::HintTable make_hint_table(const framework::Framework& framework, metrics::HintMetrics& metrics,
                                 std::shared_ptr<HintThreads> threads) {
  std::vector<queue::ProfileHints> profiles;
  for (const auto& profile : framework.profiles()) {
    queue::ProfileHints hints;
    hints.scheduler_name = profile->scheduler_name;
    for (const auto& plugin : profile->instances) {
      if (!takes_part(*profile, plugin.get())) continue;
      queue::append_registrations(hints.registrations, plugin->requeue != nullptr
                                                           ? registrations_of(*profile, *plugin, metrics, threads)
                                                           : queue::default_registrations(plugin->index()));
    }
    // A pod needs an absent plugin because of its own fields: only an update of a pod can end that.
    for (const framework::AbsentRuntime& absent : profile->absent) {
      queue::Registration registration;
      registration.registered = {model::EventResource::pod, k_pod_updates, {}};
      registration.plugin = absent.index;
      hints.registrations.push_back(std::move(registration));
    }
    // What an extender goes by is not known.
    if (framework.extra_rejector() != model::k_no_plugin)
      queue::append_registrations(hints.registrations, queue::default_registrations(framework.extra_rejector()));
    profiles.push_back(std::move(hints));
  }
  return queue::HintTable(std::move(profiles));
}

}  // namespace berth::scheduler
