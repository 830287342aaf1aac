// SPDX-License-Identifier: Apache-2.0
// Queue, binder and waiting pods under several threads at once: every pod is bound exactly once, whatever fails in
// between.
#include <atomic>
#include <thread>

#include "binding/thread_pool.hpp"
#include "cluster/accepting_writer.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

constexpr int k_pods = 300;

/// Every third pod fails its first pre-bind, every fifth its first bind.
class UnreliablePlugins {
 public:
  explicit UnreliablePlugins(FrameworkFixture& host) : host_(host) {
    host.profile.scheduler_name = "default-scheduler";
    FakePlugin& reserves = host.make_plugin("Reserves");
    reserves.unreserve = [this](berth_slot) { unreserved.fetch_add(1); };
    host.add(reserves);
    for (const bool fails : {false, true}) {
      FakePlugin& plugin = host.make_plugin(fails ? "B" : "A");
      plugin.create = sees_identity;
      plugin.pre_bind_check = [](std::uint32_t* flags, berth_note_v1*) -> berth_code {
        *flags = BERTH_PRE_BIND_PARALLEL;
        return BERTH_OK;
      };
      plugin.pre_bind = [this, fails](const berth_cycle_v1& cycle, berth_bind_call_v1*, berth_note_v1*) -> berth_code {
        const std::string name = name_of(cycle);
        return fails && number(name) % 3 == 0 && first("pre_bind " + name) ? BERTH_ERROR : BERTH_OK;
      };
      host.add(plugin);
    }
    FakePlugin& binder = host.make_plugin("Binder");
    binder.create = sees_identity;
    binder.bind = [this](const berth_cycle_v1& cycle, berth_bind_call_v1*, berth_note_v1*) -> berth_code {
      const std::string name = name_of(cycle);
      if (number(name) % 5 == 0 && first("bind " + name)) return BERTH_ERROR;
      const std::lock_guard lock(mutex_);
      ++bound_[name];
      return BERTH_OK;
    };
    host.add(binder);
  }
  framework::Reservation reserve(PodPtr pod, cache::Slot slot) {
    framework::CyclePool::Handle context = pool_.take();
    context->begin(std::move(pod), 1, ++cycles_, &host_.snapshot);
    return std::get<framework::Reservation>(framework::run_reserve(std::move(context), slot));
  }

  std::map<std::string, int> bound() const {
    const std::lock_guard lock(mutex_);
    return bound_;
  }
  std::atomic<int> unreserved{0};

 private:
  static berth_code sees_identity(const berth_binder_v1& binder, berth_note_v1*) {
    binder.pod_fields(binder.ctx, BERTH_POD_IDENTITY);
    return BERTH_OK;
  }
  static std::string name_of(const berth_cycle_v1& cycle) { return std::string(framework::from_abi(cycle.pod->name)); }
  static int number(const std::string& name) { return std::stoi(name.substr(1)); }
  bool first(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return seen_.emplace(what, true).second;
  }
  FrameworkFixture& host_;
  framework::CyclePool pool_{host_.profile};
  std::uint64_t cycles_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, bool> seen_;
  std::map<std::string, int> bound_;
};

/// Closes the queue when all pods are bound.
class UntilAllAreBound final : public AttemptObserver {
 public:
  void attempt_ended(const AttemptEnd& end) noexcept override {
    if (end.result == AttemptResult::scheduled && bound_.fetch_add(1) + 1 == k_pods) queue->close();
  }
  queue::SchedulingQueue* queue = nullptr;

 private:
  std::atomic<int> bound_{0};
};

TEST(ManyThreads, BindEveryPodExactlyOnce) {
  std::map<std::string, PodPtr> pods;
  for (int i = 0; i < k_pods; ++i) {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "default";
    pod->name = "p" + std::to_string(i);
    pod->uid = "uid-" + pod->name;
    pod->scheduler_name = "default-scheduler";
    pods[pod->name] = pod;
  }
  FrameworkFixture host;
  host.add_node("n1");
  host.refresh();
  SymbolTable& symbols = host.symbols;
  const Symbol node = symbols.intern("n1");
  cache::ClusterCache& cache = host.cache;
  SystemClock clock;
  FifoPolicy policy;
  cluster::AcceptingWriter writer;
  UntilAllAreBound attempts;
  const auto lookup = [&](const model::Pod& pod) { return pods.at(pod.name); };
  queue::QueueOptions options;
  options.backoff_max_ns = 0;  // what failed is tried again at once
  queue::ProfileHints hints{"default-scheduler", queue::default_registrations(k_gang)};
  queue::SchedulingQueue queue(options, queue::HintTable({hints}), policy, lookup, clock);
  attempts.queue = &queue;
  Timers timers(clock);
  WaitingPods waiting(timers);
  FailureHandler failures(queue, lookup, writer, symbols, attempts);
  UnreliablePlugins plugins(host);
  ThreadPool pool(4);
  Binder binder({}, {pool, waiting, failures, queue, writer, symbols, attempts});

  std::thread watch([&] {
    for (const auto& [name, pod] : pods) queue.add(pod);
  });
  std::thread events([&] {
    for (int i = 0; i < 200; ++i) {
      queue.move_all({model::EventResource::node, model::actions::update_node_label, {}}, {});
      queue.flush();
      (void)queue.pending_pods();
      (void)binder.open_bindings();
    }
  });
  std::thread permit([&] {
    while (binder.counts().bound < k_pods) {
      waiting.each([&](const model::Pod& pod, Symbol) {
        waiting.allow(pod.uid.text(), k_gang);
        return true;
      });
      std::this_thread::yield();
    }
  });
  int turn = 0;
  while (std::optional<queue::Ticket> ticket = queue.wait_pop()) {
    const PodPtr pod = ticket->pod();
    Result<cache::Assumption> assumption = cache.assume(pod, node);
    ASSERT_TRUE(assumption.ok()) << assumption.error().message;
    std::vector<PermitWait> waits;
    if (++turn % 4 == 0) waits.push_back({k_gang, "Gang", framework::k_permit_wait_max_ns});
    binder.start(std::move(*ticket),
                 {std::move(assumption).value(), plugins.reserve(pod, host.slot("n1")), nullptr, std::move(waits)}, {});
  }
  watch.join();
  events.join();
  permit.join();
  EXPECT_TRUE(binder.drain(std::chrono::seconds(60)));
  const std::map<std::string, int> bound = plugins.bound();
  EXPECT_EQ(bound.size(), static_cast<std::size_t>(k_pods));
  for (const auto& [name, times] : bound) EXPECT_EQ(times, 1) << name;
  EXPECT_EQ(plugins.unreserved.load(), k_pods / 3 + k_pods / 5);
  EXPECT_EQ(cache.counts().assumed_pods, static_cast<std::size_t>(k_pods));
}

}  // namespace
}  // namespace berth::binding::testing
