// SPDX-License-Identifier: Apache-2.0
/// Evaluates arbitrary text as a device selector on a device. The first line is an attribute of the device, the rest is the
/// selector. Evaluation ends, within its limits, and answers the same when asked again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "berth/cel/cel.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::cel;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string_view text = input.substr(0, end);
  const auto program = Program::compile(input.substr(end + 1)).program;
  if (program == nullptr) return 0;
  const Attribute attributes[] = {Attribute::of_string("text", text),      Attribute::of_string("model", "A100"),
                                  Attribute::of_integer("index", -3),      Attribute::of_boolean("ok", true),
                                  Attribute::of_version("ver", "1.2.3-a"), Attribute::of_string("other/domain", "x")};
  const Capacity capacity[] = {{"memory", "80Gi"}, {"half", "500m"}};
  const Device device("d", true, attributes, capacity);
  Limits limits;
  limits.cost = 20'000;
  limits.steps = 1'000'000;
  Evaluator evaluator;
  const Outcome first = evaluator.evaluate(*program, device, limits);
  if ((first.verdict == Verdict::error) != !first.error.empty()) std::abort();
  const std::string error(first.error);
  const Outcome second = evaluator.evaluate(*program, device, limits);
  if (second.verdict != first.verdict || second.cost != first.cost || second.error != error) std::abort();
  // An odd version or quantity must not do more than fail.
  const Attribute version[] = {Attribute::of_version(text, text)};
  const Capacity quantity[] = {{text, text}};
  evaluator.evaluate(*program, Device(text, false, version, quantity), limits);
  return 0;
}
