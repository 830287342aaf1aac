// SPDX-License-Identifier: Apache-2.0
/// From plans to a policy: refuses nodes that do not suit the claims, takes volumes for the chosen one, and binds them
/// before the pod. What it says about a node, and which rules it plans by, is up to the policy that derives from it.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go.
#pragma once
#include "binding.hpp"

#include <atomic>
#include <memory>

namespace volume_binding {

inline bool names_claims(berth::Pod pod) {
  for (const berth_volume_v1& volume : pod.volumes())
    if (volume.kind == BERTH_VOLUME_CLAIM || volume.kind == BERTH_VOLUME_EPHEMERAL) return true;
  return false;
}

class BindingPolicy {
 public:
  struct State {
    std::unique_ptr<Plan> plan;  // null: the pod names no claims
    bool by_words = false;
    std::shared_ptr<Work> work = nullptr;
    mutable std::atomic<bool> filtered{false};  // otherwise there is nothing to reserve, as upstream

    State() = default;
    State(State&& other) noexcept
        : plan(std::move(other.plan)), by_words(other.by_words), work(std::move(other.work)) {}
  };

  static constexpr const char* services[] = {
      berth::Intern::id, berth::Objects::id, berth::Labels::id,   berth::Reasons::id, berth::Sets::id,
      berth::Assume::id, berth::Writes::id,  berth::Executor::id, berth::Clock::id,   berth::NodeColumns::id};
  static constexpr const char* rbac[] = {"patch core/persistentvolumes", "patch core/persistentvolumeclaims"};

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    State& state = out.make();
    if (!names_claims(cycle.pod())) return berth::Verdict::skip();
    state.plan = std::make_unique<Plan>();
    if (std::optional<Refusal> refusal = planner_->plan(cycle, *state.plan))
      return refusal->error ? berth::Verdict::error(std::move(refusal->text))
                            : berth::Verdict::unresolvable(std::move(refusal->text));
    state.by_words = state.plan->by_words();
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw berth::Failure("not found");
    if (state->plan == nullptr) return;
    state->filtered.store(true, std::memory_order_relaxed);
    const berth::Id* names = nodes[planner_->names()];
    std::array<berth::Reason, 16> reason_of{};
    const std::uint32_t* label_sets = nodes[services_.label_set];
    Search search;
    const auto reject = [&](std::uint32_t w, berth::Mask rows, std::uint32_t conflicts) {
      if (nodes.wants_reasons() && reason_of[conflicts] == 0) reason_of[conflicts] = reason(conflicts);
      nodes.reject(w, rows, berth::unresolvable(reason_of[conflicts]));
    };
    const bool by_words = nodes.contiguous() && state->by_words;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      if (by_words) {
        const WordConflicts found = judge_word(*state->plan, nodes.first_slot() / 64 + w);
        if ((found.any() & nodes.open(w).bits()) == 0) continue;
        for (std::uint32_t conflicts = 1; conflicts < 16; ++conflicts) {
          std::uint64_t rows = ~std::uint64_t{0};
          for (std::uint32_t i = 0; i < 4; ++i) rows &= (conflicts >> i & 1u) != 0 ? found.of[i] : ~found.of[i];
          if (rows != 0) reject(w, berth::Mask(rows), conflicts);
        }
        continue;
      }
      berth::each_bit(nodes.open(w).bits(), [&](std::uint32_t bit) {
        const std::uint32_t row = w * 64 + bit;
        const std::uint32_t conflicts =
            judge(*state->plan, {nodes.slot(row), names[row], services_.sets.labels(label_sets[row])}, search, nullptr);
        if (conflicts != 0) reject(w, berth::Mask(std::uint64_t{1} << bit), conflicts);
      });
    }
  }

  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot node) {
    State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->plan == nullptr) return berth::Verdict::ok();
    state->work = std::make_shared<Work>();
    if (!state->filtered.load(std::memory_order_relaxed)) return berth::Verdict::ok();
    Choice choice;
    Search search;
    const berth::Id name = columns_.column(cycle, planner_->names())[node];
    const std::uint32_t label_set = columns_.column(cycle, services_.label_set)[node];
    if (judge(*state->plan, {node, name, services_.sets.labels(label_set)}, search, &choice) != 0)
      return berth::Verdict::error("the node does not suit the claims any more");
    berth::Verdict taken = take(services_, choice, std::string(services_.intern.text(name)), *state->work);
    state->plan = nullptr;  // the pod may wait for others of its group
    return taken;
  }

  void unreserve(const berth::Cycle& cycle, berth::Slot) {
    const State* state = cycle.state<State>();
    if (state == nullptr || state->work == nullptr) return;
    forget(services_, state->work->volumes);
    forget(services_, state->work->claims);
  }

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags& flags) {
    const State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->work == nullptr || state->work->all_bound) return berth::Verdict::skip();
    flags.parallel();
    return berth::Verdict::ok();
  }

  berth::Verdict pre_bind(const berth::Cycle& cycle, berth::BindCall call) {
    const State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->work == nullptr || state->work->all_bound) return berth::Verdict::ok();
    Binding::start(services_, state->work, call, std::string(cycle.pod().name()));
    return berth::Verdict::async();
  }

 protected:
  /// texts: by bit of Conflict; they live as long as the process.
  BindingPolicy(berth::Setup& setup, PlanRules rules, std::span<const berth::ReasonText> texts)
      : planner_(std::make_unique<Planner>(setup, rules)),
        texts_(texts),
        columns_(setup.service<berth::NodeColumns>()),
        reasons_(setup.service<berth::Reasons>()),
        services_{setup.service<berth::Objects>(), setup.service<berth::Assume>(),
                  setup.service<berth::Writes>(),  setup.service<berth::Executor>(),
                  setup.service<berth::Clock>(),   setup.service<berth::Sets>(),
                  setup.service<berth::Intern>(),  setup.label_set(),
                  planner_->claim_watch(),         planner_->volume_watch(),
                  timeout_of(setup.args())} {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  berth::Intern intern() const noexcept { return services_.intern; }

 private:
  static std::int64_t timeout_of(const berth::Json& args) {
    return args["bindTimeoutSeconds"].integer_or("bindTimeoutSeconds", 600) * 1'000'000'000;
  }

  berth::Reason reason(std::uint32_t conflicts) const {
    std::vector<berth_str> texts;
    for (std::uint32_t i = 0; i < texts_.size(); ++i)
      if ((conflicts >> i & 1u) != 0) texts.push_back(berth::borrow(texts_[i].text));
    return reasons_.make(texts);
  }

  std::unique_ptr<Planner> planner_;
  std::span<const berth::ReasonText> texts_;
  berth::NodeColumns columns_;
  berth::Reasons reasons_;
  Services services_;
};

}  // namespace volume_binding
