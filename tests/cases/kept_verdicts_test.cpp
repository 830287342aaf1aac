// SPDX-License-Identifier: Apache-2.0
// A cluster that changes at random: pods are placed and deleted, labels, taints, capacity and images of nodes change, and so do
// labels of namespaces, services, volumes and their limits. After each change pods of a few classes are tried twice, by what is
// kept of their class and by a computation that keeps nothing, for policies of the default profile by themselves. Not held yet:
// ImageLocality and the whole profile, where a try changes how many nodes an image is said to be on, and filters without
// scores. In half of the runs each kept verdict and score is held against a fresh one as well. The seed is in each failure;
// BERTH_SEED=n runs that one only, BERTH_LONG=1 a hundred for each policy.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <random>
#include <set>

#include "app/simulate/simulation.hpp"
#include "cases/case_objects.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"
#include "support/seeds.hpp"
#include "text/parse.hpp"

namespace berth::cases::kept_verdicts {
namespace {

constexpr int k_changes = 100;  // of a seed
constexpr int k_probes = 4;     // classes that are tried after each change
constexpr int k_zones = 3;
constexpr const char* k_namespaces[] = {"default", "a", "b"};

/// A profile with one policy, and what a pod needs to come to a node at all. "all": the default profile.
std::string configuration_of(std::string_view policy) {
  const std::string head =
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler")";
  if (policy == "all") return head + "}]}";
  // Evictions are what its filters leave to preemption.
  const std::string others = policy == "DefaultPreemption" ? R"({"name":"NodeResourcesFit"},)" : "";
  return head +
         fmt::format(
             R"(,"plugins":{{"multiPoint":{{"disabled":[{{"name":"*"}}],"enabled":[{{"name":"PrioritySort"}},{}{{"name":"{}"}},{{"name":"DefaultBinder"}}]}}}}}}]}})",
             others, policy);
}

/// What an attempt comes to.
struct Outcome {
  std::string node;  // empty: none
  std::uint32_t feasible = 0;
  std::int64_t total = 0;
  std::string message;
  std::vector<std::string> victims;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << '"' << outcome.node << "\" of " << outcome.feasible << " with " << outcome.total << ' ' << outcome.message
       << ::testing::PrintToString(outcome.victims);
}

class ChangingCluster {
 public:
  ChangingCluster(const config::Configuration& configuration, const app::PluginLibrary& plugins, std::uint32_t seed)
      : random_(seed) {
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000;
    simulation_ = app::Simulation::make(symbols_, configuration, plugins, options).value();
    const std::vector<std::string> watched = simulation_->scheduler().views().objects.resources();
    watched_.insert(watched.begin(), watched.end());
    for (const char* ns : k_namespaces) put_namespace(ns);
    for (int i = 0; i < 7; ++i) add_node();
    for (int i = 0; i < 2; ++i) put_volume(i);
    for (int i = 0; i < k_probes; ++i) probes_.push_back(pod_json("@", ""));
    simulation_->run_until_idle({});
  }

  /// Something changes, and the scheduler has decided about what waits.
  void change() {
    const int what = draw(100);
    if (what < 30) {
      add_pod();
    } else if (what < 45) {
      remove_pod();
    } else if (what < 50) {
      add_node();
    } else if (what < 53 && nodes_.size() > 3) {
      simulation_->cluster().remove_node(take(nodes_));
    } else if (what < 75) {
      put_node(any(nodes_));
    } else if (what < 85) {
      const char* const ns = k_namespaces[draw(3)];
      if (chance(80))
        put_namespace(ns);
      else
        simulation_->cluster().remove_object("core/v1/namespaces", "", ns);
    } else if (what < 88) {
      put_service();
    } else if (what < 91) {
      put_volume(draw(2));
    } else if (what < 94) {
      put_volume_limit(any(nodes_));
    } else {
      probes_[static_cast<std::size_t>(draw(k_probes))] = pod_json("@", "");
    }
    simulation_->run_until_idle({});
    if (chance(20)) simulation_->advance(std::chrono::seconds(1 + draw(30)), {});
  }

  /// A pod of each class comes to the same by what is kept and by a computation that keeps nothing.
  void expect_kept_is_fresh() {
    const scheduler::DecisionParts host = simulation_->scheduler().decision_parts();
    for (const std::string& shape : probes_) {
      const model::PodPtr pod = decode_pod(shape, fmt::format("probe-{}", next_++));
      ASSERT_NE(pod, nullptr);
      const std::uint64_t pod_class = host.framework.classify(*pod);
      if (pod_class == 0) ++without_class;
      const std::uint64_t rotation = host.cycle.rotation();
      const Outcome kept = attempt(host, pod, pod_class);
      host.cycle.begin_at(rotation);
      const Outcome fresh = attempt(host, pod, 0);
      ASSERT_EQ(kept, fresh) << shape;
    }
    host.cache.rest(host.snapshot);
    ASSERT_EQ(host.cycle.reuse_counts().violations, 0u) << host.undeclared_inputs.front().sentence();
  }
  const cycle::ReuseCounts& reuse() { return simulation_->scheduler().decision_parts().cycle.reuse_counts(); }
  std::uint64_t without_class = 0;

 private:
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  bool chance(int percent) { return draw(100) < percent; }
  const std::string& any(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(draw(static_cast<int>(list.size())))];
  }
  std::string take(std::vector<std::string>& names) {
    const auto at = names.begin() + draw(static_cast<int>(names.size()));
    std::string name = std::move(*at);
    names.erase(at);
    return name;
  }

  static Outcome attempt(const scheduler::DecisionParts& host, const model::PodPtr& pod, std::uint64_t pod_class) {
    cycle::GangAttempt alone;
    alone.member = [](const model::Pod&) { return false; };
    alone.post_filter = true;
    host.cycle.begin_gang_attempt();
    cycle::Attempt tried = host.cycle.reserve(pod, pod_class, alone);
    Outcome outcome;
    if (tried.placement) {
      outcome.node = tried.placement->node->name;
      outcome.feasible = tried.placement->feasible_nodes;
      outcome.total = tried.placement->total;
      host.cycle.give_back(std::move(*tried.placement));
    } else {
      outcome.message = tried.rejection->full_message();
      outcome.victims = tried.rejection->victims;
    }
    return outcome;
  }

  // Objects.
  void put(const std::string& resource, const std::string& json) {
    if (watched_.count(resource) != 0) put_json(*simulation_, symbols_, watched_by(*simulation_), json);
  }
  template <typename Form>
  std::string manifest(const std::string& json, Form form) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "generated", problems);
    std::string out = form(documents.at(0).root(), "generated", problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    return out;
  }
  model::PodPtr decode_pod(const std::string& shape, const std::string& name) {
    text::Diagnostics problems;
    const std::string json = manifest(named(shape, name), pod_manifest);
    const auto documents = text::parse_json(json, "generated", problems);
    const auto decoded = decode::ObjectDecoder(symbols_, watched_by(*simulation_))
                             .decode(documents.at(0), documents.at(0).root(), problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    const auto* const pod = decoded ? std::get_if<model::PodPtr>(&*decoded) : nullptr;
    return pod == nullptr ? nullptr : *pod;
  }
  static std::string named(std::string shape, const std::string& name) {
    return shape.replace(shape.find('@'), 1, name);
  }

  void add_node() {
    nodes_.push_back(fmt::format("n{}", next_++));
    put_node(nodes_.back());
  }
  /// Adds it, or changes its labels, taints, capacity and images.
  void put_node(const std::string& name) {
    const std::string taint = chance(15) ? R"("k=v:NoSchedule")" : chance(20) ? R"("k=v:PreferNoSchedule")" : "";
    const std::string image =
        chance(30) ? fmt::format(R"({{"names":["example.com/image:1"],"sizeBytes":{}}})", (1 + draw(5)) * 100'000'000)
                   : "";
    const std::string json = fmt::format(
        R"({{"name":"{}","labels":{{"zone":"z{}","disk":"d{}","topology.kubernetes.io/zone":"z{}","kubernetes.io/hostname":"{}"}},"cpu_milli":{},"memory_mib":{},"pods":"{}","unschedulable":{},"taints":[{}],"images":[{}]}})",
        name, draw(k_zones), draw(2), draw(k_zones), name, 1000 + 500 * draw(5), 2048 + 1024 * draw(3), 4 + draw(8),
        chance(8) ? "true" : "false", taint, image);
    put_json(*simulation_, symbols_, watched_by(*simulation_), manifest(json, node_manifest));
  }
  void put_namespace(const std::string& name) {
    put("core/v1/namespaces",
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}","labels":{{{}}}}}}})", name,
                    chance(70) ? fmt::format(R"("team":"t{}")", draw(2)) : ""));
  }
  void put_service() {
    const std::string name = fmt::format("s{}", draw(2));
    const char* const ns = k_namespaces[draw(3)];
    if (chance(30)) {
      simulation_->cluster().remove_object("core/v1/services", ns, name);
      return;
    }
    put("core/v1/services",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"selector":{{"app":"a{}"}}}}}})",
            name, ns, draw(3)));
  }
  /// A claim that is bound to a volume of some zone.
  void put_volume(int number) {
    put("core/v1/persistentvolumes",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"v{0}","labels":{{"topology.kubernetes.io/zone":"z{1}"}}}},"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteMany"],"claimRef":{{"namespace":"default","name":"c{0}","uid":"uid-c{0}"}},"csi":{{"driver":"csi.example.com","volumeHandle":"h{0}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{2}"]}}]}}]}}}}}}}})",
            number, draw(k_zones), draw(k_zones)));
    put("core/v1/persistentvolumeclaims",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"c{0}","namespace":"default","uid":"uid-c{0}","annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"accessModes":["ReadWriteMany"],"volumeName":"v{0}","resources":{{"requests":{{"storage":"1Gi"}}}}}},"status":{{"phase":"Bound"}}}})",
            number));
  }
  void put_volume_limit(const std::string& node) {
    put("storage.k8s.io/v1/csinodes",
        fmt::format(
            R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{{"name":"{0}"}},"spec":{{"drivers":[{{"name":"csi.example.com","nodeID":"{0}","topologyKeys":[],"allocatable":{{"count":{1}}}}}]}}}})",
            node, draw(3)));
  }

  void add_pod() {
    // Often of a class that is tried, and sometimes on a node that others chose.
    const std::string node = chance(30) ? fmt::format(R"(,"node":"{}")", any(nodes_)) : "";
    const std::string name = fmt::format("p{}", next_++);
    std::string shape = chance(60) ? any(probes_) : pod_json("@", "");
    if (!node.empty()) shape.insert(shape.size() - 1, node);
    pods_.push_back({std::string(ns_of(shape)), name});
    put_json(*simulation_, symbols_, watched_by(*simulation_), manifest(named(shape, name), pod_manifest));
  }
  static std::string_view ns_of(std::string_view shape) {
    for (const char* ns : k_namespaces)
      if (shape.find(fmt::format(R"("namespace":"{}")", ns)) != std::string_view::npos) return ns;
    return "default";
  }
  void remove_pod() {
    if (pods_.empty()) return;
    const auto at = pods_.begin() + draw(static_cast<int>(pods_.size()));
    simulation_->cluster().remove_pod(at->first, at->second);  // false: it was evicted
    pods_.erase(at);
  }
  std::string pod_json(const std::string& name, const std::string& more) {
    const int app = draw(3);
    std::string json = fmt::format(
        R"({{"name":"{}","namespace":"{}","labels":{{"app":"a{}"}},"cpu_milli":{},"memory_mib":{},"priority":{}{})",
        name, k_namespaces[chance(60) ? 0 : draw(3)], app, 100 * (1 + draw(8)), 128 * (1 + draw(4)), draw(3), more);
    const std::string selector = fmt::format(R"({{"matchLabels":{{"app":"a{}"}}}})", app);
    if (chance(25)) json += R"(,"tolerations":["k=v:NoSchedule"])";
    if (chance(20)) json += fmt::format(R"(,"node_selector":{{"disk":"d{}"}})", draw(2));
    if (chance(15)) json += R"(,"host_ports":[8080])";
    if (chance(15))
      json += fmt::format(R"(,"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"c{}"}}}}])", draw(2));
    if (chance(40)) json += R"(,"spread":[)" + spread(selector) + (chance(40) ? "," + spread(selector) : "") + "]";
    if (chance(60)) json += R"(,"affinity":)" + affinity();
    return json + "}";
  }
  std::string topology_key() { return chance(50) ? "zone" : "kubernetes.io/hostname"; }
  std::string spread(const std::string& selector) {
    return fmt::format(R"({{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{}{}{}}})",
                       1 + draw(2), topology_key(), chance(50) ? "DoNotSchedule" : "ScheduleAnyway", selector,
                       chance(15) ? R"(,"nodeAffinityPolicy":"Ignore")" : "",
                       chance(25) ? R"(,"nodeTaintsPolicy":"Honor")" : "");
  }
  std::string pod_term() {
    const std::string namespaces =
        chance(40)   ? fmt::format(R"(,"namespaceSelector":{{"matchLabels":{{"team":"t{}"}}}})", draw(2))
        : chance(20) ? R"(,"namespaceSelector":{})"
        : chance(20) ? R"(,"namespaces":["a","b"])"
                     : "";
    return fmt::format(R"({{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"a{}"}}}}{}}})", topology_key(),
                       draw(3), namespaces);
  }
  std::string affinity() {
    std::vector<std::string> parts;
    const auto pods = [&](const char* kind) {
      parts.push_back(
          chance(40)
              ? fmt::format(R"("{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})", kind, pod_term())
              : fmt::format(
                    R"("{}":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{},"podAffinityTerm":{}}}]}})",
                    kind, 1 + draw(100), pod_term()));
    };
    if (chance(50)) pods("podAffinity");
    if (chance(50)) pods("podAntiAffinity");
    if (chance(40))
      parts.push_back(fmt::format(
          R"("nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{},"preference":{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{}"]}}]}}}}]}})",
          1 + draw(100), draw(k_zones)));
    return fmt::format("{{{}}}", fmt::join(parts, ","));
  }

  SymbolTable symbols_;  // outlives the simulation
  std::mt19937 random_;
  std::unique_ptr<app::Simulation> simulation_;
  std::set<std::string> watched_;
  std::vector<std::string> nodes_, probes_;
  std::vector<std::pair<std::string, std::string>> pods_;
  int next_ = 0;
};

class KeptVerdicts : public ::testing::TestWithParam<const char*> {};

TEST_P(KeptVerdicts, AreWhatAFreshComputationFindsAfterEachRandomChange) {
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load(configuration_of(GetParam()), "policy", problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  const app::PluginLibrary plugins = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
  ASSERT_TRUE(plugins.ok()) << plugins.report.render();
  config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  std::vector<std::uint32_t> seeds = tests::seeds();
  if (seeds.size() > 1) seeds.resize(std::getenv("BERTH_LONG") != nullptr ? 100 : 2);
  std::uint64_t changes = 0, reused = 0, without_class = 0;
  for (const std::uint32_t seed : seeds) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    configuration.plugins.verdict_reuse = seed % 2 == 0 ? config::VerdictReuse::on : config::VerdictReuse::verify;
    ChangingCluster cluster(configuration, plugins, seed);
    for (int i = 0; i < k_changes; ++i, ++changes) {
      SCOPED_TRACE(fmt::format("change {}", i));
      cluster.change();
      cluster.expect_kept_is_fresh();
      if (HasFailure()) return;
    }
    reused += cluster.reuse().reused;
    without_class += cluster.without_class;
  }
  std::printf("%s: %llu changes, %llu pods of a class decided by what was kept, %llu tries of pods without a class\n",
              GetParam(), static_cast<unsigned long long>(changes), static_cast<unsigned long long>(reused),
              static_cast<unsigned long long>(without_class));
  EXPECT_GT(reused, changes / 2) << "hardly anything is kept";
}

INSTANTIATE_TEST_SUITE_P(Each, KeptVerdicts,
                         ::testing::Values("TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding",
                                           "PodTopologySpread", "InterPodAffinity", "DynamicResources",
                                           "DefaultPreemption", "NodeResourcesBalancedAllocation"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace berth::cases::kept_verdicts
