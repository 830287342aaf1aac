// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster_writer.hpp"
#include "framework/points/reserve.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::binding::testing {

using framework::Code;
using framework::Verdict;
using framework::testing::FakePlugin;
using framework::testing::FrameworkFixture;

/// Plugins from reserve to post-bind as a script: what each answers, and a log of what is asked of them.
class ScriptedPlugins {
 public:
  struct Plugin {
    std::string name;
    Verdict check;  // pre-bind plugins
    bool parallel = false;
    Verdict answer;
    bool async = false;  // answer() is called by the test
  };
  /// A call that the test answers.
  struct OpenCall {
    berth_bind_call_v1* call;
    bool cancelled() const { return call->cancelled(call->ctx) != 0; }
    void operator()(const Verdict& verdict) const {
      const std::string text = verdict.message();
      call->complete(call->ctx, static_cast<berth_code>(verdict.code), framework::to_abi(text));
    }
  };

  ScriptedPlugins(FrameworkFixture& host, cluster::ClusterWriter& writer) : host_(host), writer_(writer) {}

  /// What the plugins hold for the pod. The first call makes them: their number and their names stay from there on, what they
  /// answer does not.
  framework::Reservation reserve(model::PodPtr pod, cache::Slot slot) {
    if (!pool_) make();
    framework::CyclePool::Handle context = pool_->take();
    context->begin(std::move(pod), 1, ++cycles_, &host_.snapshot);
    context->abi(*state_owner_)->state = this;
    return std::get<framework::Reservation>(framework::run_reserve(std::move(context), slot));
  }
  /// Answers an asynchronous call, which may have been answered before.
  void answer(const std::string& name, const Verdict& verdict = {}) { open.at(name)(verdict); }

  std::vector<Plugin> pre_binders;
  std::vector<Plugin> binders = {{"Binder", {}, false, {}, false}};
  std::vector<std::string> reserved = {"First", "Second"};
  std::vector<std::string> calls;
  std::map<std::string, OpenCall> open;

 private:
  static berth_code say(const Verdict& verdict, berth_note_v1* note) {
    framework::testing::explain(note, verdict.message());
    return static_cast<berth_code>(verdict.code);
  }
  void make() {
    host_.profile.scheduler_name = "default-scheduler";
    for (const std::string& name : reserved) {
      FakePlugin& plugin = host_.make_plugin(name);
      plugin.unreserve = [this, name](berth_slot) { calls.push_back("unreserve " + name); };
      host_.add(plugin);
    }
    FakePlugin& last = host_.make_plugin("Last");
    last.pre_filter = [](berth_cycle_v1&, berth_prepare_out_v1&, berth_note_v1*) -> berth_code { return BERTH_OK; };
    last.state_free = [this](void*) { calls.emplace_back("free"); };
    last.post_bind = [this](const berth_bind_call_v1*) { calls.emplace_back("post_bind"); };
    state_owner_ = &host_.add(last);
    for (std::size_t i = 0; i < pre_binders.size(); ++i) {
      FakePlugin& plugin = host_.make_plugin(pre_binders[i].name);
      plugin.pre_bind_check = [this, i](std::uint32_t* flags, berth_note_v1* note) {
        calls.push_back("check " + pre_binders[i].name);
        *flags = pre_binders[i].parallel ? std::uint32_t{BERTH_PRE_BIND_PARALLEL} : 0u;
        return say(pre_binders[i].check, note);
      };
      plugin.pre_bind = [this, i](const berth_cycle_v1&, berth_bind_call_v1* call, berth_note_v1* note) {
        return ask("pre_bind ", pre_binders[i], call, note);
      };
      host_.add(plugin);
    }
    for (std::size_t i = 0; i < binders.size(); ++i) {
      FakePlugin& plugin = host_.make_plugin(binders[i].name);
      plugin.bind = [this, i](const berth_cycle_v1&, berth_bind_call_v1* call, berth_note_v1* note) -> berth_code {
        if (binders[i].async || !binders[i].answer.success()) return ask("bind ", binders[i], call, note);
        calls.push_back("bind " + binders[i].name);
        writer_.bind({"default", "p", "uid-p"}, "n1", [call](const Status& status) {
          const OpenCall bound{call};
          bound(status.ok() ? Verdict{} : Verdict{Code::error, model::k_no_plugin, {status.error().message}});
        });
        return BERTH_ASYNC;
      };
      host_.add(plugin);
    }
    pool_ = std::make_unique<framework::CyclePool>(host_.profile);
  }
  berth_code ask(const std::string& what, const Plugin& plugin, berth_bind_call_v1* call, berth_note_v1* note) {
    calls.push_back(what + plugin.name);
    if (!plugin.async) return say(plugin.answer, note);
    open.insert_or_assign(plugin.name, OpenCall{call});
    return BERTH_ASYNC;
  }

  FrameworkFixture& host_;
  cluster::ClusterWriter& writer_;
  const framework::PluginInstance* state_owner_ = nullptr;
  std::uint64_t cycles_ = 0;
  std::unique_ptr<framework::CyclePool> pool_;
};

}  // namespace berth::binding::testing
