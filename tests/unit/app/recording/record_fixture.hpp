// SPDX-License-Identifier: Apache-2.0
/// A cluster whose simulation is recorded, and recordings that are made of that one.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands/record_command.hpp"
#include "app/commands/replay_command.hpp"
#include "app/commands/simulate_command.hpp"
#include "recording/encoder.hpp"
#include "recording/frames.hpp"
#include "recording/reader.hpp"
#include "text/parse.hpp"

namespace berth::app {

/// Zones, so that lists of nodes have an order of their own; pods that fit, pods that wait, pods that preempt, and pods
/// that keep apart.
inline std::string cluster_of_many_kinds() {
  std::string out;
  for (int i = 0; i < 12; ++i)
    out += fmt::format(R"(---
{{apiVersion: v1, kind: Node, metadata: {{name: node-{0}, labels: {{kubernetes.io/hostname: node-{0},
  topology.kubernetes.io/zone: zone-{1}}}}}, status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "10"}}}}}}
)",
                       i, i % 3);
  for (int i = 0; i < 40; ++i)
    out += fmt::format(R"(---
{{apiVersion: v1, kind: Pod, metadata: {{name: plain-{0}, namespace: shop, labels: {{app: plain}}}}, spec: {{containers: [
  {{name: c, env: [{{name: PASSWORD, value: hunter2}}], resources: {{requests: {{cpu: {1}m, memory: 128Mi}}}}}}]}}}}
)",
                       i, 500 + 100 * (i % 7));
  for (int i = 0; i < 6; ++i)
    out += fmt::format(R"(---
{{apiVersion: v1, kind: Pod, metadata: {{name: apart-{0}, namespace: shop, labels: {{app: apart}}}}, spec: {{
  topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
    labelSelector: {{matchLabels: {{app: apart}}}}}}],
  affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: kubernetes.io/hostname,
    labelSelector: {{matchLabels: {{app: apart}}}}}}]}}}},
  containers: [{{name: c, resources: {{requests: {{cpu: 100m}}}}}}]}}}}
)",
                       i);
  for (int i = 0; i < 4; ++i)
    out += fmt::format(R"(---
{{apiVersion: v1, kind: Pod, metadata: {{name: old-{0}, namespace: shop}}, spec: {{nodeName: node-{0}, containers: [
  {{name: c, resources: {{requests: {{cpu: "3800m"}}}}}}]}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: important-{0}, namespace: shop}}, spec: {{priority: 1000,
  nodeSelector: {{kubernetes.io/hostname: node-{0}}}, containers: [{{name: c, resources: {{requests: {{cpu: "3500m"}}}}}}]}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: too-large-{0}, namespace: shop}}, spec: {{containers: [
  {{name: c, resources: {{requests: {{cpu: "99"}}}}}}]}}}}
)",
                       i);
  return out;
}

class RecordCommands : public ::testing::Test {
 protected:
  RecordCommands()
      : folder(::testing::TempDir() + "record-commands-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
  ~RecordCommands() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  std::string recording() { return folder + "/recording"; }
  void simulate(const std::string& config = {}) {
    SimulateOptions options;
    options.cluster = {write("cluster.yaml", cluster_of_many_kinds())};
    options.config = config;
    options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
    options.record = recording();
    options.output = "json";
    std::ostringstream err;
    simulated.str({});
    ASSERT_EQ(run_simulate(options, simulated, err), 0) << err.str();
  }
  std::string info() {
    RecordOptions options;
    options.path = recording();
    options.json = true;
    std::ostringstream out, err;
    EXPECT_EQ(run_record_info(options, out, err), 0) << err.str();
    EXPECT_EQ(err.str(), "");
    return out.str();
  }
  std::string lines(const std::string& path, const std::string& kinds, const std::string& from = {}) {
    RecordOptions options;
    options.path = path;
    options.kinds = kinds;
    options.from = from;
    std::ostringstream out, err;
    EXPECT_EQ(run_record_export(options, out, err), 0) << err.str();
    return out.str();
  }
  int replay(const std::string& path, std::optional<std::string> config = {}, const std::string& output = "json") {
    ReplayOptions options;
    options.path = path;
    options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
    options.config = std::move(config);
    options.output = output;
    std::ostringstream out, err;
    const int status = run_replay(options, out, err);
    replayed = out.str() + err.str();
    warnings = err.str();
    return status;
  }
  /// The records of the recording.
  std::vector<recording::Record> records() {
    std::vector<recording::Record> all;
    auto reader = recording::Reader::open(recording(), read_symbols);
    EXPECT_TRUE(reader.ok());
    if (reader.ok())
      for (recording::Record record; reader->next(record);) all.push_back(record);
    return all;
  }
  /// A file with these records as its only segment. `begins_run`: nothing is said to be missing before it.
  std::string segment(const std::vector<recording::Record>& records, bool begins_run = true) {
    const recording::Record& first = records.front();
    std::string bytes = recording::header_bytes({1, 1, first.wall_ns, first.at_ns, begins_run});
    recording::Encoder encoder(read_symbols);
    for (const recording::Record& record : records) recording::append_frame(bytes, encoder.encode(record, first.at_ns));
    return write("changed.rec", bytes);
  }
  static recording::Record mark(recording::Kind kind, std::int64_t at_ns) {
    recording::Record record;
    record.kind = kind;
    record.at_ns = at_ns;
    return record;
  }
  std::int64_t number(const std::string& json, const char* path) {
    text::Diagnostics wrong;
    const auto documents = text::parse_json(json, "output", wrong);
    EXPECT_TRUE(wrong.empty()) << wrong.render() << json;
    const text::Value* const found = documents.empty() ? nullptr : documents.front().root().find_path(path);
    return found == nullptr ? -1 : found->integer().value_or(-1);
  }

  const std::string folder;
  std::ostringstream simulated;
  std::string replayed, warnings;
  SymbolTable read_symbols;  // of records()
};

}  // namespace berth::app
