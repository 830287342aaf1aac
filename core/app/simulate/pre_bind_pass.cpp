// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/pre_bind_pass.hpp"

#include <algorithm>
#include <optional>

#include "binding/completion.hpp"

namespace berth::app {
namespace {

using framework::Code;
using framework::Verdict;

// Looks of plugins that wait, until all have noticed that they are cancelled.
constexpr int k_last_looks_max = 1000;

}  // namespace

struct PreBindPass::Attempt {
  Attempt(framework::CyclePool::Handle cycle, cache::Slot slot, std::string node_name)
      : context(std::move(cycle), slot, std::move(node_name)) {}

  bool is_open() const {
    return std::any_of(calls.begin(), calls.end(), [](const auto& call) { return !call->has_value(); });
  }

  scheduler::BindingContext context;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<std::uint64_t>> repeated = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::vector<std::shared_ptr<std::optional<Verdict>>> calls;  // by plugin that acts; empty while it does
};

PreBindPass::PreBindPass(scheduler::Scheduler& scheduler, cluster::EmbeddedCluster& cluster, ManualClock& clock)
    : scheduler_(scheduler), cluster_(cluster), clock_(clock) {}

PreBindPass::~PreBindPass() {
  for (const auto& attempt : waiting_) attempt->cancelled->store(true);
  for (int looks = 0; looks < k_last_looks_max; ++looks) {
    std::erase_if(waiting_, [](const auto& attempt) { return !attempt->is_open(); });
    const auto next = scheduler_.timers().next_ns();
    if (waiting_.empty() || !next) break;
    if (const std::int64_t now = clock_.monotonic_ns(); *next > now)
      clock_.advance(std::chrono::nanoseconds(*next - now));
    scheduler_.timers().run_due();
    cluster_.deliver();
  }
}

void PreBindPass::settle(const Attempt& attempt) {
  while (attempt.is_open())
    if (cluster_.deliver() == 0 && scheduler_.timers().run_due() == 0) return;
}

std::string PreBindPass::run(const model::PodPtr& pod, cycle::Placement placement) {
  binding::BindPipeline& pipeline = scheduler_.pipeline(pod->scheduler_name);
  auto attempt = std::make_unique<Attempt>(std::move(placement.context), placement.assumption.slot(),
                                           std::string(scheduler_.symbols().text(placement.assumption.node_name())));
  const auto fail = [&](std::string text) {
    pipeline.unreserve(attempt->context);
    cluster_.deliver();
    placement.assumption.forget();
    return text;
  };
  for (std::size_t i = 0; i < pipeline.pre_bind_count(); ++i) {
    const std::string name(pipeline.pre_bind_name(i));
    const Verdict may = pipeline.pre_bind_check(attempt->context, i).verdict;
    if (may.code == Code::skip) continue;
    if (!may.success()) return fail(fmt::format("running PreBindPreFlight \"{}\": {}", name, may.message()));
    const auto answer = std::make_shared<std::optional<Verdict>>();
    attempt->calls.push_back(answer);
    pipeline.pre_bind(
        attempt->context, i,
        binding::Completion(fmt::format("pre_bind of plugin {} for pod {}", name, pod->key()), attempt->cancelled,
                            attempt->repeated, [answer](Verdict verdict) { *answer = std::move(verdict); }));
    settle(*attempt);
    if (*answer && !(*answer)->success())
      return fail(fmt::format("running PreBind plugin \"{}\": {}", name, (*answer)->message()));
  }
  placement.assumption.confirm();
  if (!attempt->is_open()) return {};
  waiting_.push_back(std::move(attempt));
  return "waiting";
}

}  // namespace berth::app
