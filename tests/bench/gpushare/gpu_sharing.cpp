// SPDX-License-Identifier: Apache-2.0
// The time of a decision about pods that share GPUs: with the plugin, or with an extender that does the same, which makes
// each binding before the next decision. Checks that the pods of a node fit on its cards.
//
//   gpu_sharing tests/bench/gpushare/1000.yaml --plugin-dir build/release/plugins [--extender http://127.0.0.1:8888]
//   [--json]
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <map>
#include <sstream>
#include <stdexcept>

#include "app/plugins/decode_retention.hpp"
#include "app/simulate/single_pass.hpp"
#include "bench/random.hpp"
#include "config/resolve.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t nodes = 0, cards = 0, card_memory = 0, pods = 0, memory_max = 0, seed = 0;
};

Shape read_shape(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(content.str(), path, problems);
  if (!file || documents.empty()) throw std::runtime_error("cannot read " + path + ": " + problems.render());
  const auto number = [&](const char* field) {
    const text::Value* value = documents.front().root().find_path(field);
    const auto n = value != nullptr ? value->integer() : std::nullopt;
    if (!n || *n <= 0) throw std::runtime_error(path + ": " + field + " is missing");
    return *n;
  };
  return {number("nodes.count"), number("nodes.cards"),     number("nodes.card_memory"),
          number("pods.count"),  number("pods.memory_max"), number("seed")};
}

std::string configuration_text(const std::string& extender) {
  std::string out = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
  if (extender.empty())
    return out +
           "profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: GpuShare, weight: "
           "1}]}}}]\n";
  return out + fmt::format(
                   "extenders: [{{urlPrefix: \"{}\", filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, "
                   "weight: 1, "
                   "httpTimeout: 1m, "
                   "managedResources: [{{name: example.com/gpu-mem, ignoredByScheduler: true}}]}}]\n",
                   extender);
}

class Objects {
 public:
  Objects(const config::Configuration& configuration, SymbolTable& symbols)
      : decoder_(symbols, options(configuration)) {}

  void node(std::int64_t i, const Shape& shape) {
    const std::string have = fmt::format(
        R"({{"cpu":"64","memory":"512Gi","pods":"110","example.com/gpu-mem":"{}","example.com/gpu-count":"{}"}})",
        shape.cards * shape.card_memory, shape.cards);
    add(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{:05}","uid":"n{}","labels":{{)"
                    R"("kubernetes.io/hostname":"node-{:05}"}}}},"status":{{"capacity":{},"allocatable":{}}}}})",
                    i, i, i, have, have));
  }
  void pod(std::int64_t i, std::int64_t memory) {
    add(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{:06}","namespace":"default","uid":"p{}"}},)"
        R"("spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"c","image":"example.com/job:1",)"
        R"("resources":{{"requests":{{"example.com/gpu-mem":"{}"}},"limits":{{"example.com/gpu-mem":"{}"}}}}}}]}}}})",
        i, i, memory, memory));
  }
  cluster::Manifests manifests;

 private:
  static decode::DecodeOptions options(const config::Configuration& configuration) {
    decode::DecodeOptions out;
    app::keep_for_extenders(configuration, out);
    return out;
  }
  void add(const std::string& json) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "object", problems);
    auto decoded = decoder_.decode(documents.at(0), documents.at(0).root(), problems);
    if (!decoded) throw std::runtime_error(problems.render());
    manifests.objects.push_back(std::move(*decoded));
  }
  decode::ObjectDecoder decoder_;
};

/// The cards of the nodes, given out as both do it: the card on which the least is left over, of equals the first.
class Cards {
 public:
  explicit Cards(const Shape& shape) : shape_(shape) {}

  void use(Symbol node, std::int64_t memory) {
    auto& free = free_.try_emplace(node, static_cast<std::size_t>(shape_.cards), shape_.card_memory).first->second;
    const auto fits_better = [&](std::int64_t a, std::int64_t b) { return a >= memory && (b < memory || a < b); };
    const auto best = std::min_element(free.begin(), free.end(), fits_better);
    if (*best < memory) throw std::runtime_error("a pod was placed where no card has room");
    *best -= memory;
  }

 private:
  const Shape& shape_;
  std::map<Symbol, std::vector<std::int64_t>> free_;
};

/// Has the extender make the binding, and waits for it.
void bind(extender::Extender& extender, const model::Pod& pod, std::string_view node) {
  std::promise<std::string> problem;
  extender.bind(
      pod, node, [] { return Status(Unit{}); },
      [&](const Result<Unit>& done) { problem.set_value(done.ok() ? "" : done.error().message); });
  if (const std::string text = problem.get_future().get(); !text.empty()) throw std::runtime_error(text);
}

struct Outcome {
  std::vector<double> decisions_us;
  std::size_t placed = 0;
  double plugin_us = 0;  // per decision, all calls into the plugin
};

Outcome run(const Shape& shape, const std::string& plugin_dir, const std::string& extender) {
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load(configuration_text(extender), "gpushare", problems);
  const app::PluginLibrary plugins = app::load_plugins(raw, plugin_dir);
  const config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  if (!plugins.ok() || !problems.empty()) throw std::runtime_error(plugins.report.render() + problems.render());
  SymbolTable symbols;
  Objects objects(configuration, symbols);
  Random random(static_cast<std::uint64_t>(shape.seed));
  std::map<std::string, std::int64_t> wanted;
  for (std::int64_t i = 0; i < shape.nodes; ++i) objects.node(i, shape);
  for (std::int64_t i = 0; i < shape.pods; ++i) {
    const std::int64_t memory = 1 + random.below(shape.memory_max);
    wanted[fmt::format("pod-{:06}", i)] = memory;
    objects.pod(i, memory);
  }
  auto made = app::SinglePass::make(symbols, configuration, plugins);
  if (!made.ok()) throw std::runtime_error(made.error().render());
  const std::unique_ptr<app::SinglePass> pass = std::move(*made);
  pass->load(objects.manifests);
  const scheduler::DecisionParts host = pass->scheduler().decision_parts();

  // The pass binds nothing: an extender that binds is called from here.
  const std::unique_ptr<extender::ConfiguredExtenders> extenders =
      extender::ConfiguredExtenders::make(configuration, symbols, {}).value();

  Outcome out;
  Cards cards(shape);
  for (;;) {
    auto ticket = host.queue.pop();
    if (!ticket) break;
    const auto began = Clock::now();
    cycle::Outcome outcome = host.cycle.run(ticket->pod(), ticket->pod_class());
    out.decisions_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
    if (auto* placement = std::get_if<cycle::Placement>(&outcome)) {
      ++out.placed;
      const Symbol node = placement->assumption.node_name();
      cards.use(node, wanted[ticket->pod()->name]);
      if (extenders) bind(*extenders->all().all().front(), *ticket->pod(), symbols.text(node));
      placement->confirm();
    } else if (std::get<cycle::Rejection>(outcome).code == framework::Code::error) {
      throw std::runtime_error(std::get<cycle::Rejection>(outcome).message);
    }
    host.queue.done(std::move(*ticket));
  }
  for (const observe::CallTotal& total : pass->scheduler().views().counters.totals())
    if (total.plugin == "GpuShare") out.plugin_us += total.seconds * 1e6 / static_cast<double>(out.decisions_us.size());
  return out;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App cli{"Decisions about pods that share GPUs"};
  std::string workload, plugin_dir, extender;
  std::int64_t pods = 0;
  bool json = false;
  cli.add_option("workload", workload)->required();
  cli.add_option("--plugin-dir", plugin_dir)->required();
  cli.add_option("--extender", extender, "URL; without it, the plugin decides");
  cli.add_option("--pods", pods, "Only so many");
  cli.add_flag("--json", json);
  CLI11_PARSE(cli, argc, argv);
  try {
    berth::bench::Shape shape = berth::bench::read_shape(workload);
    if (pods > 0) shape.pods = pods;
    berth::bench::Outcome out = berth::bench::run(shape, plugin_dir, extender);
    std::sort(out.decisions_us.begin(), out.decisions_us.end());
    const auto at = [&](double share) {
      return out.decisions_us.at(static_cast<std::size_t>(share * static_cast<double>(out.decisions_us.size() - 1)));
    };
    const std::string way = extender.empty() ? "plugin" : "extender";
    if (json)
      std::puts(
          fmt::format(
              R"({{"way":"{}","nodes":{},"pods":{},"placed":{},"decision_us":{{"median":{:.1f},"p99":{:.1f}}},"plugin_us":{:.2f}}})",
              way, shape.nodes, shape.pods, out.placed, at(0.5), at(0.99), out.plugin_us)
              .c_str());
    else
      std::puts(fmt::format("{:9} {} nodes, {} of {} pods placed: {:.1f} µs a decision (p99 {:.1f}){}", way,
                            shape.nodes, out.placed, shape.pods, at(0.5), at(0.99),
                            extender.empty() ? fmt::format(", {:.2f} of them in the plugin", out.plugin_us) : "")
                    .c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_sharing: %s\n", error.what());
    return 1;
  }
  return 0;
}
