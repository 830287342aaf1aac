// SPDX-License-Identifier: Apache-2.0
#include "framework/points/bind.hpp"

#include <atomic>

#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"
#include "framework/services/log_service.hpp"
#include "framework/view/single_node.hpp"

namespace berth::framework {
namespace {

/// One call in flight. Lives until the plugin has answered, one way or the other: it holds itself while the answer is
/// open.
struct OpenCall {
  const PluginInstance* plugin;
  const char* point;
  std::string node_name;
  BindFacts facts;
  BindDone done;
  std::atomic<bool> answered{false};
  std::shared_ptr<OpenCall> self;  // kept until answered
  berth_bind_call_v1 abi{};

  Verdict verdict_of(Code code, std::vector<std::string> reasons) const {
    if (code == Code::success || code == Code::skip || rejects(code))
      return {code, plugin->index(), std::move(reasons)};
    // The binding cycle says at which point it was.
    return {Code::error, plugin->index(), std::move(reasons)};
  }

  void answer(Code code, std::vector<std::string> reasons) {
    if (answered.exchange(true, std::memory_order_acq_rel)) {
      write_log(*plugin, BERTH_LOG_ERROR, fmt::format("{} was completed twice; the second answer is ignored", point));
      return;
    }
    done(verdict_of(code, std::move(reasons)));
    self.reset();
  }
};

berth_code use_node(void* ctx, void (*use)(void*, const berth_node_block_v1*), void* arg) {
  const auto& open = *static_cast<OpenCall*>(ctx);
  const model::NodePtr node = open.facts.node ? open.facts.node() : nullptr;
  if (!node) return BERTH_NOT_FOUND;
  SingleNode row(*open.plugin, node);
  use(arg, row.block());
  return BERTH_OK;
}

/// Calls f(call); the outcome reaches `done` exactly once.
template <typename F>
void start(const PluginInstance& plugin, observe::Point point, const char* name, std::string node_name, BindFacts facts,
           BindDone done, F&& f) {
  auto call = std::make_shared<OpenCall>();
  call->plugin = &plugin;
  call->point = name;
  call->node_name = std::move(node_name);
  call->facts = std::move(facts);
  call->done = std::move(done);
  call->self = call;
  call->abi = {sizeof(berth_bind_call_v1),
               0,
               call.get(),
               to_abi(call->node_name),
               [](void* ctx) -> std::uint32_t {
                 const auto& open = *static_cast<OpenCall*>(ctx);
                 return open.facts.cancelled && open.facts.cancelled() ? 1 : 0;
               },
               [](void* ctx, berth_code code, berth_str text) {
                 auto& open = *static_cast<OpenCall*>(ctx);
                 const std::shared_ptr<OpenCall> keep = open.self;
                 std::vector<std::string> reasons;
                 if (text.len != 0) reasons.push_back(clean_text(from_abi(text)));
                 open.answer(static_cast<Code>(code), std::move(reasons));
               },
               [](void* ctx) -> std::uint32_t {
                 const auto& open = *static_cast<OpenCall*>(ctx);
                 return !open.facts.pod_exists || open.facts.pod_exists() ? 1 : 0;
               },
               &use_node};
  Note note;
  const Code code = call_plugin(plugin, point, note, [&] { return f(&call->abi, note.abi()); });
  if (code == Code::async) return;
  std::vector<std::string> reasons = sentences(plugin, note);
  if (code != Code::success && code != Code::skip && !rejects(code) && code != Code::error)
    reasons = {invalid_code(plugin, point, code)};
  call->answer(code, std::move(reasons));
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
  check.parallel = (flags & BERTH_PRE_BIND_PARALLEL) != 0;
  check.verdict.code = code;
  if (code != Code::success && code != Code::skip) check.verdict = {code, plugin.index(), {note.text()}};
  return check;
}

void run_pre_bind(CycleContext& context, const PluginInstance& plugin, std::string node_name, BindFacts facts,
                  BindDone done) {
  start(plugin, observe::Point::pre_bind, "PreBind", std::move(node_name), std::move(facts), std::move(done),
        [&](berth_bind_call_v1* call, berth_note_v1* note) {
          return plugin.bind->pre_bind(plugin.self(), context.abi(plugin), call, note);
        });
}

void run_bind(CycleContext& context, const PluginInstance& plugin, std::string node_name, BindFacts facts,
              BindDone done) {
  start(plugin, observe::Point::bind, "Bind", std::move(node_name), std::move(facts), std::move(done),
        [&](berth_bind_call_v1* call, berth_note_v1* note) {
          return plugin.bind->bind(plugin.self(), context.abi(plugin), call, note);
        });
}

void run_post_bind(CycleContext& context, const PluginInstance& plugin, const std::string& node_name) {
  const berth_bind_call_v1 call{
      sizeof(berth_bind_call_v1),
      0,
      nullptr,
      to_abi(node_name),
      [](void*) -> std::uint32_t { return 0; },
      [](void*, berth_code, berth_str) {},
      [](void*) -> std::uint32_t { return 1; },
      [](void*, void (*)(void*, const berth_node_block_v1*), void*) -> berth_code { return BERTH_NOT_FOUND; }};
  Note note;
  call_plugin(plugin, observe::Point::post_bind, note, [&] {
    plugin.bind->post_bind(plugin.self(), context.abi(plugin), &call);
    return berth_code{BERTH_OK};
  });
}

}  // namespace berth::framework
