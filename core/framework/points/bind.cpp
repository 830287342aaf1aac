// SPDX-License-Identifier: Apache-2.0
#include "framework/points/bind.hpp"

#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"
#include "framework/view/single_node.hpp"

namespace berth::framework {
namespace {

using Call = BindCalls::Call;

Call& call_of(void* ctx) noexcept { return *static_cast<Call*>(ctx); }

/// The binding cycle says at which point it was.
Verdict verdict_of(const PluginInstance& plugin, Code code, std::vector<std::string> reasons) {
  const bool known = code == Code::success || code == Code::skip || rejects(code);
  return {known ? code : Code::error, plugin.index(), std::move(reasons)};
}

std::uint32_t is_cancelled(void* ctx) {
  const Call& call = call_of(ctx);
  return !call.is_open() || (call.cancelled && call.cancelled->load(std::memory_order_acquire)) ? 1 : 0;
}

void complete(void* ctx, berth_code code, berth_str text) {
  Call& call = call_of(ctx);
  if (call.given_up) return;
  std::vector<std::string> reasons;
  if (text.len != 0) reasons.push_back(clean_text(from_abi(text)));
  call.answer(verdict_of(*call.plugin, static_cast<Code>(code), std::move(reasons)));
}

std::uint32_t pod_exists(void* ctx) {
  const Call& call = call_of(ctx);
  return call.is_open() && (!call.lookups->pod_exists || call.lookups->pod_exists(*call.pod)) ? 1 : 0;
}

berth_code use_node(void* ctx, void (*use)(void*, const berth_node_block_v1*), void* arg) {
  const Call& call = call_of(ctx);
  const model::NodePtr node = call.is_open() && call.lookups->node ? call.lookups->node(call.node_name) : nullptr;
  if (!node) return BERTH_NOT_FOUND;
  SingleNode row(*call.plugin, node);
  use(arg, row.block());
  return BERTH_OK;
}

/// Calls f(call); the outcome reaches `done` exactly once.
template <typename F>
void start(const CycleContext& context, const PluginInstance& plugin, observe::Point point, const char* name,
           BindTarget target, BindDone done, F&& f) {
  Call& call = plugin.host().bind_calls.take();
  call.plugin = &plugin;
  call.point = name;
  call.node_name = std::move(target.node_name);
  call.pod = context.pod();
  call.lookups = &target.lookups;
  call.cancelled = std::move(target.cancelled);
  call.done = std::move(done);
  call.abi = {
      sizeof(berth_bind_call_v1), 0, &call, to_abi(call.node_name), &is_cancelled, &complete, &pod_exists, &use_node};
  call.begin();
  Note note;
  const Code code = call_plugin(plugin, point, note, [&] { return f(&call.abi, note.abi()); });
  if (code != Code::async) {
    std::vector<std::string> reasons = sentences(plugin, note);
    const bool valid = code == Code::success || code == Code::skip || rejects(code) || code == Code::error;
    if (!valid) reasons = {invalid_code(plugin, point, code)};
    call.answer(verdict_of(plugin, code, std::move(reasons)));
  }
  call.leave();
}

}  // namespace

PreBindCheck run_pre_bind_check(CycleContext& context, const PluginInstance& plugin, cache::Slot node) {
  if (plugin.bind->pre_bind_check == nullptr) return {};
  std::uint32_t flags = 0;
  Note note;
  const Code code = call_plugin(plugin, observe::Point::pre_bind_check, note, [&] {
    return plugin.bind->pre_bind_check(plugin.self(), context.abi(plugin), node, &flags, note.abi());
  });
  PreBindCheck check;
  if (const std::uint32_t unknown = flags & ~std::uint32_t{BERTH_PRE_BIND_PARALLEL};
      unknown != 0 && code == Code::success) {
    check.verdict = {
        Code::error,
        plugin.index(),
        {fmt::format("plugin {} answered pre_bind_check with unknown flags {:#x}", plugin.name(), unknown)}};
    return check;
  }
  check.parallel = (flags & BERTH_PRE_BIND_PARALLEL) != 0;
  check.verdict.code = code;
  if (code != Code::success && code != Code::skip) check.verdict = {code, plugin.index(), {note.text()}};
  return check;
}

void run_pre_bind(CycleContext& context, const PluginInstance& plugin, BindTarget target, BindDone done) {
  start(context, plugin, observe::Point::pre_bind, "PreBind", std::move(target), std::move(done),
        [&](berth_bind_call_v1* call, berth_note_v1* note) {
          return plugin.bind->pre_bind(plugin.self(), context.abi(plugin), call, note);
        });
}

void run_bind(CycleContext& context, const PluginInstance& plugin, BindTarget target, BindDone done) {
  start(context, plugin, observe::Point::bind, "Bind", std::move(target), std::move(done),
        [&](berth_bind_call_v1* call, berth_note_v1* note) {
          return plugin.bind->bind(plugin.self(), context.abi(plugin), call, note);
        });
}

void run_post_bind(CycleContext& context, const std::string& node_name) {
  const berth_bind_call_v1 call{
      sizeof(berth_bind_call_v1),
      0,
      nullptr,
      to_abi(node_name),
      [](void*) -> std::uint32_t { return 0; },
      [](void*, berth_code, berth_str) {},
      [](void*) -> std::uint32_t { return 1; },
      [](void*, void (*)(void*, const berth_node_block_v1*), void*) -> berth_code { return BERTH_NOT_FOUND; }};
  const PointRun run(context.profile(), observe::Point::post_bind);
  for (const PluginInstance* plugin : context.profile().post_bind) {
    Note note;
    call_plugin(*plugin, observe::Point::post_bind, note, [&] {
      plugin->bind->post_bind(plugin->self(), context.abi(*plugin), &call);
      return berth_code{BERTH_OK};
    });
  }
}

}  // namespace berth::framework
