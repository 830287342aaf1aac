// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/api_routes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

namespace berth::tests {
namespace {

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.push_back(percent_decode(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Answer refused(int code, const std::string& reason, const std::string& message) {
  return {code, Refusal{code, reason, message}.text()};
}

Answer of(const Outcome<StoredPtr>& outcome, int good = 200) {
  if (!outcome.ok()) return {outcome.refusal.code, outcome.refusal.text()};
  return {good, (*outcome.value)->text};
}

Answer success(int code) {
  return {code, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":)" +
                    std::to_string(code) + "}"};
}

Answer list(const Target& target, const ApiStore& store, const RouteOptions& options) {
  std::size_t limit = 0;
  if (const std::string text = target.param("limit"); !text.empty()) limit = std::stoul(text);
  if (options.page_max != 0) limit = limit == 0 ? options.page_max : std::min(limit, options.page_max);
  const std::string from = target.param("continue");
  const std::string asked = target.param("resourceVersion");
  if (!asked.empty() && std::stoull(asked) > store.version())
    return refused(504, "Timeout",
                   "Too large resource version: " + asked + ", current: " + std::to_string(store.version()));
  const ApiStore::Page page = store.list(*target.resource, target.ns, from, limit);
  json::object metadata;
  metadata["resourceVersion"] = std::to_string(page.version);
  if (!page.next_key.empty()) metadata["continue"] = page.next_key;
  std::string body = fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[)",
                                 target.resource->kind, target.resource->api_version(), json::serialize(metadata));
  bool first = true;
  for (const StoredPtr& object : page.objects) {
    if (!matches_fields(*object, target.param("fieldSelector"))) continue;
    if (!first) body += ',';
    first = false;
    body += object->text;
  }
  return {200, body + "]}\n"};
}

Answer review(const Target& target, const json::value& body, const RouteOptions& options) {
  json::value out = body;
  if (!out.is_object()) return refused(400, "BadRequest", "the body is not an object");
  json::object& status = object_at(out.get_object(), "status");
  if (target.path.ends_with("/tokenreviews")) {
    const bool good = text_at(body, "/spec/token") == options.token;
    status["authenticated"] = good;
    if (good) object_at(status, "user")["username"] = "system:serviceaccount:tests:user";
  } else if (target.path.ends_with("/selfsubjectaccessreviews")) {
    const std::string part = text_at(body, "/spec/resourceAttributes/subresource");
    status["allowed"] = !options.missing_rights.contains(text_at(body, "/spec/resourceAttributes/verb") + " " +
                                                         text_at(body, "/spec/resourceAttributes/resource") +
                                                         (part.empty() ? "" : "/" + part));
  } else {
    status["allowed"] = text_at(body, "/spec/user") == "system:serviceaccount:tests:user";
  }
  return {201, json::serialize(out)};
}

json::object resource_entry(const ApiResource& r, const std::string& name, std::string_view kind) {
  json::object out;
  out["name"] = name;
  out["singularName"] = "";
  out["namespaced"] = r.namespaced;
  out["kind"] = kind;
  json::array verbs;
  for (const char* verb : {"create", "delete", "get", "list", "patch", "update", "watch"}) verbs.emplace_back(verb);
  out["verbs"] = std::move(verbs);
  return out;
}

Answer discovery(const Target& target, const ApiStore& store) {
  const std::vector<std::string> parts = split(target.path, '/');
  json::object out;
  if (parts.size() == 1 && parts[0] == "api") {
    out["kind"] = "APIVersions";
    out["versions"] = json::array(1, "v1");
    return {200, json::serialize(out)};
  }
  if (parts.size() == 1 && parts[0] == "apis") {
    out["kind"] = "APIGroupList";
    out["apiVersion"] = "v1";
    std::set<std::pair<std::string, std::string>> groups;
    for (const ApiResource* r : store.resources())
      if (!r->group.empty()) groups.emplace(r->group, r->version);
    json::array list;
    for (const auto& [group, version] : groups) {
      json::object entry, v;
      v["groupVersion"] = group + "/" + version;
      v["version"] = version;
      entry["name"] = group;
      entry["versions"] = json::array(1, v);
      entry["preferredVersion"] = v;
      list.push_back(entry);
    }
    out["groups"] = std::move(list);
    return {200, json::serialize(out)};
  }
  const bool core = parts.size() == 2 && parts[0] == "api";
  if (!core && !(parts.size() == 3 && parts[0] == "apis")) return refused(404, "NotFound", "404 page not found");
  const std::string group = core ? "" : parts[1], version = core ? parts[1] : parts[2];
  json::array list;
  for (const ApiResource* r : store.resources()) {
    if (r->group != group || r->version != version) continue;
    list.push_back(resource_entry(*r, r->plural, r->kind));
    if (r->kind == "ResourceClaim") list.push_back(resource_entry(*r, "resourceclaims/status", "ResourceClaim"));
    if (r->kind != "Pod") continue;
    list.push_back(resource_entry(*r, "pods/binding", "Binding"));
    list.push_back(resource_entry(*r, "pods/status", "Pod"));
  }
  if (list.empty()) return refused(404, "NotFound", "the server could not find the requested resource");
  out["kind"] = "APIResourceList";
  out["apiVersion"] = "v1";
  out["groupVersion"] = core ? version : group + "/" + version;
  out["resources"] = std::move(list);
  return {200, json::serialize(out)};
}

Answer other(const std::string& method, const Target& target, const json::value& body, const ApiStore& store,
             const RouteOptions& options) {
  if (target.path == "/version")
    return {200, R"({"major":"1","minor":"36","gitVersion":"v1.36.2-test","platform":"linux/amd64"})"};
  if (target.path == "/livez" || target.path == "/readyz" || target.path == "/healthz") return {200, "ok"};
  if (method == "POST" && (target.path.ends_with("/tokenreviews") || target.path.ends_with("accessreviews")))
    return review(target, body, options);
  return discovery(target, store);
}

/// As rules name it: "list", "update".
std::string verb_of(const std::string& method, const Target& target) {
  if (method == "GET") return target.name.empty() ? "list" : "get";
  return method == "POST" ? "create" : method == "PUT" ? "update" : method == "PATCH" ? "patch" : "delete";
}

/// Whether the user may change what a claim is allocated and reserved for: a right of its own, whatever is written.
bool may_bind(std::string_view verb, const RouteOptions& options) {
  return !options.missing_rights.contains(std::string(verb) + " resourceclaims/binding");
}

Answer write_part(const std::string& method, const Target& target, const json::value& body, bool strategic,
                  ApiStore& store, const RouteOptions& options) {
  if (method == "POST" && target.subresource == "binding") {
    const Outcome<StoredPtr> bound = store.bind(target.ns, target.name, body);
    return bound.ok() ? success(201) : of(bound);
  }
  if (method == "POST" && target.subresource == "eviction") {
    const Outcome<StoredPtr> gone = store.remove(*target.resource, target.ns, target.name, json::object());
    return gone.ok() ? success(201) : of(gone);
  }
  if (method == "PUT" && target.subresource == "status")
    return of(store.update(*target.resource, target.ns, target.name, body, "status", may_bind("update", options)));
  if (method == "PATCH" && target.subresource == "status")
    return of(store.patch(*target.resource, target.ns, target.name, body, strategic, true, may_bind("patch", options)));
  return refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

}  // namespace

std::string Target::pattern() const {
  if (resource == nullptr) return path;
  return subresource.empty() ? resource->plural : resource->plural + "/" + subresource;
}

Target parse_target(std::string_view text, const ApiStore& store) {
  Target out;
  const std::size_t question = std::min(text.find('?'), text.size());
  out.path = text.substr(0, question);
  for (const std::string_view rest = text.substr(std::min(question + 1, text.size()));
       const std::string& pair : split(rest, '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    out.query[pair.substr(0, equals)] = equals < pair.size() ? pair.substr(equals + 1) : "";
  }
  std::vector<std::string> parts = split(out.path, '/');
  const bool core = parts.size() >= 3 && parts[0] == "api";
  if (!core && !(parts.size() >= 4 && parts[0] == "apis")) return out;
  const std::string group = core ? "" : parts[1], version = core ? parts[1] : parts[2];
  parts.erase(parts.begin(), parts.begin() + (core ? 2 : 3));
  if (parts.size() >= 3 && parts[0] == "namespaces") {
    out.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  out.resource = store.find(group, version, parts[0]);
  if (parts.size() > 1) out.name = parts[1];
  if (parts.size() > 2) out.subresource = parts[2];
  return out;
}

bool matches_fields(const Stored& object, const std::string& selector) {
  for (const std::string& term : split(selector, ',')) {
    const std::size_t at = term.find_first_of("!=");
    if (at == std::string::npos) return false;
    const bool negative = term[at] == '!';
    const std::string field = term.substr(0, at);
    const std::string wanted = term.substr(term.find_last_of('=') + 1);
    const std::string& is = field == "status.phase"    ? object.phase
                            : field == "spec.nodeName" ? object.node
                            : field == "metadata.name" ? object.name
                                                       : object.ns;
    if ((is == wanted) == negative) return false;
  }
  return true;
}

Answer answer(const std::string& method, const Target& target, const std::string& text, const std::string& content_type,
              ApiStore& store, const RouteOptions& options) {
  boost::system::error_code malformed;
  const json::value body = text.empty() ? json::value(json::object()) : json::parse(text, malformed);
  if (malformed) return refused(400, "BadRequest", "the body is not JSON: " + malformed.message());
  if (target.resource == nullptr) return other(method, target, body, store, options);
  if (const std::string right = verb_of(method, target) + ' ' + target.pattern();
      options.missing_rights.contains(right))
    return refused(403, "Forbidden", target.resource->plural + " is forbidden: User \"user\" cannot " + right);
  const bool strategic = content_type.starts_with("application/strategic-merge-patch+json");
  if (!target.subresource.empty() && method != "GET")
    return write_part(method, target, body, strategic, store, options);
  const ApiResource& resource = *target.resource;
  if (method == "GET" && target.name.empty()) return list(target, store, options);
  if (method == "GET") return of(store.get(resource, target.ns, target.name));
  if (method == "POST") return of(store.create(resource, target.ns, body), 201);
  if (method == "PUT") return of(store.update(resource, target.ns, target.name, body));
  if (method == "PATCH") return of(store.patch(resource, target.ns, target.name, body, strategic, false));
  if (method == "DELETE") return of(store.remove(resource, target.ns, target.name, body));
  return refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

}  // namespace berth::tests
