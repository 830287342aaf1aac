// SPDX-License-Identifier: Apache-2.0
/// Objects as a cluster has them, and a directory for a recording of them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "decode/object_decoder.hpp"
#include "recording/reader.hpp"
#include "recording/record_json.hpp"
#include "recording/recorder.hpp"
#include "text/parse.hpp"

namespace berth::recording {

inline constexpr const char* k_pod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  uid: 6b1f1c1e-2d3a-4f4b-9c5d-0123456789ab
  resourceVersion: "17"
  deletionTimestamp: "2026-03-01T10:00:00Z"
  labels: {app: web, tier: front}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"env":"PASSWORD"}', note: kept}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-1, controller: true}]
spec:
  schedulerName: default-scheduler
  priority: -7
  nodeSelector: {disk: ssd}
  tolerations: [{key: gpu, operator: Exists, effect: NoSchedule, tolerationSeconds: 30}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {app: web}}, namespaces: [shop, other]}
  topologySpreadConstraints:
  - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
  containers:
  - name: c
    image: registry.example.com/web:1
    command: [secret-command]
    env: [{name: PASSWORD, value: hunter2}]
    ports: [{containerPort: 80, hostPort: 8080}]
    resources: {requests: {cpu: 250m, memory: 64Mi, example.com/gpu: "1"}, limits: {example.com/gpu: "1"}}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data-1}}]
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no room}]}
)";

inline constexpr const char* k_node = R"(
apiVersion: v1
kind: Node
metadata: {name: node-1, uid: n-1, resourceVersion: "3", labels: {zone: a, disk: ssd}}
spec: {unschedulable: true, taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
status:
  allocatable: {cpu: "8", memory: 16Gi, pods: "110", example.com/gpu: "4"}
  capacity: {cpu: "9", memory: 17Gi, pods: "111"}
  images: [{names: [registry.example.com/web:1], sizeBytes: 12345}]
  conditions: [{type: Ready, status: "True"}]
)";

class RecordingFixture : public ::testing::Test {
 protected:
  RecordingFixture()
      : folder(::testing::TempDir() + "recording-" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
  }
  ~RecordingFixture() override { std::filesystem::remove_all(folder); }

  template <typename T>
  T object(const std::string& yaml, const decode::DecodeOptions& options = {}) {
    text::Diagnostics wrong;
    const auto documents = text::parse_yaml(yaml, "object", wrong);
    const auto decoded = decode::ObjectDecoder(symbols, options).decode(documents.at(0), documents.at(0).root(), wrong);
    EXPECT_TRUE(wrong.empty()) << wrong.render();
    return std::get<T>(decoded.value());
  }
  model::PodPtr pod(const std::string& name) {
    std::string yaml = k_pod;
    yaml.replace(yaml.find("web-1"), 5, name);
    yaml.replace(yaml.find("ab\n"), 2, name.substr(name.size() - 1) + "f");
    return object<model::PodPtr>(yaml);
  }
  static Record of(Kind kind, std::string text = {}) {
    Record record;
    record.kind = kind;
    record.text = std::move(text);
    return record;
  }
  static Record of(Kind kind, model::PodPtr pod) {
    Record record;
    record.kind = kind;
    record.pod = std::move(pod);
    return record;
  }
  std::unique_ptr<Recorder> start(RecorderOptions options = {}) {
    options.directory = folder;
    options.run = ++runs;
    auto started = Recorder::start(std::move(options), symbols, clock);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    return std::move(started).value();
  }
  /// Of a kind, or all.
  std::vector<Record> read(std::optional<Kind> kind = {}) {
    std::vector<Record> records;
    auto reader = Reader::open(folder, read_symbols);
    if (!reader.ok()) return records;
    for (Record record; reader->next(record);)
      if (!kind || record.kind == *kind) records.push_back(record);
    problems = reader->problems();
    return records;
  }
  std::string json_of(const Record& record) { return json_line(record, read_symbols); }
  std::vector<std::filesystem::path> segments() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".rec") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string folder;
  SymbolTable symbols, read_symbols;
  ManualClock clock{1'700'000'000'000'000'000};
  std::uint64_t runs = 0;
  std::vector<std::string> problems;
};

}  // namespace berth::recording
