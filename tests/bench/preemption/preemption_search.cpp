// SPDX-License-Identifier: Apache-2.0
// The search for victims: full nodes, pods of low priority on them, and pods of higher priority that want in, one after
// the other. What each search chose is checked against the exhaustive one.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "app/simulate/single_pass.hpp"
#include "bench/command_line.hpp"
#include "bench/random.hpp"
#include "config/resolve.hpp"
#include "preemption/exhaustive.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

/// The fields of a workload file; preemption/plain-5000.yaml explains them.
struct Workload {
  std::int64_t nodes = 0, node_cpu_milli = 0, node_memory_mib = 0, node_pods = 0, zones = 0;
  std::int64_t victims_per_node = 0, victim_cpu_milli = 0, victim_memory_mib = 0, victim_spread_milli = 0,
               priorities = 0, budgets = 0, searches = 0, cpu_milli = 0, memory_mib = 0, seed = 0;
  std::string constraint;
  bool third_party = false;
};

Workload read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(content.str(), path, problems);
  if (!file || documents.empty() || !problems.empty())
    throw std::runtime_error("cannot read " + path + problems.render());
  const text::Value& root = documents.front().root();
  const auto number = [&](const char* field) -> std::int64_t {
    const text::Value* value = root.find_path(field);
    const auto n = value != nullptr ? value->integer() : std::nullopt;
    if (!n || *n < 0) throw std::runtime_error(fmt::format("{}: {} must be a number", path, field));
    return *n;
  };
  Workload w;
  w.nodes = number("nodes.count");
  w.node_cpu_milli = number("nodes.cpu_milli");
  w.node_memory_mib = number("nodes.memory_mib");
  w.node_pods = number("nodes.pods");
  w.zones = number("nodes.zones");
  w.victims_per_node = number("victims.per_node");
  w.victim_cpu_milli = number("victims.cpu_milli");
  w.victim_spread_milli = number("victims.cpu_milli_spread");
  w.victim_memory_mib = number("victims.memory_mib");
  w.priorities = number("victims.priorities");
  w.budgets = number("budgets");
  w.searches = number("pods.count");
  w.cpu_milli = number("pods.cpu_milli");
  w.memory_mib = number("pods.memory_mib");
  w.seed = number("seed");
  if (const text::Value* constraint = root.find_path("pods.constraint")) w.constraint = constraint->text();
  if (const text::Value* third = root.find_path("third_party_filter")) w.third_party = third->boolean();
  return w;
}

class Scene {
 public:
  explicit Scene(const Workload& w) : w_(w), random_(static_cast<std::uint64_t>(w.seed)) {
    for (std::int64_t i = 0; i < w.nodes; ++i) manifests.objects.emplace_back(node(i));
    // Pods of one priority on every node, then of the next, so that nodes differ in who is there and since when.
    for (std::int64_t p = 0; p < w.victims_per_node; ++p)
      for (std::int64_t i = 0; i < w.nodes; ++i) {
        const std::int64_t cpu =
            w.victim_cpu_milli + (w.victim_spread_milli == 0 ? 0 : random_.below(w.victim_spread_milli));
        auto victim = pod(cpu, w.victim_memory_mib, static_cast<std::int32_t>(random_.below(w.priorities)));
        victim->node_name = symbols.intern(name_of(i));
        victim->phase = "Running";
        victim->start_ns = 1'700'000'000'000'000'000 + random_.below(100'000) * 1'000'000'000;
        victim->labels = {{symbols.intern("app"), symbols.intern(fmt::format("a{}", random_.below(20)))}};
        manifests.objects.emplace_back(model::PodPtr(std::move(victim)));
      }
    for (std::int64_t b = 0; b < w.budgets; ++b) add_budget(b);
    for (std::int64_t i = 0; i < w.searches; ++i) {
      auto one = pod(w.cpu_milli, w.memory_mib, 1000);
      one->labels = {{symbols.intern("app"), symbols.intern("a0")}};
      constrain(*one);
      manifests.objects.emplace_back(model::PodPtr(std::move(one)));
    }
  }

  SymbolTable symbols;
  cluster::Manifests manifests;
  std::vector<preemption_test::Budget> budgets;

 private:
  static std::string name_of(std::int64_t i) { return fmt::format("node-{:05}", i); }
  model::NodePtr node(std::int64_t i) {
    auto node = std::make_shared<model::Node>();
    node->name = name_of(i);
    node->name_symbol = symbols.intern(node->name);
    node->has_labels = true;
    node->labels = {
        {symbols.intern("kubernetes.io/hostname"), node->name_symbol},
        {symbols.intern("topology.kubernetes.io/zone"), symbols.intern(fmt::format("zone-{}", i % w_.zones))}};
    std::sort(node->labels.begin(), node->labels.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    node->allowed_pods = w_.node_pods;
    node->allocatable = {{symbols.intern("cpu"), w_.node_cpu_milli},
                         {symbols.intern("memory"), w_.node_memory_mib << 20}};
    return node;
  }
  std::shared_ptr<model::Pod> pod(std::int64_t cpu_milli, std::int64_t memory_mib, std::int32_t priority) {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "default";
    pod->ns_symbol = symbols.intern(pod->ns);
    pod->name = fmt::format("pod-{:06}", next_);
    pod->uid = fmt::format("uid-{:06}", next_++);
    pod->scheduler_name = "default-scheduler";
    pod->phase = "Pending";
    pod->priority = priority;
    pod->spec.edit().container_count = 1;
    const std::int64_t memory = memory_mib << 20;
    pod->requests.edit().resources = {{symbols.intern("cpu"), false, false, cpu_milli, cpu_milli, cpu_milli},
                                      {symbols.intern("memory"), false, false, memory, memory, memory},
                                      {symbols.intern("ephemeral-storage"), false, false, 0, 0, 0}};
    pod->requests.edit().nonzero_cpu_milli = cpu_milli;
    pod->requests.edit().nonzero_memory_bytes = memory;
    return pod;
  }
  void constrain(model::Pod& pod) {
    if (w_.constraint.empty() || w_.constraint == "none") return;
    model::Selector app{
        model::Selector::Kind::match, {{symbols.intern("app"), model::Operator::in, {symbols.intern("a0")}, 0}}, {}};
    if (w_.constraint == "affinity") {
      model::AffinityTerm term;
      term.selector = app;
      term.namespaces = {pod.ns_symbol};
      term.topology_key = symbols.intern("kubernetes.io/hostname");
      pod.spec.edit().affinity.present = true;
      pod.spec.edit().affinity.anti_required.push_back(std::move(term));
    } else if (w_.constraint == "spread") {
      model::SpreadConstraint spread;
      spread.selector = app;
      spread.topology_key = symbols.intern("topology.kubernetes.io/zone");
      spread.max_skew = 1;
      spread.action = model::SpreadAction::do_not_schedule;
      pod.spec.edit().spread.push_back(std::move(spread));
    } else {
      throw std::runtime_error("pods.constraint is none, affinity or spread");
    }
  }
  void add_budget(std::int64_t b) {
    const std::string app = fmt::format("a{}", b);
    auto object = std::make_shared<model::Object>();
    object->resource = "policy/v1/poddisruptionbudgets";
    object->ns = "default";
    object->name = fmt::format("budget-{}", b);
    object->json = fmt::format(
        R"({{"spec":{{"selector":{{"matchLabels":{{"app":"{}"}}}}}},"status":{{"disruptionsAllowed":{}}}}})", app,
        b % 2);
    manifests.objects.emplace_back(model::ObjectPtr(std::move(object)));
    budgets.push_back({"default", {{"app", app}}, b % 2, {}});
  }

  const Workload w_;
  Random random_;
  int next_ = 0;
};

config::Configuration configuration_for(const Workload& w, const std::string& plugin_dir, app::PluginLibrary& plugins) {
  std::string yaml =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "  - schedulerName: default-scheduler\n";
  if (w.third_party) yaml += "    plugins: {filter: {enabled: [{name: bench.example.com/Headroom}]}}\n";
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load(yaml, "benchmark", problems);
  if (!problems.empty()) throw std::runtime_error(problems.render());
  plugins = app::load_plugins(raw, plugin_dir);
  config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  if (!plugins.ok() || !problems.empty()) throw std::runtime_error(plugins.report.render() + problems.render());
  return configuration;
}

double search_seconds(const scheduler::DecisionParts& host) {
  double seconds = 0;
  for (const observe::CallTotal& total : host.framework.host().counters.totals())
    if (total.point == observe::point_name(observe::Point::post_filter)) seconds += total.seconds;
  return seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int run(const CommonOptions& options) {
  const Workload w = read(options.workload);
  Scene scene(w);
  app::PluginLibrary plugins;
  const config::Configuration configuration = configuration_for(w, options.plugin_dir, plugins);
  auto made = app::SinglePass::make(scene.symbols, configuration, plugins);
  if (!made.ok()) throw std::runtime_error(made.error().render());
  const std::unique_ptr<app::SinglePass> pass = std::move(*made);
  pass->load(scene.manifests);
  const scheduler::DecisionParts host = pass->scheduler().decision_parts();

  std::vector<double> searches, attempts;
  std::string wrong;
  std::uint64_t candidates = 0, victims = 0;
  while (auto ticket = host.queue.pop()) {
    const model::PodPtr pod = ticket->pod();
    preemption_test::Exhaustive expected;
    if (options.check) expected = search_exhaustively(host, pod, {}, scene.budgets, scene.symbols);
    const double searched_before = search_seconds(host);
    const auto start = std::chrono::steady_clock::now();
    cycle::Outcome outcome = host.cycle.run(pod, ticket->pod_class());
    attempts.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    searches.push_back(search_seconds(host) - searched_before);
    host.queue.done(std::move(*ticket));
    auto* const rejection = std::get_if<cycle::Rejection>(&outcome);
    if (rejection == nullptr || rejection->victims.empty()) {
      wrong = pod->key() + " did not preempt: " + (rejection != nullptr ? rejection->full_message() : "it fits");
      break;
    }
    // The victims go and the pod gets its place, so that the next search meets a cluster that has moved on.
    preemption_test::Choice chosen{
        std::string(scene.symbols.text(rejection->nomination.node)), {}, rejection->preemption->violations};
    for (const std::string& uid : rejection->victims) {
      const auto victim = host.cache.find_pod(uid);
      chosen.victims.insert(victim->pod->key());
      if (!host.cache.remove_pod(*victim->pod).ok()) wrong = "a victim is not in the cache";
    }
    candidates += rejection->preemption->candidates;
    victims += chosen.victims.size();
    if (options.check &&
        (!expected.choice || !(*expected.choice == chosen) || expected.candidates != rejection->preemption->candidates))
      wrong = fmt::format("{}: chose {} with {} victims of {} nodes; expected {} with {} of {}", pod->key(),
                          chosen.node, chosen.victims.size(), rejection->preemption->candidates,
                          expected.choice ? expected.choice->node : "none",
                          expected.choice ? expected.choice->victims.size() : 0, expected.candidates);
    if (!wrong.empty()) break;
    auto placed = host.cache.assume(pod, rejection->nomination.node);
    if (placed) std::move(placed).value().confirm();
  }
  // The first search reads every pod of the cluster into its index; the others only what changed.
  const double first = searches.empty() ? 0 : searches.front();
  if (searches.size() > 1) searches.erase(searches.begin()), attempts.erase(attempts.begin());
  const double worst = searches.empty() ? 0 : *std::max_element(searches.begin(), searches.end());
  const std::string name = options.workload.substr(options.workload.rfind('/') + 1);
  if (options.json)
    std::cout << fmt::format(
        R"({{"workload":"{}","nodes":{},"victims":{},"searches":{},"first_ms":{:.4f},"median_ms":{:.4f},"worst_ms":{:.4f},"attempt_ms":{:.4f},"checked":{},"wrong":"{}"}})",
        name, w.nodes, w.nodes * w.victims_per_node, searches.size(), first * 1e3, median(searches) * 1e3, worst * 1e3,
        median(attempts) * 1e3, options.check, wrong);
  else
    std::cout << fmt::format(
        "{}: {} searches over {} nodes with {} pods: first {:.3f} ms, then median {:.3f} ms, worst {:.3f} ms; whole "
        "attempt {:.3f} ms; "
        "{} candidates, {} victims in all; {}",
        name, searches.size(), w.nodes, w.nodes * w.victims_per_node, first * 1e3, median(searches) * 1e3, worst * 1e3,
        median(attempts) * 1e3, candidates, victims,
        !options.check  ? "not checked"
        : wrong.empty() ? "every choice checked"
                        : "WRONG: " + wrong);
  std::cout << std::endl;
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App cli{"Times the search for victims over one workload file and checks every choice"};
  berth::bench::CommonOptions options;
  options.plugin_dir = BERTH_BINARY_DIR "/bench/plugins";
  berth::bench::add_common(cli, options);
  return berth::bench::run_command(cli, argc, argv, [&] { return berth::bench::run(options); });
}
