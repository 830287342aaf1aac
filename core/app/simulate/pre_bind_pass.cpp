// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/pre_bind_pass.hpp"

#include <algorithm>
#include <optional>

#include "framework/points/bind.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::app {
namespace {

using framework::Code;
using framework::Verdict;

// Looks of plugins that wait, until all have noticed that they are cancelled.
constexpr int k_last_looks_max = 1000;

}  // namespace

struct PreBindPass::Attempt {
  explicit Attempt(framework::Reservation held) : reservation(std::move(held)) {}
  ~Attempt() { reservation.confirm(); }  // the pod stays where it is

  bool is_open() const {
    return std::any_of(calls.begin(), calls.end(), [](const auto& call) { return !call->has_value(); });
  }

  framework::Reservation reservation;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::shared_ptr<std::optional<Verdict>>> calls;  // by plugin that acts; empty while it does
};

PreBindPass::PreBindPass(const framework::BindLookups& lookups, const SymbolTable& symbols,
                         cluster::EmbeddedCluster& cluster, binding::Timers& timers, ManualClock& clock)
    : lookups_(lookups), symbols_(symbols), cluster_(cluster), timers_(timers), clock_(clock) {}

PreBindPass::~PreBindPass() {
  for (const auto& attempt : waiting_) attempt->cancelled->store(true);
  for (int looks = 0; looks < k_last_looks_max; ++looks) {
    std::erase_if(waiting_, [](const auto& attempt) { return !attempt->is_open(); });
    const auto next = timers_.next_ns();
    if (waiting_.empty() || !next) break;
    if (const std::int64_t now = clock_.monotonic_ns(); *next > now)
      clock_.advance(std::chrono::nanoseconds(*next - now));
    timers_.run_due();
    cluster_.deliver();
  }
}

void PreBindPass::settle(const Attempt& attempt) {
  while (attempt.is_open())
    if (cluster_.deliver() == 0 && timers_.run_due() == 0) return;
}

Result<PreBindPass::End> PreBindPass::run(const model::PodPtr& pod, cycle::Placement placement) {
  const observe::PodBreadcrumb breadcrumb(pod->ns, pod->name);
  auto attempt = std::make_unique<Attempt>(std::move(placement.reservation));
  framework::CycleContext& context = attempt->reservation.context();
  const auto fail = [&](std::string text) {
    attempt->reservation.cancel();
    cluster_.deliver();
    placement.assumption.forget();
    return Error{std::move(text)};
  };
  for (const framework::PluginInstance* plugin : context.profile().pre_bind) {
    const Verdict may = framework::run_pre_bind_check(context, *plugin, attempt->reservation.slot()).verdict;
    if (may.code == Code::skip) continue;
    if (!may.success()) return fail(fmt::format("running PreBindPreFlight \"{}\": {}", plugin->name(), may.message()));
    const auto answer = std::make_shared<std::optional<Verdict>>();
    attempt->calls.push_back(answer);
    framework::run_pre_bind(
        context, *plugin, {std::string(symbols_.text(placement.assumption.node_name())), lookups_, attempt->cancelled},
        [answer](Verdict verdict) { *answer = std::move(verdict); });
    settle(*attempt);
    if (*answer && !(*answer)->success())
      return fail(fmt::format("running PreBind plugin \"{}\": {}", plugin->name(), (*answer)->message()));
  }
  placement.assumption.confirm();
  if (!attempt->is_open()) return End::well;
  waiting_.push_back(std::move(attempt));
  return End::waiting;
}

}  // namespace berth::app
