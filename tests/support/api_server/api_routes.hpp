// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/api_server/api_server.hpp"

// Internal to the test API server: from a request's text to what is asked, and its answer but for watches.
namespace berth::tests {

struct Target {
  std::string path;
  std::map<std::string, std::string> query;
  const ApiResource* resource = nullptr;  // null: not a resource
  std::string ns, name, subresource;

  std::string param(const std::string& key) const {
    const auto found = query.find(key);
    return found == query.end() ? std::string() : found->second;
  }
  bool flag(const std::string& key) const { return param(key) == "true" || param(key) == "1"; }
  /// "pods", "pods/binding", "/version".
  std::string pattern() const;
};
Target parse_target(std::string_view text, const ApiStore& store);

/// status.phase!=X, metadata.name=X, metadata.namespace=X, spec.nodeName=X; comma-separated.
bool matches_fields(const Stored& object, const std::string& selector);

struct Answer {
  int status = 200;
  std::string body;
};
struct RouteOptions {
  std::string token;
  std::size_t page_max = 0;
  std::set<std::string> missing_rights = {};
};
/// Everything but watches.
Answer answer(const std::string& method, const Target& target, const std::string& body, const std::string& content_type,
              ApiStore& store, const RouteOptions& options);

}  // namespace berth::tests
