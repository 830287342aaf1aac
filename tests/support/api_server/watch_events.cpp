// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/watch_events.hpp"

#include <spdlog/fmt/fmt.h>

#include <boost/json.hpp>

#include "support/api_server/api_routes.hpp"

namespace berth::tests {
namespace {

/// An object that left the selection, or the collection: its last state, stamped with the version of its going.
std::string with_version(const Stored& object, std::uint64_t version) {
  json::value out = json::parse(object.text);
  out.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(version);
  return json::serialize(out);
}

}  // namespace

std::string bookmark_text(const ApiResource& resource, std::uint64_t version, bool end_of_list) {
  return fmt::format(
      R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}"{}}}}}}})"
      "\n",
      resource.kind, resource.api_version(), version,
      end_of_list ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
}

std::string event_text(std::string_view type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string seen_change(const Change& change, const std::string& selector) {
  const bool was = change.before && matches_fields(*change.before, selector);
  const bool is = change.after && matches_fields(*change.after, selector);
  if (is) return event_text(was ? "MODIFIED" : "ADDED", change.after->text);
  return was ? event_text("DELETED", with_version(*change.before, change.version)) : std::string();
}

}  // namespace berth::tests
