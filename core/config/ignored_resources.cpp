// SPDX-License-Identifier: Apache-2.0
#include "config/ignored_resources.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "config/embedded.hpp"
#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

struct ArgName {
  std::string plugin, arg;
};

const std::vector<ArgName>& args_of_resources() {
  static const std::vector<ArgName> names = [] {
    text::Diagnostics diagnostics;
    const std::string file = "conf/extender-resources.yaml";
    const Source source{file, diagnostics};
    const auto documents = text::parse_yaml(embedded::extender_resources(), file, diagnostics);
    BERTH_CHECK(documents.size() == 1, "{} is not one document: {}", file, diagnostics.render());
    std::vector<ArgName> read;
    bool complete = true;
    const text::Value* const list = documents.front().root().find("args");
    BERTH_CHECK(list != nullptr && !list->elements().empty(), "{} has no args", file);
    for (const text::Value& entry : list->elements()) {
      Fields fields(source, entry, "args");
      ArgName& name = read.emplace_back();
      complete = fields.read("plugin", name.plugin) && complete;
      complete = fields.read("arg", name.arg) && complete;
    }
    BERTH_CHECK(complete && diagnostics.empty(), "{} lacks plugin or arg: {}", file, diagnostics.render());
    return read;
  }();
  return names;
}

void append_string(std::string& out, std::string_view text) {
  if (out.back() != '[' && out.back() != '{') out += ',';
  text::append_json_string(out, text);
}

/// The args with that member replaced, or added.
std::string with_member(const std::string& args_json, std::string_view key, std::string_view value_json) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(args_json, "args", diagnostics);
  BERTH_CHECK(documents.size() == 1, "args are no JSON: {}", diagnostics.render());
  std::string patch = "{";
  append_string(patch, key);
  patch.append(":").append(value_json).append("}");
  const auto patches = text::parse_json(patch, "args", diagnostics);
  BERTH_CHECK(patches.size() == 1, "no JSON: {}", diagnostics.render());
  return text::merge_json(&documents.front().root(), patches.front().root());
}

}  // namespace

void ignore_managed_resources(const std::vector<Extender>& extenders, const RawProfile& raw, const Source& source,
                              Profile& profile) {
  std::string names = "[";
  for (const Extender& extender : extenders)
    for (const ManagedResource& resource : extender.managed_resources)
      if (resource.ignored_by_scheduler) append_string(names, resource.name);
  if (names.size() == 1) return;
  names += ']';
  bool is_known = false;
  std::vector<std::string> plugins;
  for (const ArgName& arg : args_of_resources()) {
    plugins.push_back(arg.plugin);
    const auto found = profile.args_json.find(arg.plugin);
    if (found != profile.args_json.end()) found->second = with_member(found->second, arg.arg, names);
    is_known = is_known || found != profile.args_json.end() ||
               std::any_of(raw.plugin_config.begin(), raw.plugin_config.end(),
                           [&](const RawPluginConfig& config) { return config.name == arg.plugin; });
  }
  if (!is_known)
    source.report(
        raw.place,
        fmt::format("an extender manages {} with ignoredByScheduler, and none of the plugins {} is here to be "
                    "told so",
                    names, quoted_list(plugins)),
        "enable one of them, or leave ignoredByScheduler out");
}

}  // namespace berth::config
