// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/plugins/decode_retention.hpp"
#include "app/simulate/simulation.hpp"
#include "config/resolve.hpp"
#include "support/servers/scripted_extender.hpp"
#include "text/parse.hpp"

/// What tests of extenders have in common: a scheduler in front of a cluster in memory, and servers that it asks.
namespace berth::tests {

namespace json = boost::json;
using Question = ScriptedExtender::Question;
using Answer = ScriptedExtender::Answer;

inline std::vector<std::string> strings(const json::value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const json::value& one : list.as_array()) out.emplace_back(one.as_string());
  return out;
}

/// The nodes that a question is about, in its order.
inline std::vector<std::string> nodes_of(const Question& question) {
  if (question.body.at("Nodes").is_null()) return strings(question.body.at("NodeNames"));
  std::vector<std::string> out;
  for (const json::value& node : question.body.at("Nodes").at("items").as_array())
    out.emplace_back(node.at("metadata").at("name").as_string());
  return out;
}

inline Answer passing(const std::vector<std::string>& names) {
  return Answer::of({{"NodeNames", json::value_from(names)}});
}

/// Scheduler, cluster and configuration. `extenders`: the value of that field, as YAML in flow form.
class ExtenderWorld {
 public:
  explicit ExtenderWorld(const std::string& extenders, const std::string& more = "") {
    text::Diagnostics problems;
    const std::string text =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders: " + extenders + "\n" +
        more;
    const config::RawConfiguration raw = config::load(text, "berth.yaml", problems);
    plugins_ = std::make_unique<app::PluginLibrary>(app::load_plugins(raw, BERTH_BINARY_DIR "/plugins"));
    EXPECT_TRUE(plugins_->ok()) << plugins_->report.render();
    configuration_ = config::resolve(raw, plugins_->catalog(), config::AbsentPlugins::embedded(), problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000'000;
    auto made = app::Simulation::make(symbols_, configuration_, *plugins_, options);
    if (made.ok())
      simulation = std::move(*made);
    else
      for (const text::Diagnostic& each : made.error().all()) errors.push_back(each.message);
  }

  void put(const std::string& yaml) {
    text::Diagnostics problems;
    decode::DecodeOptions options;
    options.defaulting = std::make_shared<decode::Defaulting>(simulation->clock().wall_ns());
    app::keep_for_extenders(configuration_, options);
    const auto documents = text::parse(yaml, "object", problems);
    for (const text::Document& document : documents) {
      const auto decoded = decode::ObjectDecoder(symbols_, options).decode(document, document.root(), problems);
      if (decoded) simulation->cluster().put(*decoded);
    }
    EXPECT_TRUE(problems.empty()) << problems.render();
  }
  void node(const std::string& name, int cpu = 4) {
    const std::string room = "{cpu: " + std::to_string(cpu) + ", memory: 8Gi, pods: 110, example.com/gpu-mem: 32}";
    put("{apiVersion: v1, kind: Node, metadata: {name: " + name +
        ", labels: {example.com/rack: r1}}, status: {capacity: " + room + ", allocatable: " + room + "}}");
  }
  /// `spec`: members besides the containers.
  void pod(const std::string& name, const std::string& resources = "requests: {cpu: 1}", const std::string& spec = "") {
    put("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
        ", namespace: ns, annotations: {example.com/note: kept}}, "
        "spec: {containers: [{name: c, image: i, resources: {" +
        resources + "}}]" + (spec.empty() ? "" : ", " + spec) + "}}");
  }
  void pod_on(const std::string& node, const std::string& name, int priority, int cpu) {
    pod(name, "requests: {cpu: " + std::to_string(cpu) + "}",
        "nodeName: " + node + ", priority: " + std::to_string(priority));
  }

  /// Decides about everything that may be decided now.
  void run() { simulation->run_until_idle(recorder()); }
  void advance(std::chrono::seconds duration) { simulation->advance(duration, recorder()); }
  /// Where the cluster has the pod; empty: nowhere.
  std::string place(const std::string& name) {
    const model::PodPtr pod = simulation->cluster().find_pod("ns", name);
    return pod == nullptr || pod->node_name == k_no_symbol ? "" : std::string(symbols_.text(pod->node_name));
  }
  std::string message(const std::string& name) {
    const report::Decision& decision = decisions[name];
    return decision.post_filter_message.empty() ? decision.message.get()
                                                : decision.message.get() + " " + decision.post_filter_message.get();
  }

 private:
  app::Simulation::Watcher recorder() {
    return [this](report::Decision decision) {
      const std::string name = decision.pod->name;
      if (++attempts[name] == 1 || !keeps_first) decisions[name] = std::move(decision);
    };
  }

  SymbolTable symbols_;  // outlives the simulation

 public:
  std::vector<std::string> errors;  // why there is no simulation
  bool keeps_first = false;
  std::map<std::string, report::Decision> decisions;  // the last one, or the first, by pod
  std::map<std::string, int> attempts;

 private:
  std::unique_ptr<app::PluginLibrary> plugins_;
  config::Configuration configuration_;

 public:
  std::unique_ptr<app::Simulation> simulation;
};

inline Answer all_pass(const Question& question) { return passing(nodes_of(question)); }

/// a, b and c, all alike.
inline void three_nodes(ExtenderWorld& world) {
  for (const char* name : {"a", "b", "c"}) world.node(name);
}

/// One node, one pod and one extender.
class Attempt {
 public:
  explicit Attempt(const std::string& extenders) : world(extenders) {
    if (!world.errors.empty()) return;
    world.node("a");
    world.pod("p");
    world.run();
  }
  bool placed() { return world.place("p") == "a"; }
  framework::Code code() { return world.decisions["p"].code; }
  const std::string& message() { return world.decisions["p"].message; }
  ExtenderWorld world;
};

/// "[{urlPrefix: URL, filterVerb: filter, nodeCacheCapable: true, MORE}]".
inline std::string filter_at(const std::string& url, const std::string& more = "") {
  return "[{urlPrefix: \"" + url + "\", filterVerb: filter, nodeCacheCapable: true" +
         (more.empty() ? "" : ", " + more) + "}]";
}

/// "[{urlPrefix: …, nodeCacheCapable: true, FIELDS}]".
inline std::string one_extender(const ScriptedExtender& extender, const std::string& fields) {
  return "[{urlPrefix: \"" + extender.url() + "\", nodeCacheCapable: true, " + fields + "}]";
}

}  // namespace berth::tests
