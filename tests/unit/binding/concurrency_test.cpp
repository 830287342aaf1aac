// SPDX-License-Identifier: Apache-2.0
// Queue, binder and waiting pods under several threads at once: every pod is bound exactly once, whatever fails in
// between.
#include <atomic>
#include <thread>

#include "binding/thread_pool.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

constexpr int k_pods = 300;

struct PodHandle final : CycleHandle {
  explicit PodHandle(std::string pod_name) : name(std::move(pod_name)) {}
  const std::string name;
};

/// Every third pod fails its first pre-bind, every fifth its first bind.
class UnreliablePipeline final : public BindPipeline {
 public:
  std::string_view profile() const override { return "default-scheduler"; }
  std::size_t pre_bind_count() const override { return 2; }
  std::size_t bind_count() const override { return 1; }
  std::string_view pre_bind_name(std::size_t i) const override { return i == 0 ? "A" : "B"; }
  std::string_view bind_name(std::size_t) const override { return "Binder"; }
  PreBindCheck pre_bind_check(CycleHandle&, std::size_t) override { return {{}, true}; }
  void pre_bind(CycleHandle& cycle, std::size_t i, Completion done) override {
    const std::string& name = static_cast<PodHandle&>(cycle).name;
    done(i == 1 && number(name) % 3 == 0 && first("pre_bind " + name) ? no("not yet", Code::error) : Verdict{});
  }
  void bind(CycleHandle& cycle, std::size_t, Completion done) override {
    const std::string& name = static_cast<PodHandle&>(cycle).name;
    if (number(name) % 5 == 0 && first("bind " + name)) return done(no("conflict", Code::error));
    {
      const std::lock_guard lock(mutex_);
      ++bound_[name];
    }
    done({});
  }
  void post_bind(CycleHandle&) override {}
  void unreserve(CycleHandle&) override { unreserved.fetch_add(1); }

  std::map<std::string, int> bound() const {
    const std::lock_guard lock(mutex_);
    return bound_;
  }
  std::atomic<int> unreserved{0};

 private:
  static int number(const std::string& name) { return std::stoi(name.substr(1)); }
  bool first(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return seen_.emplace(what, true).second;
  }
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

class SilentWriter final : public cluster::ClusterWriter {
 public:
  void bind(const cluster::PodRef&, std::string_view, Done done) override { done(Unit{}); }
  void patch_pod_status(const cluster::PodRef&, const cluster::PodStatusPatch&, Done done) override { done(Unit{}); }
  void patch_pod_metadata(const cluster::PodRef&, const cluster::PodMetadataPatch&, Done done) override {
    done(Unit{});
  }
  void evict(const cluster::PodRef&, Done done) override { done(Unit{}); }
  void patch_object(const cluster::ObjectRef&, std::string_view, Done done) override { done(Unit{}); }
  void record_event(const cluster::EventRecord&, Done done) override { done(Unit{}); }
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
  SymbolTable symbols;
  const Symbol node = symbols.intern("n1");
  cache::ClusterCache cache(symbols);
  SystemClock clock;
  FifoPolicy policy;
  SilentWriter writer;
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
  UnreliablePipeline pipeline;
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
    if (++turn % 4 == 0) waits.push_back({k_gang, "Gang", k_permit_wait_max_ns});
    binder.start({std::move(*ticket), std::move(assumption).value(), &pipeline, std::make_unique<PodHandle>(pod->name),
                  std::move(waits)});
  }
  watch.join();
  events.join();
  permit.join();
  EXPECT_TRUE(binder.drain(std::chrono::seconds(60)));
  const std::map<std::string, int> bound = pipeline.bound();
  EXPECT_EQ(bound.size(), static_cast<std::size_t>(k_pods));
  for (const auto& [name, times] : bound) EXPECT_EQ(times, 1) << name;
  EXPECT_EQ(pipeline.unreserved.load(), k_pods / 3 + k_pods / 5);
  EXPECT_EQ(cache.counts().assumed_pods, static_cast<std::size_t>(k_pods));
}

}  // namespace
}  // namespace berth::binding::testing
