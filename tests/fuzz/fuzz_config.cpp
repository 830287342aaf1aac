// SPDX-License-Identifier: Apache-2.0
// Any bytes as a configuration: it is refused with problems, or accepted, and what was accepted prints as a
// configuration that means the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/check.hpp"
#include "config/completed.hpp"
#include "config/resolve.hpp"

namespace {

using namespace berth::config;

const PluginCatalog& catalog() {
  static const PluginCatalog offered = [] {
    PluginCatalog out;
    const RawConfiguration defaults = load_defaults();
    for (const NeededPlugin& plugin : defaults.needed_plugins(AbsentPlugins::embedded()))
      if (!plugin.optional)
        out.plugins.push_back({plugin.name, bit_of(Point::filter) | bit_of(Point::score), {}, plugin.name + ".so"});
    // One plugin of each point that a profile cannot be without, and one with a schema that uses most of the language.
    out.plugins.front().points = bit_of(Point::queue_sort);
    out.plugins.back().points = bit_of(Point::bind);
    out.plugins[1].args_schema = R"({"type": "object", "additionalProperties": false, "properties": {
      "n": {"type": "integer", "minimum": 0, "default": 1}, "t": {"format": "go-duration", "formatMinimum": "1s"},
      "s": {"type": "string", "pattern": "^[a-z]*$", "enum": ["a", "b"]},
      "l": {"type": "array", "x-kubernetes-list-map-keys": ["name"], "items": {"$ref": "#/$defs/x"}}},
      "if": {"required": ["s"]}, "then": {"required": ["l"]}, "$defs": {"x": {"type": "object"}}})";
    return out;
  }();
  return offered;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::text::Diagnostics problems;
  const RawConfiguration raw = load({reinterpret_cast<const char*>(data), size}, "f", problems);
  const Configuration configuration = resolve(raw, catalog(), AbsentPlugins::embedded(), problems);
  if (!problems.empty()) return problems.render().empty() ? std::abort(), 1 : 0;

  const std::string printed = completed_yaml(raw, configuration);
  berth::text::Diagnostics again;
  const RawConfiguration raw_again = load(printed, "f", again);
  const Configuration configuration_again = resolve(raw_again, catalog(), AbsentPlugins::embedded(), again);
  BERTH_CHECK(again.empty(), "what was printed is refused: {}", again.render());
  BERTH_CHECK(completed_yaml(raw_again, configuration_again) == printed, "printing is not stable");
  return 0;
}
