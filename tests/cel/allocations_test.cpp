// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/allocation_count.hpp"
#include "berth/cel/cel.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_usual =
    R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "A100" && )"
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0)";

Device gpu() {
  const Attribute attributes[] = {Attribute::of_string("model", "A100"), Attribute::of_integer("index", 3),
                                  Attribute::of_boolean("healthy", true),
                                  Attribute::of_version("driverVersion", "1.10.3")};
  const Capacity capacity[] = {{"memory", "80Gi"}, {"cores", "108"}};
  return {"gpu.example.com", false, attributes, capacity};
}

std::uint64_t allocations_of(std::string_view expression, Verdict verdict) {
  const Compiled compiled = Program::compile(expression);
  if (compiled.program == nullptr) {
    ADD_FAILURE() << compiled.error.text();
    return 0;
  }
  const Device device = gpu();
  Evaluator evaluator;
  // The first evaluation may grow what the evaluator keeps.
  EXPECT_EQ(evaluator.evaluate(*compiled.program, device).verdict, verdict) << expression;
  const std::uint64_t before = bench::allocation_count();
  for (int i = 0; i < 100; ++i) evaluator.evaluate(*compiled.program, device);
  return bench::allocation_count() - before;
}

TEST(CelAllocations, UsualSelectorAllocatesNothing) { EXPECT_EQ(allocations_of(k_usual, Verdict::yes), 0u); }

TEST(CelAllocations, VersionsListsAndPresenceAllocateNothing) {
  EXPECT_EQ(allocations_of(R"(device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.2.0")))",
                           Verdict::yes),
            0u);
  EXPECT_EQ(allocations_of(R"(device.attributes["gpu.example.com"].model in ["H100", "A100"])", Verdict::yes), 0u);
  EXPECT_EQ(allocations_of(
                R"(has(device.attributes["gpu.example.com"].nope) || "index" in device.attributes["gpu.example.com"])",
                Verdict::yes),
            0u);
  EXPECT_EQ(
      allocations_of(R"(["a", "b"].exists(x, device.attributes["gpu.example.com"].model.startsWith(x)))", Verdict::no),
      0u);
}

TEST(CelAllocations, CountSeesWhatAllocates) {
  EXPECT_GT(
      allocations_of(R"(device.attributes["gpu.example.com"].model.lowerAscii() + device.driver == "?")", Verdict::no) +
          allocations_of(R"(device.driver.split(".").size() == 3)", Verdict::yes),
      0u);
}

}  // namespace
}  // namespace berth::cel
