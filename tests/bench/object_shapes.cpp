// SPDX-License-Identifier: Apache-2.0
// What an object of one megabyte takes to read, by what it is full of: as an event of a watch, from the bytes of the
// server to the decoded object, in JSON and in protobuf. CPU time of the thread; medians of five runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "bench/object_shapes.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "decode/object_decoder.hpp"

namespace berth::bench {
namespace {

constexpr std::size_t k_bytes = 1'000'000;
constexpr std::size_t k_runs = 5;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Cost {
  double ms_per_mb = 0;
  std::string problem;  // not empty: the object is refused
};

Cost measure(const Shape& shape, bool as_protobuf, const decode::DecodeOptions& options) {
  const std::string bytes = encoded(shape, items_of(shape, k_bytes, as_protobuf), as_protobuf);
  const decode::WireLayout layout = decode::wire_layout("v1", "Pod");  // of a watch each event says its own
  Cost cost;
  std::array<double, k_runs> runs{};
  for (double& run : runs) {
    SymbolTable symbols;
    const decode::ObjectDecoder decoder(symbols, options);
    std::optional<decode::Decoded> decoded;
    const auto body = cluster::kube::make_watch_body(
        as_protobuf ? cluster::kube::k_protobuf : std::string_view("application/json"), layout, "watch",
        [&](std::string_view, const text::Document* document, const text::Value* object,
            const text::Diagnostics& problems) {
          text::Diagnostics own = problems;
          if (object != nullptr) decoded = decoder.decode(*document, *object, own);
          if (!own.empty()) cost.problem = own.render().substr(0, 120);
        });
    const double before = cpu_ms();
    if (const Status taken = body->add(bytes); !taken.ok()) throw std::runtime_error(taken.error().message);
    run = (cpu_ms() - before) * 1e6 / static_cast<double>(bytes.size());
    if (!decoded && cost.problem.empty()) cost.problem = "not decoded";
  }
  std::nth_element(runs.begin(), runs.begin() + k_runs / 2, runs.end());
  cost.ms_per_mb = runs[k_runs / 2];
  return cost;
}

/// The names of the shapes that take longer than the limit.
std::vector<std::string> run(const std::string& only, bool keep_bodies, double limit_ms) {
  std::vector<std::string> dear;
  decode::DecodeOptions options;
  if (keep_bodies) options.keeps_pod_body = [](const model::Pod&) { return true; };
  options.keep_node_bodies = keep_bodies;
  double worst = 0;
  for (const Shape& shape : k_shapes) {
    const std::string name = name_of(shape);
    if (name.find(only) == name.npos) continue;
    const Cost json = measure(shape, false, options);
    const bool has_protobuf = has_items(shape, true);
    const Cost protobuf = has_protobuf ? measure(shape, true, options) : Cost();
    const double ms = std::max(json.ms_per_mb, protobuf.ms_per_mb);
    worst = std::max(worst, ms);
    if (ms > limit_ms) dear.push_back(name);
    if (!json.problem.empty() || !protobuf.problem.empty())
      throw std::runtime_error(name + " is not read: " + json.problem + protobuf.problem);
    std::cout << fmt::format("{:<50} JSON {:6.1f}  protobuf {:>6} ms/MB\n", name, json.ms_per_mb,
                             has_protobuf ? fmt::format("{:.1f}", protobuf.ms_per_mb) : "–");
  }
  std::cout << fmt::format("worst: {:.1f} ms/MB\n", worst);
  return dear;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App app("what an object of one megabyte takes to read, by what it is full of");
  std::string only;
  bool keep_bodies = false;
  app.add_option("--only", only, "Shapes whose name has this in it");
  app.add_flag("--keep-bodies", keep_bodies, "Keep the bodies of pods and nodes too, as for extenders");
  double limit_ms = 1e9;
  app.add_option("--limit-ms", limit_ms, "End with 1 when a shape takes longer")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<std::string> dear = berth::bench::run(only, keep_bodies, limit_ms);
    for (const std::string& name : dear) std::cout << fmt::format("{} takes more than {} ms/MB\n", name, limit_ms);
    return dear.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "object_shapes: " << error.what() << '\n';
    return 1;
  }
}
