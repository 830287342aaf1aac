// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework_adapters.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <utility>

#include "base/bitmap.hpp"
#include "cache/pod_groups.hpp"
#include "cluster/stopped.hpp"
#include "framework/point_run.hpp"
#include "framework/points/bind.hpp"
#include "framework/points/queue.hpp"
#include "framework/points/requeue.hpp"
#include "framework/points/reserve.hpp"
#include "observe/breadcrumb.hpp"
#include "observe/log.hpp"

namespace berth::scheduler {
namespace {

using framework::PluginInstance;
using framework::ProfileRuntime;

class FrameworkQueuePolicy final : public queue::QueuePolicy {
 public:
  FrameworkQueuePolicy(framework::Framework& framework, bool opens_gates, binding::OpenCalls* watch)
      : framework_(framework),
        watch_(watch),
        sort_(*framework.profiles().front()->queue_sort),
        opens_gates_(opens_gates) {}

  bool ordered_by_key() const override { return sort_.queue->less == nullptr; }

  queue::OrderKey key(const queue::QueuedPod& pod) override {
    const Watched watched(watch_, *pod.pod);
    return {calls_.key(sort_, entry_of(pod))};
  }

  bool before(const queue::QueuedPod& a, const queue::QueuedPod& b) override {
    const Watched watched(watch_, *a.pod);
    return calls_.less(sort_, entry_of(a), entry_of(b));
  }

  std::optional<queue::Gate> pre_enqueue(const queue::QueuedPod& pod, model::PluginIndex first) override {
    const ProfileRuntime* const profile = framework_.find(pod.pod->scheduler_name);
    if (profile == nullptr || (opens_gates_ && pod.pod->spec->gates.empty())) return std::nullopt;
    const Watched watched(watch_, *pod.pod);
    // Success, even when a plugin closes a gate: as upstream.
    const framework::PointRun run(*profile, observe::Point::pre_enqueue);
    const framework::QueueCalls::Entry entry = entry_of(pod);
    const auto ask = [&](const PluginInstance& plugin) -> std::optional<queue::Gate> {
      const framework::Verdict verdict = calls_.pre_enqueue(plugin, entry);
      if (verdict.success()) return std::nullopt;
      return queue::Gate{plugin.index(), verdict.message()};
    };
    for (const PluginInstance* plugin : profile->pre_enqueue)
      if (plugin->index() == first)
        if (auto gate = ask(*plugin)) return gate;
    for (const PluginInstance* plugin : profile->pre_enqueue)
      if (plugin->index() != first)
        if (auto gate = ask(*plugin)) return gate;
    return std::nullopt;
  }

  std::uint64_t classify(const model::Pod& pod) override { return framework_.classify(pod); }

  Grouping group_of(const model::Pod& pod) override {
    const Watched watched(watch_, pod);
    const Result<std::string> name = framework_.group_of(pod);
    if (name.ok()) return name->empty() ? *name : cache::group_key(pod, *name);
    observe::error("A pod is held back, as its group cannot be told", {{"err", name.error().message}, {"pod", pod}});
    return queue::Gate{framework_.profiles().front()->groups->index(), name.error().message};
  }

 private:
  /// A call about a pod that lives longer: who looks sees it when it does not return.
  struct Watched {
    Watched(binding::OpenCalls* watch, const model::Pod& pod)
        : at(&pod), scope(watch, binding::OpenCalls::Scope::PodAt{at}) {}
    const std::atomic<const model::Pod*> at;
    const binding::OpenCalls::Scope scope;
  };

  static framework::QueueCalls::Entry entry_of(const queue::QueuedPod& pod) {
    return {*pod.pod, pod.attempts, pod.enqueued_ns, pod.first_attempt_ns};
  }

  framework::Framework& framework_;
  binding::OpenCalls* const watch_;
  const PluginInstance& sort_;
  const bool opens_gates_;
  framework::QueueCalls calls_;
};

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

  queue::Hint hint(HintThreads::Ask how) const {
    return [of = *this, how = std::make_shared<const HintThreads::Ask>(std::move(how))](const queue::HintCall& call,
                                                                                        std::uint64_t* queue) {
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

class FrameworkBindPipeline final : public binding::BindPipeline {
 public:
  FrameworkBindPipeline(const ProfileRuntime& profile, BindLookups lookups, ExtenderBindings extenders,
                        binding::OpenCalls* watch)
      : profile_(profile), lookups_(std::move(lookups)), extenders_(std::move(extenders)), watch_(watch) {}
  std::string_view profile() const override { return profile_.scheduler_name; }
  std::size_t pre_bind_count() const override { return profile_.pre_bind.size(); }
  std::size_t bind_count() const override { return extenders_.binders.size() + profile_.bind.size(); }
  std::string_view pre_bind_name(std::size_t i) const override { return profile_.pre_bind[i]->name(); }
  std::string_view bind_name(std::size_t i) const override {
    return bind_is_plugin(i) ? std::string_view(bind_plugin(i).name()) : extenders_.binders[i]->name();
  }
  bool bind_is_plugin(std::size_t i) const override { return i >= extenders_.binders.size(); }

  binding::PreBindCheck pre_bind_check(binding::CycleHandle& cycle, std::size_t i) override {
    BindingContext& b = of(cycle);
    const observe::PodBreadcrumb breadcrumb = breadcrumb_of(b);
    const binding::OpenCalls::Scope scope(watch_, b.context->pod());
    framework::PreBindCheck check = framework::run_pre_bind_check(*b.context, *profile_.pre_bind[i], b.slot);
    return {std::move(check.verdict), check.parallel};
  }
  void pre_bind(binding::CycleHandle& cycle, std::size_t i, binding::Completion done) override {
    BindingContext& b = of(cycle);
    const observe::PodBreadcrumb breadcrumb = breadcrumb_of(b);
    const binding::OpenCalls::Scope scope(watch_, b.context->pod());
    framework::run_pre_bind(*b.context, *profile_.pre_bind[i], b.node_name, facts_of(b, done),
                            [done](framework::Verdict verdict) { done(std::move(verdict)); });
  }
  void bind(binding::CycleHandle& cycle, std::size_t i, binding::Completion done) override {
    BindingContext& b = of(cycle);
    if (!bind_is_plugin(i)) return bind_outside(b, *extenders_.binders[i], std::move(done));
    const observe::PodBreadcrumb breadcrumb = breadcrumb_of(b);
    const binding::OpenCalls::Scope scope(watch_, b.context->pod());
    framework::run_bind(*b.context, bind_plugin(i), b.node_name, facts_of(b, done),
                        [done](framework::Verdict verdict) { done(std::move(verdict)); });
  }
  void post_bind(binding::CycleHandle& cycle) override {
    BindingContext& b = of(cycle);
    const observe::PodBreadcrumb breadcrumb = breadcrumb_of(b);
    const binding::OpenCalls::Scope scope(watch_, b.context->pod());
    const framework::PointRun run(profile_, observe::Point::post_bind);
    for (const PluginInstance* plugin : profile_.post_bind) framework::run_post_bind(*b.context, *plugin, b.node_name);
  }
  void unreserve(binding::CycleHandle& cycle) override {
    BindingContext& b = of(cycle);
    const observe::PodBreadcrumb breadcrumb = breadcrumb_of(b);
    const binding::OpenCalls::Scope scope(watch_, b.context->pod());
    framework::run_unreserve(*b.context, b.slot);
  }

 private:
  static BindingContext& of(binding::CycleHandle& cycle) { return static_cast<BindingContext&>(cycle); }
  /// Copies the names: `done` may end the context while the plugin's call is still on the stack.
  static observe::PodBreadcrumb breadcrumb_of(const BindingContext& b) {
    return {b.context->pod()->ns, b.context->pod()->name};
  }
  framework::BindFacts facts_of(const BindingContext& b, const binding::Completion& done) const {
    return {[done] { return done.cancelled(); }, [this, pod = b.context->pod()] { return lookups_.pod_exists(*pod); },
            [this, name = b.node_name] { return lookups_.node(name); }};
  }

  PluginInstance& bind_plugin(std::size_t i) const { return *profile_.bind[i - extenders_.binders.size()]; }

  void bind_outside(const BindingContext& b, extender::Extender& extender, binding::Completion done) const {
    using framework::Code;
    const model::PodPtr pod = b.context->pod();
    if (!extender.is_interested(*pod)) return done({Code::skip, model::k_no_plugin, {}});
    const auto answered = [&extender, pod, done](const Result<Unit>& bound) {
      if (bound.ok()) return done({});
      // It was not asked.
      if (bound.error().code == ErrorCode::withheld || cluster::is_stopped(bound))
        return done({Code::error, model::k_no_plugin, {bound.error().message}});
      if (!extender.ignorable()) return done({Code::error, model::k_no_plugin, {bound.error().message}});
      observe::warning("Skipping extender in bind as it returned error and has ignorable flag set",
                       {{"err", bound.error().message}, {"extender", extender.name()}, {"pod", *pod}});
      done({Code::skip, model::k_no_plugin, {}});
    };
    if (!extenders_.record) return send_outside({extender, pod, b.node_name, answered});
    std::promise<Result<Unit>> promise;
    extender.bind(*pod, b.node_name, {}, [&promise](Result<Unit> bound) { promise.set_value(std::move(bound)); });
    const Result<Unit> bound = promise.get_future().get();
    if (!bound.ok()) return answered(bound);
    extenders_.record(*pod, b.node_name, answered);
  }

  struct Outside {
    extender::Extender& extender;
    model::PodPtr pod;
    std::string node_name;
    extender::Extender::Done<Unit> answered;
    std::int64_t wait_end_ns = 0;  // of the gate; 0: it has not waited
  };
  /// Judged when its connection is there, as a binding to the API server is.
  void send_outside(Outside binding) const {
    cluster::BindingGate* const gate = lookups_.gate;
    const std::optional<cluster::PlacedNode> node =
        gate == nullptr ? std::nullopt : gate->node_of(binding.pod->uid, binding.node_name);
    extender::Extender::MayGo may_go;
    if (node) may_go = [gate, node = *node] { return gate->admit(node); };
    const Outside& b = binding;
    b.extender.bind(*b.pod, b.node_name, std::move(may_go), [this, gate, binding](Result<Unit> bound) mutable {
      if (bound.ok() || bound.error().code != ErrorCode::nodes_unknown) return binding.answered(std::move(bound));
      if (binding.wait_end_ns == 0) binding.wait_end_ns = gate->wait_end_ns();
      gate->when_in_step(binding.wait_end_ns, [this, binding](Status in_step) {
        if (!in_step.ok()) return binding.answered(std::move(in_step));
        send_outside(binding);
      });
    });
  }

  const ProfileRuntime& profile_;
  const BindLookups lookups_;
  const ExtenderBindings extenders_;
  binding::OpenCalls* const watch_;
};

}  // namespace

std::unique_ptr<queue::QueuePolicy> make_queue_policy(framework::Framework& framework, bool opens_gates,
                                                      binding::OpenCalls* watch) {
  return std::make_unique<FrameworkQueuePolicy>(framework, opens_gates, watch);
}

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
    // A pod that needs a plugin which is not there waits for whatever could change that: everything.
    for (const framework::AbsentRuntime& absent : profile->absent)
      queue::append_registrations(hints.registrations, queue::default_registrations(absent.index));
    // What an extender goes by is not known.
    if (framework.extra_rejector() != model::k_no_plugin)
      queue::append_registrations(hints.registrations, queue::default_registrations(framework.extra_rejector()));
    profiles.push_back(std::move(hints));
  }
  return queue::HintTable(std::move(profiles));
}

std::unique_ptr<binding::BindPipeline> make_bind_pipeline(const framework::ProfileRuntime& profile, BindLookups lookups,
                                                          ExtenderBindings extenders, binding::OpenCalls* watch) {
  return std::make_unique<FrameworkBindPipeline>(profile, std::move(lookups), std::move(extenders), watch);
}

}  // namespace berth::scheduler
