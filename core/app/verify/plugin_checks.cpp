// SPDX-License-Identifier: Apache-2.0
#include "app/verify/plugin_checks.hpp"

#include <malloc.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "app/verify/awkward_clusters.hpp"
#include "app/verify/cycle_checks.hpp"
#include "app/verify/plugin_allocations.hpp"
#include "app/verify/plugin_cost.hpp"
#include "app/verify/said_of_nodes.hpp"
#include "text/diagnostics.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_properties_max = 30;
// V09: more than this for each decision is a leak.
constexpr std::int64_t k_growth_bytes_max = 64;
constexpr int k_warm_decisions = 400, k_measured_decisions = 4'000;
// V10: a policy that is slower than this cannot be used with 5,000 nodes.
constexpr double k_node_ns_max = 20'000;
constexpr std::size_t k_timed_nodes = 2'000, k_timed_rounds = 7;
// V17: as many in an attempt as this for each node are one for each node, where some nodes are not asked about.
constexpr double k_allocations_per_node_max = 0.5;
constexpr std::size_t k_counted_rounds = 16;

using Reuse = config::VerdictReuse;

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  std::error_code problem;
  for (auto at = std::filesystem::directory_iterator(directory, problem); at != std::filesystem::directory_iterator();
       at.increment(problem))
    ++count;
  return count;
}

/// abi/plugin.h: create() and destroy(); ext/services.h: no task is under way after destroy().
void starts_and_ends(const TestedPlugins& tested, Findings& findings) {
  const auto once = [&] {
    const auto made = make_or_say(tested, findings);
    if (made != nullptr) made->put(mixed_nodes(10) + mixed_pods(4));
    if (made != nullptr) made->decide();
    return made != nullptr;
  };
  if (!once()) return;
  const std::size_t threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
  if (!once()) return;
  if (const std::size_t now = entries_of("/proc/self/task"); now > threads)
    findings.wrong(fmt::format("{} threads are left after destroy(), and one more for each use", now - threads));
  // The loader keeps a library, whose memory is a file, until the process ends.
  if (const std::size_t now = entries_of("/proc/self/fd"); now > descriptors + 4)
    findings.wrong(fmt::format("{} file descriptors are left after destroy()", now - descriptors));
}

/// A value that the property cannot have.
std::string_view wrong_value(const text::Value& property) {
  const text::Value* const type = property.find("type");
  if (type == nullptr || !type->is_string()) return {};
  if (type->text() == "string") return "[1]";
  if (type->text() == "integer" || type->text() == "number" || type->text() == "boolean") return "nonsense";
  return "7";
}

bool can_be_made_with(const std::string& args, const TestedPlugins& tested) {
  PluginUnderTest::Options options;
  options.args = args;
  return PluginUnderTest::make(tested, options).ok();
}

/// abi/plugin.h, args_schema.
void refuses_nonsense(const TestedPlugins& tested, Findings& findings) {
  std::vector<std::string> nonsense = {"{noSuchField: 1}"};
  {
    const auto made = make_or_say(tested, findings);
    if (made == nullptr) return;
    const auto found = made->plugins().plugins.find(tested.notes.front().plugin);
    const char* const schema = found ? found->plugin->args_schema : nullptr;
    if (schema == nullptr) {
      findings.note("it has no args_schema: what its args mean is not looked at");
      return;
    }
    text::Diagnostics diagnostics;
    const std::vector<text::Document> documents = text::parse_json(schema, "args_schema", diagnostics);
    const text::Value* const properties = documents.empty() ? nullptr : documents.front().root().find("properties");
    if (properties != nullptr)
      for (const text::Member& member :
           properties->members().first(std::min(properties->members().size(), k_properties_max)))
        if (const std::string_view value = wrong_value(member.value); !value.empty())
          nonsense.push_back(fmt::format("{{{}: {}}}", member.key, value));
  }
  // A refusal says something only where the same without nonsense is none.
  if (!can_be_made_with("{}", tested)) {
    findings.note("it cannot do without args: what it refuses is not looked at");
    return;
  }
  for (const std::string& args : nonsense)
    if (can_be_made_with(args, tested)) findings.wrong(fmt::format("the args {} are accepted", args));
  findings.note(fmt::format("{} args", nonsense.size()));
}

/// abi/status.h: ERROR is for what is broken, not for what is unusual.
void decides(const std::string& manifests, const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  made->put(manifests);
  const std::vector<report::Decision> decisions = made->decide();
  say_errors(decisions, tested, "", findings);
  findings.note(fmt::format("{} decisions", decisions.size()));
}

/// ext/filter.h and score.h: a pure function of what was declared.
void answers_the_same(const TestedPlugins& tested, Findings& findings) {
  std::string decisions[2];
  Answers answers[2];
  for (int time = 0; time < 2; ++time) {
    const auto made = make_or_say(tested, findings);
    if (made == nullptr) return;
    const std::vector<model::PodPtr> pods = made->put(mixed_nodes(150) + mixed_pods(16));
    made->simulation().take_in();
    answers[time] = explained(*made, pods, tested);
    compare(answers[time], explained(*made, pods, tested), "asked again", findings);
    decisions[time] = report::decisions_json(made->decide());
  }
  compare(answers[0], answers[1], "by a new instance", findings);
  if (decisions[0] != decisions[1]) findings.wrong("the same cluster was decided about in two ways");
}

/// ext/nodes.h: rows come in any order, in blocks of any size.
void order_does_not_matter(const TestedPlugins& tested, Findings& findings) {
  Answers answers[2];
  for (const bool reversed : {false, true}) {
    const auto made = make_or_say(tested, findings);
    if (made == nullptr) return;
    const std::vector<model::PodPtr> pods = made->put(mixed_nodes(1'300, reversed) + mixed_pods(8));
    made->simulation().take_in();
    answers[reversed] = explained(*made, pods, tested);
  }
  compare(answers[0], answers[1], "with the nodes in the opposite order", findings);
}

/// abi/plugin.h, deps: verdicts are kept, and each is held against a fresh one.
void declares_its_inputs(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings, {.reuse = Reuse::verify});
  if (made == nullptr) return;
  made->put(mixed_nodes(120) + mixed_pods(8));
  made->decide();
  std::size_t decided = 0;
  cluster::EmbeddedCluster& cluster = made->simulation().cluster();
  for (int round = 0; round < 12; ++round) {
    // Something changes that most policies do not look at, then pods come that are like those before.
    if (round % 3 == 0) cluster.remove_pod("default", fmt::format("placed-{}", 4 * round));
    if (round % 3 == 1) cluster.remove_node(fmt::format("node-{}", 100 + round));
    made->simulation().advance(std::chrono::seconds(7), [](const report::Decision&) {});
    made->put(mixed_pods(8, fmt::format("round-{}", round)));
    decided += made->decide().size();
  }
  Examples examples(findings);
  for (const cycle::UndeclaredInput& input : made->scheduler().decision_parts().undeclared_inputs)
    examples.add(input.sentence());
  findings.note(fmt::format("{} decisions", decided));
}

/// ext/bind.h: a call that is not answered at once is completed, once.
void bindings_end(const TestedPlugins& tested, Findings& findings) {
  const auto made = make_or_say(tested, findings);
  if (made == nullptr) return;
  made->put(mixed_nodes(20) + mixed_pods(12));
  const std::vector<report::Decision> decisions = made->decide();
  std::map<std::string, bool> bound;
  for (const model::PodPtr& pod : made->simulation().cluster().pods())
    bound[pod->key()] = pod->node_name != k_no_symbol;
  Examples examples(findings);
  std::size_t placed = 0;
  for (const report::Decision& decision : decisions) {
    if (decision.node.empty()) continue;
    ++placed;
    if (const auto pod = bound.find(decision.pod->key()); pod != bound.end() && !pod->second)
      examples.add(fmt::format("{} has the node {}, and is not bound: {}", decision.pod->key(), decision.node,
                               decision.pre_bind.empty() ? "its binding did not end" : decision.pre_bind));
  }
  say_misuse(*made, framework::Misuse::second_answer, findings);
  findings.note(fmt::format("{} pods", placed));
}

/// What so many attempts leave behind, per attempt.
std::optional<std::int64_t> growth_bytes(const TestedPlugins& tested, bool with_plugins, Findings& findings) {
  const auto made = make_or_say(tested, findings, {.reuse = Reuse::off, .with_plugins = with_plugins});
  if (made == nullptr) return std::nullopt;
  const std::vector<model::PodPtr> pods = made->put(mixed_nodes(40) + mixed_pods(4));
  made->simulation().take_in();
  const auto attempt = [&](int times) {
    for (int i = 0; i < times; ++i)
      made->scheduler().try_pod(pods[static_cast<std::size_t>(i) % pods.size()], [](const cycle::Attempt&) {});
  };
  attempt(k_warm_decisions);
  const std::size_t before = ::mallinfo2().uordblks;
  attempt(k_measured_decisions);
  const std::size_t after = ::mallinfo2().uordblks;
  return (static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before)) / k_measured_decisions;
}

void keeps_no_memory(const TestedPlugins& tested, Findings& findings) {
  const auto without = has_profile_without(tested) ? growth_bytes(tested, false, findings) : 0;
  const auto with = growth_bytes(tested, true, findings);
  if (!with || !without) return;
  const std::int64_t growth = std::max<std::int64_t>(*with - *without, 0);
  findings.note(fmt::format("{} bytes per attempt", growth));
  if (growth > k_growth_bytes_max)
    findings.wrong(
        fmt::format("memory grows by {} bytes with each attempt, over {} attempts", growth, k_measured_decisions));
}

void is_quick(const TestedPlugins& tested, Findings& findings) {
  const Result<PluginCost> cost = measure_cost(tested, k_timed_nodes, k_timed_rounds);
  if (!cost.ok()) {
    findings.wrong(cost.error().message);
    return;
  }
  const double node_ns = cost->node_ns();
  findings.note(fmt::format("{:.0f} ns per node", node_ns));
  if (node_ns > k_node_ns_max)
    findings.wrong(
        fmt::format("a decision takes {:.0f} ns more for each node, and {:.0f} are the most", node_ns, k_node_ns_max));
}

/// berth/filter.hpp and score.hpp: no allocation per row.
void allocates_little(const TestedPlugins& tested, Findings& findings) {
#ifdef BERTH_SANITIZED
  findings.note("not looked at under a sanitizer");
  return;
#endif
  const auto measured = measure_allocations(tested, k_timed_nodes, k_counted_rounds);
  if (!measured.ok()) {
    findings.wrong(measured.error().message);
    return;
  }
  findings.note(measured->empty() ? "no point of it is called" : to_text(*measured) + " per call");
  for (const PointAllocations& at : *measured)
    if ((at.point == "filter" || at.point == "score") &&
        at.per_attempt() >= k_allocations_per_node_max * static_cast<double>(k_timed_nodes))
      findings.wrong(fmt::format("{} of {} allocates {:.0f} times in an attempt with {} nodes", at.point, at.plugin,
                                 at.per_attempt(), k_timed_nodes));
}

}  // namespace

std::vector<PluginCheck> plugin_checks() {
  std::vector<CheckPart> clusters;
  for (AwkwardCluster& cluster : awkward_clusters()) {
    auto decide = [manifests = std::move(cluster.manifests)](const TestedPlugins& tested, Findings& findings) {
      decides(manifests, tested, findings);
    };
    clusters.push_back({std::move(cluster.name), std::move(decide)});
  }
  return {{"V02",
           "start and end",
           "It is created with its default args, and leaves nothing behind.",
           {{"", starts_and_ends}}},
          {"V03", "args", "Args that its schema does not have are refused.", {{"", refuses_nonsense}}},
          {"V04", "awkward clusters", "Whatever the cluster is like, its answer is no error.", std::move(clusters)},
          {"V05",
           "same input, same answer",
           "Asked again, and from the start, it says the same.",
           {{"", answers_the_same}}},
          {"V06",
           "order of nodes",
           "What it says of a node does not depend on the place of the node.",
           {{"", order_does_not_matter}}},
          {"V07",
           "declared inputs",
           "Answers change only with what `deps` and the pod fields declare.",
           {{"", declares_its_inputs}}},
          {"V08", "bindings end", "A pod that has a node is bound.", {{"", bindings_end}}},
          {"V09", "memory", "Attempts leave no memory behind.", {{"", keeps_no_memory}}},
          {"V10", "time", "A node takes microseconds, not more.", {{"", is_quick}}},
          {"V11", "65,536 nodes", "It works with as many nodes as a cluster may have.", {{"", judges_many_nodes}}},
          {"V12",
           "absent columns",
           "Where the host does not know a column or field, it refuses to be made or does without.",
           {{"", does_without_columns}}},
          {"V13",
           "attempts given up",
           "An attempt that ends early, whenever it does, changes no later answer.",
           {{"before reserve", forgets_early_ends},
            {"after reserve", forgets_reservations},
            {"pods that are deleted on their way", survives_deletions}}},
          {"V14",
           "block sizes",
           "What it says of a node does not depend on the nodes that it is asked about together with it.",
           {{"", blocks_do_not_matter}}},
          {"V15",
           "clones",
           "What is imagined on a clone of its state stays there, and a pod that goes and comes back changes nothing.",
           {{"", clones_are_apart}}},
          {"V16",
           "thread tags",
           "It calls no function of the host where that may not be called.",
           {{"", keeps_thread_tags}}},
          {"V17", "allocations", "Filter and score allocate nothing for each node.", {{"", allocates_little}}}};
}

}  // namespace berth::app
