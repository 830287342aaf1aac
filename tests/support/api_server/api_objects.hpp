// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// What the test API server knows about Kubernetes objects. Judged by the contract suite against a real server.
namespace berth::tests {

namespace json = boost::json;

struct ApiResource {
  std::string group, version, plural, kind;
  bool namespaced = false;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};
/// The resources that every server has; further ones may be added for custom resources.
const std::vector<ApiResource>& built_in_resources();

/// "" for anything that is not text.
std::string text_at(const json::value& value, std::string_view pointer);
/// The object at a key, made when it is not there.
json::object& object_at(json::object& parent, std::string_view key);

/// RFC 7396.
void merge_patch(json::value& target, const json::value& patch);
/// What of a strategic merge patch schedulers send: lists that have a merge key ("conditions" by "type") are merged by
/// it, "$setElementOrder/…" is left out, everything else is a merge patch.
void strategic_merge_patch(json::value& target, const json::value& patch);

/// Defaults that a server fills in when an object is created.
void fill_in_new(const ApiResource& resource, json::object& object, std::string_view ns, const std::string& uid,
                 const std::string& now);

/// A PodScheduled condition; null reason and message: none.
json::value pod_scheduled(std::string_view status, json::value reason, json::value message, std::string_view now);

std::string rfc3339(std::int64_t wall_ns);

}  // namespace berth::tests
