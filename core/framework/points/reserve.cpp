// SPDX-License-Identifier: Apache-2.0
#include "framework/points/reserve.hpp"

#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {
namespace {

void run_unreserve(CycleContext& context, cache::Slot node) {
  const PointRun run(context.profile(), observe::Point::unreserve);
  const auto& plugins = context.profile().reserve;
  for (auto it = plugins.rbegin(); it != plugins.rend(); ++it) {
    const PluginInstance& plugin = **it;
    if (plugin.reserve->unreserve == nullptr) continue;
    Note note;
    call_plugin(plugin, observe::Point::unreserve, note, [&] {
      plugin.reserve->unreserve(plugin.self(), context.abi(plugin), node);
      return berth_code{BERTH_OK};
    });
  }
}

Verdict reserve_by_plugins(CycleContext& context, cache::Slot node) {
  for (const PluginInstance* plugin : context.profile().reserve) {
    if (plugin->reserve->reserve == nullptr) continue;
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::reserve, note, [&] {
      return plugin->reserve->reserve(plugin->self(), context.abi(*plugin), node, note.abi());
    });
    if (code == Code::success) continue;
    if (rejects(code)) return {code, plugin->index(), sentences(*plugin, note)};
    return {Code::error,
            plugin->index(),
            {fmt::format("running Reserve plugin \"{}\": {}", plugin->name(),
                         code == Code::error ? note.text() : invalid_code(*plugin, observe::Point::reserve, code))}};
  }
  return {};
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  context_ = std::move(other.context_);
  slot_ = other.slot_;
  return *this;
}

void Reservation::cancel() noexcept {
  if (!active()) return;
  {
    const observe::PodBreadcrumb breadcrumb(context_->pod()->ns, context_->pod()->name);
    run_unreserve(*context_, slot_);
  }
  context_.reset();
}

std::variant<Reservation, Verdict> run_reserve(CyclePool::Handle context, cache::Slot node) {
  Reservation reservation(std::move(context), node);  // what fails from here on is given back with it
  PointRun run(reservation.context().profile(), observe::Point::reserve);
  Verdict verdict = reserve_by_plugins(reservation.context(), node);
  run.ended(verdict.code);
  if (!verdict.success()) {
    reservation.cancel();
    return verdict;
  }
  return std::variant<Reservation, Verdict>(std::in_place_type<Reservation>, std::move(reservation));
}

}  // namespace berth::framework
