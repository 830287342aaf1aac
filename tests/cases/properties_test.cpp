// SPDX-License-Identifier: Apache-2.0
// Random clusters with random events, run with verdicts reused, computed again, and both compared. Whatever happens:
// no node is over-committed, nothing is bound twice, the three runs decide alike, and in the end queue and cache agree
// with the cluster. The seed is in each failure; BERTH_SEED=n runs that one only.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <map>
#include <random>
#include <set>

#include "app/simulate/simulation.hpp"
#include "cases/case_objects.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"
#include "support/planned_failures.hpp"
#include "support/seeds.hpp"
#include "text/parse.hpp"

namespace berth::cases {
namespace {

using config::VerdictReuse;
constexpr int k_steps = 60;
constexpr int k_zones = 3;

/// One thing that happens, drawn before any run so that all runs see the same.
struct Event {
  enum class Kind { put_node, put_pod, remove_node, remove_pod, fail_bind, advance } kind;
  std::string text;  // manifest, or name
  std::int64_t duration_ms = 0;
};

class Script {
 public:
  explicit Script(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < 6; ++i) add_node();
    for (int i = 0; i < k_steps; ++i) step();
    events.push_back({Event::Kind::advance, "", 400'000});
  }
  std::vector<Event> events;

 private:
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  bool chance(int percent) { return draw(100) < percent; }
  static std::string manifest(bool pod, const std::string& json) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "generated", problems);
    const text::Value& root = documents.at(0).root();
    std::string out = pod ? pod_manifest(root, "generated", problems) : node_manifest(root, "generated", problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    return out;
  }

  std::string node_json(const std::string& name, int zone, int cpu_milli) {
    return fmt::format(
        R"({{"name":"{}","labels":{{"zone":"z{}","kubernetes.io/hostname":"{}"}},"cpu_milli":{},"memory_mib":4096,"pods":"{}","unschedulable":{},"taints":[{}]}})",
        name, zone, name, cpu_milli, 3 + draw(8), chance(10) ? "true" : "false",
        chance(20)   ? R"("k=v:NoSchedule")"
        : chance(20) ? R"("k=v:PreferNoSchedule")"
                     : "");
  }
  void add_node() {
    const std::string name = fmt::format("n{}", next_node_++);
    nodes_.push_back(name);
    events.push_back({Event::Kind::put_node, manifest(false, node_json(name, draw(k_zones), 1000 + 500 * draw(4)))});
  }
  /// Nodes never shrink: a smaller node would be over-committed through no fault of the scheduler.
  void change_node() {
    if (nodes_.empty()) return;
    const std::string& name = nodes_[static_cast<std::size_t>(draw(static_cast<int>(nodes_.size())))];
    std::string json = node_json(name, draw(k_zones), 4000);
    const std::size_t pods = json.find("\"pods\":\"");
    json.replace(pods, json.find(',', pods) - pods, R"("pods":"20")");
    events.push_back({Event::Kind::put_node, manifest(false, json)});
  }
  std::string pod_json(const std::string& name) {
    const int app = draw(3);
    std::string json =
        fmt::format(R"({{"name":"{}","labels":{{"app":"a{}"}},"cpu_milli":{},"memory_mib":{},"priority":{})", name, app,
                    100 * (1 + draw(8)), 128 * (1 + draw(4)), draw(3));
    const std::string selector = fmt::format(R"({{"matchLabels":{{"app":"a{}"}}}})", app);
    if (chance(25)) json += R"(,"tolerations":["k=v:NoSchedule"])";
    if (chance(20)) json += fmt::format(R"(,"node_selector":{{"zone":"z{}"}})", draw(k_zones));
    if (chance(15)) json += R"(,"host_ports":[8080])";
    if (chance(35)) json += R"(,"spread":[)" + spread(selector) + (chance(40) ? "," + spread(selector) : "") + "]";
    if (chance(40)) json += R"(,"affinity":)" + affinity();
    if (chance(5)) json += R"(,"gates":["later"])";
    return json + "}";
  }
  std::string topology_key() { return chance(50) ? "zone" : "kubernetes.io/hostname"; }
  std::string spread(const std::string& selector) {
    return fmt::format(R"({{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{}{}{}}})",
                       1 + draw(2), topology_key(), chance(50) ? "DoNotSchedule" : "ScheduleAnyway", selector,
                       chance(15) ? R"(,"nodeAffinityPolicy":"Ignore")" : "",
                       chance(25) ? R"(,"nodeTaintsPolicy":"Honor")" : "");
  }
  std::string affinity_term() {
    const bool in_other_namespaces = chance(10);
    return fmt::format(R"({{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"a{}"}}}}{}}})", topology_key(),
                       draw(3), in_other_namespaces ? R"(,"namespaceSelector":{})" : "");
  }
  std::string affinity() {
    const auto list = [&](const char* kind) {
      if (chance(40))
        return fmt::format(R"("{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})", kind, affinity_term());
      return fmt::format(
          R"("{}":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{},"podAffinityTerm":{}}}]}})", kind,
          1 + draw(100), affinity_term());
    };
    const int which = draw(3);
    std::string text = "{";
    if (which != 1) text += list("podAffinity");
    if (which == 2) text += ",";
    if (which != 0) text += list("podAntiAffinity");
    return text + "}";
  }
  void add_pods() {
    // Often several alike, as controllers make them: that is when verdicts are reused.
    const std::string shape = pod_json("@");
    for (int i = 1 + draw(5); i > 0; --i) {
      const std::string name = fmt::format("p{}", next_pod_++);
      pods_.push_back(name);
      std::string json = shape;
      json.replace(json.find('@'), 1, name);
      events.push_back({Event::Kind::put_pod, manifest(true, json)});
    }
  }
  std::string take(std::vector<std::string>& names) {
    const auto index = static_cast<std::size_t>(draw(static_cast<int>(names.size())));
    std::string name = std::move(names[index]);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    return name;
  }
  void step() {
    const int what = draw(100);
    if (what < 40)
      add_pods();
    else if (what < 55 && !pods_.empty())
      events.push_back({Event::Kind::remove_pod, take(pods_)});
    else if (what < 60)
      add_node();
    else if (what < 70)
      change_node();
    else if (what < 74 && nodes_.size() > 2)
      events.push_back({Event::Kind::remove_node, take(nodes_)});
    else if (what < 80)
      events.push_back({Event::Kind::fail_bind, ""});
    else
      events.push_back({Event::Kind::advance, "", 100 + draw(20'000)});
  }

  std::mt19937 random_;
  std::vector<std::string> nodes_, pods_;
  int next_node_ = 0, next_pod_ = 0;
};

class Player {
 public:
  Player(const config::Configuration& given, const app::PluginLibrary& plugins, VerdictReuse reuse)
      : configuration_(given) {
    configuration_.plugins.verdict_reuse = reuse;
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000;
    options.refuse = failures_.refuse();
    simulation_ = app::Simulation::make(symbols_, configuration_, plugins, options).value();
  }

  void play(const Script& script) {
    const app::Simulation::Watcher watcher = [this](report::Decision decision) {
      log_ += fmt::format("{} {} {} {}\n", simulation_->clock().wall_ns(), decision.pod->key(), decision.node,
                          decision.message);
    };
    for (const Event& event : script.events) {
      happen(event, watcher);
      simulation_->run_until_idle(watcher);
      ASSERT_NO_FATAL_FAILURE(expect_no_node_over_committed());
    }
    expect_nothing_bound_twice();
    expect_queue_and_cache_agree_with_the_cluster();
  }
  const std::string& log() const { return log_; }
  const cycle::ReuseCounts& reuse() { return simulation_->scheduler().decision_parts().cycle.reuse_counts(); }

 private:
  void happen(const Event& event, const app::Simulation::Watcher& watcher) {
    cluster::EmbeddedCluster& cluster = simulation_->cluster();
    switch (event.kind) {
      case Event::Kind::put_node:
      case Event::Kind::put_pod:
        put(event.text);
        break;
      case Event::Kind::remove_node:
        cluster.remove_node(event.text);
        break;
      case Event::Kind::remove_pod:
        cluster.remove_pod("default", event.text);
        break;
      case Event::Kind::fail_bind:
        failures_.next(cluster::RecordedWrite::Kind::bind, {"refused", ErrorCode::internal_error});
        break;
      case Event::Kind::advance:
        simulation_->advance(std::chrono::milliseconds(event.duration_ms), watcher);
        break;
    }
  }
  void put(const std::string& manifest) { put_json(*simulation_, symbols_, watched_by(*simulation_), manifest); }

  void expect_no_node_over_committed() {
    struct Sum {
      std::map<Symbol, std::int64_t> requested;
      std::int64_t pods = 0;
    };
    std::map<Symbol, Sum> by_node;
    for (const model::PodPtr& pod : simulation_->cluster().pods()) {
      if (pod->node_name == k_no_symbol) continue;
      Sum& sum = by_node[pod->node_name];
      ++sum.pods;
      for (const model::PodResource& resource : pod->requests->resources)
        sum.requested[resource.name] += resource.effective;
    }
    for (const model::NodePtr& node : simulation_->cluster().nodes()) {
      Sum& sum = by_node[node->name_symbol];
      ASSERT_LE(sum.pods, node->allowed_pods) << node->name;
      for (const model::ResourceAmount& amount : node->allocatable)
        ASSERT_LE(sum.requested[amount.name], amount.amount) << node->name << " " << symbols_.text(amount.name);
    }
  }
  void expect_nothing_bound_twice() {
    std::set<std::string> bound;
    for (const cluster::RecordedWrite& write : simulation_->cluster().writes())
      if (write.kind == cluster::RecordedWrite::Kind::bind && write.outcome.ok()) {
        EXPECT_TRUE(bound.insert(write.pod.uid).second) << write.pod.name;
      }
    EXPECT_FALSE(bound.empty());
  }
  void expect_queue_and_cache_agree_with_the_cluster() {
    std::set<std::string> unbound, queued;
    std::size_t placed = 0;
    for (const model::PodPtr& pod : simulation_->cluster().pods()) {
      if (pod->node_name == k_no_symbol)
        unbound.insert(pod->key());
      else
        ++placed;
    }
    for (const queue::PendingPod& pod : simulation_->scheduler().views().queue.pending_pods()) {
      EXPECT_TRUE(queued.insert(pod.pod->key()).second) << pod.pod->key() << " is queued twice";
      EXPECT_NE(pod.place, queue::Place::in_flight) << pod.pod->key();
      EXPECT_NE(pod.place, queue::Place::active) << pod.pod->key() << " could be tried, and was not";
      EXPECT_NE(pod.place, queue::Place::nowhere) << pod.pod->key();
    }
    EXPECT_EQ(queued, unbound);
    const queue::QueueSizes sizes = simulation_->scheduler().views().queue.sizes();
    EXPECT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated, queued.size());
    EXPECT_EQ(sizes.in_flight, 0u);
    EXPECT_EQ(sizes.logged_events, 0u);
    const cache::CacheCounts counts = simulation_->scheduler().views().cache.counts();
    EXPECT_EQ(counts.pods, placed);
    EXPECT_EQ(counts.assumed_pods, 0u);
  }

  SymbolTable symbols_;
  config::Configuration configuration_;
  tests::PlannedFailures failures_;  // outlives the simulation
  std::unique_ptr<app::Simulation> simulation_;
  std::string log_;
};

/// Where two logs part, with a line of context.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const auto line = [&](const std::string& text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return fmt::format("one run: {}\nanother: {}", line(a), line(b));
}

TEST(RandomEvents, KeepEveryInvariantWithAndWithoutReuse) {
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load_defaults();
  const app::PluginLibrary plugins = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
  ASSERT_TRUE(plugins.ok()) << plugins.report.render();
  const config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  std::uint64_t reused = 0, diagnoses = 0, ranked = 0;
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    const Script script(seed);
    Player on(configuration, plugins, VerdictReuse::on), off(configuration, plugins, VerdictReuse::off),
        verify(configuration, plugins, VerdictReuse::verify);
    for (Player* run : {&on, &off, &verify}) ASSERT_NO_FATAL_FAILURE(run->play(script));
    EXPECT_EQ(verify.reuse().violations, 0u);
    EXPECT_EQ(off.reuse().reused, 0u);
    reused += on.reuse().reused;
    diagnoses += on.reuse().diagnoses;
    ranked += verify.reuse().ranked;
    ASSERT_EQ(on.log(), off.log()) << first_difference(on.log(), off.log());
    ASSERT_EQ(on.log(), verify.log()) << first_difference(on.log(), verify.log());
    if (HasFailure()) return;
  }
  if (!tests::are_few_seeds()) {
    EXPECT_GT(reused, 0u) << "no run reused a verdict, so nothing was compared";
    EXPECT_GT(diagnoses, 0u) << "no two alike pods waited together";
    EXPECT_GT(ranked, 0u) << "no kept ranking chose a node: some policy of the default profile scores every pod afresh";
  }
}

}  // namespace
}  // namespace berth::cases
