// SPDX-License-Identifier: Apache-2.0
/// Parses arbitrary text as YAML and as JSON. What was understood must survive a way through canonical JSON: the same
/// document, parsed again, prints the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "text/parse.hpp"

namespace {

using berth::text::Document;

void check_round_trip(const Document& document) {
  const std::string first = berth::text::to_json(document.root());
  berth::text::Diagnostics problems;
  const auto again = berth::text::parse_json(first, "again", problems);
  if (!problems.empty() || again.size() != 1 || berth::text::to_json(again[0].root()) != first) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {&berth::text::parse_yaml, &berth::text::parse_json}) {
    berth::text::Diagnostics problems;
    const auto documents = parse(text, "input", problems);
    problems.render();
    if (!problems.empty()) continue;
    for (const Document& document : documents) check_round_trip(document);
  }
  return 0;
}
