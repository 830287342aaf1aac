// SPDX-License-Identifier: Apache-2.0
/// The JSON reader of the C++ wrapper, which plugins run on their args: arbitrary bytes either parse or throw its own
/// error.
#include <cstdint>

#include <berth/json.hpp>

namespace {

std::size_t count(const berth::Json& value) {
  std::size_t all = 1;
  for (const berth::Json& item : value.items()) all += count(item);
  for (const auto& [key, member] : value.members()) all += count(member) + (value.contains(key) ? 0 : 1);
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const berth::Json value = berth::Json::parse({reinterpret_cast<const char*>(data), size});
    (void)count(value);
    (void)value.integer_or("value", 0);
  } catch (const berth::BadArgs&) {
  }
  return 0;
}
