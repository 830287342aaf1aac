// SPDX-License-Identifier: Apache-2.0
#include "preemption/preemption.hpp"

#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"
#include "preemption/dry_run_service.hpp"

namespace berth::preemption {
namespace {

Preemption& preemption_of(void* ctx) noexcept {
  return *static_cast<Preemption*>(framework::plugin_of(ctx).host().state_of(k_service));
}

void preemptor(void* ctx, const berth_cycle_v1* cycle, berth_preemptor_v1* out) {
  const model::Pod& pod = *framework::context_of(cycle).pod();
  const bool nominated = pod.nominated_node != k_no_symbol;
  *out = {out->struct_size, pod.spec->preempts ? 0u : 1u, pod.priority, nominated ? 1u : 0u,
          nominated ? framework::plugin_of(ctx).host().snapshot.find(pod.nominated_node) : cache::k_no_slot};
}

/// What a preemption policy sees of pods that may have to go.
framework::PodFields shown_fields(const framework::PluginInstance& plugin) {
  framework::PodFields shown = plugin.hint_fields();
  shown.groups |= BERTH_POD_PRIORITY | BERTH_POD_NAMESPACE;
  return shown;
}

void pods_on(void* ctx, const berth_cycle_v1*, berth_slot node, std::uint32_t (*visit)(void*, const berth_victim_v1*),
             void* arg) {
  const framework::Host& host = framework::plugin_of(ctx).host();
  if (node >= host.snapshot.slot_count()) return;
  std::uint32_t position = 0;
  for (const cache::PodHandle handle : host.snapshot.row(node).pods) {
    const model::PodPtr pod = host.pod_of(handle);
    if (!pod) continue;
    const berth_victim_v1 seen = victim_facts(*pod, node, position++);
    if (visit(arg, &seen) == 0) return;
  }
}

berth_code search(void* ctx, const berth_cycle_v1* cycle, const berth_preemption_request_v1* request, void* policy_self,
                  berth_preemption_result_v1* result, berth_note_v1* note) {
  framework::PluginInstance& plugin = framework::plugin_of(ctx);
  Preemption& preemption = preemption_of(ctx);
  result->node = BERTH_NO_SLOT;
  if (!framework::has_first_fields(request))
    return framework::answer(note, "the request of a search is too short", BERTH_BAD_ARGS);
  const berth_preemption_policy_v1* const policy = request->policy;
  if (!framework::has_first_fields(policy) || policy->importance == nullptr || policy->rank == nullptr ||
      policy->rank_words == 0 || policy->rank_words > BERTH_RANK_WORDS_MAX)
    return framework::answer(note, "a search needs a policy with importance, rank and 1 to 8 rank words",
                             BERTH_BAD_ARGS);
  if (request->reserved != 0) return framework::answer(note, "the reserved word of a search is not 0", BERTH_BAD_ARGS);
  if (!preemption.is_used() || !plugin.declares(k_service))
    return framework::answer(note, fmt::format("the plugin does not declare the service {}", k_service), BERTH_DENIED);
  if (plugin.host().snapshot.node_count() == 0) return framework::answer(note, "no nodes available", BERTH_ERROR);
  framework::CycleContext& context = framework::context_of(cycle);
  const observe::BreadcrumbNesting nesting;
  const framework::PodFields shown = shown_fields(plugin);
  const VictimChoice& choice =
      preemption.search_of(plugin).run(context, *request, policy_self, preemption.review(), shown);
  result->candidates = choice.candidates;
  switch (choice.outcome) {
    case VictimChoice::Outcome::failed:
      return framework::answer(note, choice.text, BERTH_ERROR);
    case VictimChoice::Outcome::none:
      result->explanation =
          plugin.host().reasons.make({std::string(framework::from_abi(request->prefix)) + choice.text});
      return BERTH_UNSCHEDULABLE;
    case VictimChoice::Outcome::found:
      break;
  }
  result->node = choice.best->slot;
  result->violations = choice.best->violations;
  result->victim_count = static_cast<std::uint32_t>(choice.best->victims.size());
  return BERTH_OK;
}

void victims(void* ctx, const berth_cycle_v1* cycle, void (*visit)(void*, berth_str), void* arg) {
  const VictimChoice* const choice =
      preemption_of(ctx).choice_of(framework::plugin_of(ctx), framework::context_of(cycle).cycle_id());
  if (choice == nullptr) return;
  for (const cache::PodHandle handle : choice->best->victims)
    if (const model::PodPtr pod = framework::plugin_of(ctx).host().pod_of(handle)) {
      const std::string uid = pod->uid.text();
      visit(arg, framework::to_abi(uid));
    }
}

berth_code show(void* ctx, const berth_cycle_v1*, const berth_victim_v1* victim,
                void (*use)(void*, const berth_pod_v1*), void* arg) {
  const framework::Host& host = framework::plugin_of(ctx).host();
  if (victim->node >= host.snapshot.slot_count()) return BERTH_NOT_FOUND;
  std::uint32_t position = 0;
  for (const cache::PodHandle handle : host.snapshot.row(victim->node).pods) {
    const model::PodPtr pod = host.pod_of(handle);
    if (!pod || position++ != victim->position) continue;
    framework::Arena arena;
    framework::PodView view;
    view.reset(*pod, arena);
    use(arg, view.view(shown_fields(framework::plugin_of(ctx))));
    return BERTH_OK;
  }
  return BERTH_NOT_FOUND;
}

void chosen(void* ctx, const berth_cycle_v1* cycle, void (*visit)(void*, const berth_victim_v1*, const berth_pod_v1*),
            void* arg) {
  const framework::Host& host = framework::plugin_of(ctx).host();
  const VictimChoice* const choice =
      preemption_of(ctx).choice_of(framework::plugin_of(ctx), framework::context_of(cycle).cycle_id());
  if (choice == nullptr) return;
  const cache::Slot node = choice->best->slot;
  const framework::PodFields shown = shown_fields(framework::plugin_of(ctx));
  framework::Arena arena;
  for (const cache::PodHandle victim : choice->best->victims) {
    std::uint32_t position = 0;
    for (const cache::PodHandle handle : host.snapshot.row(node).pods) {
      const model::PodPtr pod = host.pod_of(handle);
      if (!pod) continue;
      if (handle == victim) {
        const berth_victim_v1 facts = victim_facts(*pod, node, position);
        arena.reset();
        framework::PodView view;
        view.reset(*pod, arena);
        visit(arg, &facts, view.view(shown));
        break;
      }
      ++position;
    }
  }
}

std::uint32_t evicting(void* ctx, berth_str uid) {
  framework::EvictionsPort* const port = framework::plugin_of(ctx).host().ports.preemption;
  return port != nullptr && port->evicting(framework::from_abi(uid)) ? 1 : 0;
}

constexpr berth_preemption_v1 k_preemption{
    sizeof(berth_preemption_v1), 0, &preemptor, &pods_on, &search, &victims, &evicting, &show, &chosen};

}  // namespace

const std::vector<std::string_view>& service_ids() {
  static const std::vector<std::string_view> ids{k_service, k_dry_run_service};
  return ids;
}

std::vector<framework::HostService> Preemption::services() {
  return {{k_service, &k_preemption, this}, {k_dry_run_service, dry_run_service(), nullptr}};
}

VictimSearch& Preemption::search_of(const framework::PluginInstance& plugin) {
  std::unique_ptr<VictimSearch>& search = searches_[&plugin];
  if (!search) search = std::make_unique<VictimSearch>(plugin.host(), *budgets_, reuse_);
  return *search;
}

const VictimChoice* Preemption::choice_of(const framework::PluginInstance& plugin, std::uint64_t cycle_id) const {
  const auto found = searches_.find(&plugin);
  if (found == searches_.end()) return nullptr;
  const VictimChoice& last = found->second->last();
  return last.best && last.cycle_id == cycle_id ? &last : nullptr;
}

std::vector<ChangedAnswer> Preemption::changed_answers(std::uint64_t cycle_id) const {
  std::vector<ChangedAnswer> changed;
  for (const auto& [plugin, search] : searches_)
    if (search->last().cycle_id == cycle_id)
      changed.insert(changed.end(), search->changed_answers().begin(), search->changed_answers().end());
  return changed;
}

std::optional<PreemptionReport> Preemption::report(const framework::PluginInstance& plugin, std::uint64_t cycle_id,
                                                   cache::Slot node) const {
  const VictimChoice* const choice = choice_of(plugin, cycle_id);
  if (choice == nullptr || choice->best->slot != node) return std::nullopt;
  return choice->report(plugin.host());
}

}  // namespace berth::preemption
