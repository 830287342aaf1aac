// SPDX-License-Identifier: Apache-2.0
#include <berth/cel/cel.hpp>

namespace berth::cel {

std::string example(const Device& device) {
  static ProgramCache programs;
  const Compiled compiled = programs.get(R"(
      device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "A100")");
  if (compiled.program == nullptr) return compiled.error.text();
  Evaluator evaluator;  // keep one per thread
  const Outcome outcome = evaluator.evaluate(*compiled.program, device);
  if (outcome.verdict == Verdict::error) return std::string(outcome.error);
  return outcome.verdict == Verdict::yes ? "yes" : "no";
}

}  // namespace berth::cel
