// SPDX-License-Identifier: Apache-2.0
/// What evaluating a device selector takes, once compiled, and what compiling takes.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "berth/cel/cel.hpp"

namespace berth::cel {
namespace {

constexpr const char* k_usual =
    R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "A100" && )"
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0)";
constexpr const char* k_other_driver =
    R"(device.driver == "nic.example.com" && device.attributes["nic.example.com"].up)";
constexpr const char* k_version =
    R"(device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.2.0")))";
constexpr const char* k_pattern = R"(device.attributes["gpu.example.com"].model.matches("^A[0-9]+$"))";
constexpr const char* k_loop = R"(["H100", "H200", "A100"].exists(m, device.attributes["gpu.example.com"].model == m))";

/// A device as GPU drivers publish them.
Device gpu() {
  const Attribute attributes[] = {Attribute::of_string("architecture", "Ampere"),
                                  Attribute::of_string("brand", "Nvidia"),
                                  Attribute::of_version("cudaComputeCapability", "8.0.0"),
                                  Attribute::of_version("cudaDriverVersion", "12.8.0"),
                                  Attribute::of_version("driverVersion", "570.86.15"),
                                  Attribute::of_integer("index", 3),
                                  Attribute::of_integer("minor", 3),
                                  Attribute::of_string("model", "A100"),
                                  Attribute::of_string("productName", "NVIDIA A100"),
                                  Attribute::of_string("type", "gpu"),
                                  Attribute::of_string("uuid", "GPU-0"),
                                  Attribute::of_string("resource.kubernetes.io/pcieRoot", "pci0000:00")};
  const Capacity capacity[] = {{"memory", "80Gi"}, {"multiprocessors", "108"}};
  return {"gpu.example.com", false, attributes, capacity};
}

void evaluate(benchmark::State& state, const char* expression) {
  const auto program = Program::compile(expression).program;
  if (program == nullptr) std::abort();
  const Device device = gpu();
  Evaluator evaluator;
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(evaluator.evaluate(*program, device).verdict);
  }
}
BENCHMARK_CAPTURE(evaluate, usual, k_usual);
BENCHMARK_CAPTURE(evaluate, other_driver, k_other_driver);
BENCHMARK_CAPTURE(evaluate, version, k_version);
BENCHMARK_CAPTURE(evaluate, pattern, k_pattern);
BENCHMARK_CAPTURE(evaluate, loop, k_loop);

void compile(benchmark::State& state, const char* expression) {
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(Program::compile(expression).program);
  }
}
BENCHMARK_CAPTURE(compile, usual, k_usual);

void prepare_device(benchmark::State& state) {
  for (auto step : state) {
    static_cast<void>(step);
    benchmark::DoNotOptimize(gpu());
  }
}
BENCHMARK(prepare_device);

}  // namespace
}  // namespace berth::cel

BENCHMARK_MAIN();
