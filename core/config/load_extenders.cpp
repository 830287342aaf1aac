// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <set>

#include "config/load_parts.hpp"
#include "config/names.hpp"

namespace berth::config {
namespace {

/// What must be unique over all extenders.
struct Seen {
  std::size_t binders = 0;
  std::set<std::string, std::less<>> resources;
};

void read_tls(Fields& extender, const Source& source) {
  const text::Value* value = extender.mapping("tlsConfig");
  if (value == nullptr) return;
  Fields tls(source, *value, extender.path_of("tlsConfig"));
  bool insecure = false;
  tls.read("insecure", insecure);
  std::string text;
  for (const std::string_view key : {"serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"})
    tls.read(key, text);
}

void read_managed_resources(Fields& extender, const Source& source, Seen& seen) {
  const text::Value* list = extender.sequence("managedResources");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    Fields fields(source, list->elements()[i], fmt::format("{}[{}]", extender.path_of("managedResources"), i));
    std::string name;
    bool ignored = false;
    fields.read("name", name);
    fields.read("ignoredByScheduler", ignored);
    if (name.find('/') == std::string::npos)
      source.report(fields.place_of("name"),
                    fmt::format("Invalid value: {}: not the name of an extended resource", quoted(name)),
                    "such as example.com/gpu");
    else if (!seen.resources.insert(name).second)
      source.report(fields.place_of("name"), "Duplicate value: " + quoted(name), "one extender manages a resource");
  }
}

void read_extender(const text::Value& value, std::string path, const Source& source, Seen& seen) {
  Fields fields(source, value, std::move(path));
  std::string url, filter, prioritize, preempt, bind;
  std::int64_t weight = 0, timeout_ns = 0;
  bool flag = false;
  fields.read("urlPrefix", url);
  fields.read("filterVerb", filter);
  fields.read("prioritizeVerb", prioritize);
  fields.read("preemptVerb", preempt);
  const bool binds = fields.read("bindVerb", bind) && !bind.empty();
  fields.read("weight", weight);
  for (const std::string_view key : {"enableHTTPS", "nodeCacheCapable", "ignorable"}) fields.read(key, flag);
  fields.read_duration("httpTimeout", timeout_ns);
  read_tls(fields, source);
  read_managed_resources(fields, source, seen);

  if (url.empty()) source.report(fields.place_of("urlPrefix"), "Required value", "the URL of the extender");
  if (!prioritize.empty() && weight <= 0)
    source.report(fields.place_of("weight"),
                  fmt::format("Invalid value: {}: must have a positive weight applied to it", weight),
                  "prioritizeVerb is set");
  if (binds && ++seen.binders > 1)
    source.report(fields.place_of("bindVerb"), "found several extenders that implement bind", "at most one may");
  source.report(fields.place(), "extenders are not supported yet",
                "this berth calls no webhooks; a plugin file can do the same work");
}

}  // namespace

void read_extenders(Fields& root, const Source& source) {
  const text::Value* list = root.sequence("extenders");
  if (list == nullptr) return;
  Seen seen;
  for (std::size_t i = 0; i < list->elements().size(); ++i)
    read_extender(list->elements()[i], fmt::format("{}[{}]", root.path_of("extenders"), i), source, seen);
}

}  // namespace berth::config
