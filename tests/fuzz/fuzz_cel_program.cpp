// SPDX-License-Identifier: Apache-2.0
/// Compiles arbitrary text as a device selector. It compiles or says why and where; compiling twice says the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "berth/cel/cel.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::cel::Compiled compiled = berth::cel::Program::compile(text);
  if ((compiled.program == nullptr) != !compiled.error.message.empty()) std::abort();
  if (compiled.program != nullptr && compiled.program->text() != text) std::abort();
  if (compiled.program == nullptr && (compiled.error.line == 0 || compiled.error.column == 0)) std::abort();
  if (berth::cel::Program::compile(text).error.text() != compiled.error.text()) std::abort();
  return 0;
}
