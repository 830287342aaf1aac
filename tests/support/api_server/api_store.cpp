// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/api_store.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>

namespace berth::tests {
namespace {

constexpr std::size_t k_history_max = 100'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Refusal conflict(const ApiResource& resource, std::string_view name, const std::string& why) {
  const std::string group = resource.group.empty() ? "" : "." + resource.group;
  return {409, "Conflict",
          fmt::format("Operation cannot be fulfilled on {}{} \"{}\": {}", resource.plural, group, name, why)};
}

bool has_finalizers(const json::value& object) {
  boost::system::error_code missing;
  const json::value* const found = object.find_pointer("/metadata/finalizers", missing);
  return found != nullptr && found->is_array() && !found->get_array().empty();
}

const json::value* member(const json::value& object, std::string_view pointer) {
  boost::system::error_code missing;
  const json::value* const found = object.find_pointer(pointer, missing);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

Refusal invalid(const ApiResource& resource, std::string_view name, const std::string& why) {
  return {422, "Invalid", fmt::format("{}.{} \"{}\" is invalid: {}", resource.kind, resource.group, name, why)};
}

/// What a server checks of a claim's status: pkg/apis/resource/validation (ValidateResourceClaimStatusUpdate), in part, and
/// pkg/registry/resource (AuthorizedForBinding). `verb_missing`: what the writer may not do to resourceclaims/binding; may be empty.
std::optional<Refusal> check_claim(const ApiResource& resource, std::string_view verb_missing,
                                   const json::value& before, const json::value& now) {
  const std::string name = text_at(before, "/metadata/name");
  const json::value* const spec = member(now, "/spec");
  if (const json::value* const known = member(before, "/spec");
      known != nullptr && (spec == nullptr || *spec != *known))
    return invalid(resource, name, "spec: Invalid value: field is immutable");
  const json::value* const had = member(before, "/status/allocation");
  const json::value* const has = member(now, "/status/allocation");
  if (had != nullptr && has != nullptr && *had != *has)
    return invalid(resource, name, "status.allocation: Invalid value: field is immutable");
  const json::value* const consumers = member(now, "/status/reservedFor");
  const json::value* const known = member(before, "/status/reservedFor");
  const auto differ = [](const json::value* a, const json::value* b) {
    return (a == nullptr) != (b == nullptr) || (a != nullptr && *a != *b);
  };
  if (!verb_missing.empty() && (differ(had, has) || differ(known, consumers)))
    return invalid(resource, name,
                   fmt::format("status: Forbidden: changing status.allocation or status.reservedFor requires "
                               "resource=\"resourceclaims/binding\", verb=\"{}\" permission",
                               verb_missing));
  const bool is_reserved = consumers != nullptr && consumers->is_array() && !consumers->get_array().empty();
  if (is_reserved && has == nullptr)
    return invalid(resource, name, "status.reservedFor: Forbidden: may not be specified when `allocated` is not set");
  if (is_reserved && consumers->get_array().size() > 256)
    return invalid(resource, name, "status.reservedFor: Too many: must have at most 256 items");
  const std::size_t count_before = known != nullptr && known->is_array() ? known->get_array().size() : 0;
  if (is_reserved && consumers->get_array().size() > count_before &&
      member(before, "/metadata/deletionTimestamp") != nullptr)
    return invalid(resource, name,
                   "status.reservedFor: Forbidden: new reservations may not be added if a claim is being deleted");
  return std::nullopt;
}

std::string qualified(const ApiResource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

}  // namespace

std::string Refusal::text() const {
  return json::serialize(json::object{{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", json::object()},
                                      {"status", "Failure"},
                                      {"message", message},
                                      {"reason", reason},
                                      {"code", code}});
}

ApiStore::ApiStore(std::function<void(const ApiResource*)> on_change) : on_change_(std::move(on_change)) {
  for (const ApiResource& resource : built_in_resources()) resources_.push_back(resource);
}

const ApiResource* ApiStore::find(std::string_view group, std::string_view version, std::string_view plural) const {
  const std::lock_guard lock(mutex_);
  for (const ApiResource& r : resources_)
    if (r.group == group && r.version == version && r.plural == plural) return &r;
  return nullptr;
}

void ApiStore::add_resource(ApiResource resource) {
  const std::lock_guard lock(mutex_);
  resources_.push_back(std::move(resource));
}

std::vector<const ApiResource*> ApiStore::resources() const {
  const std::lock_guard lock(mutex_);
  std::vector<const ApiResource*> out;
  for (const ApiResource& r : resources_) out.push_back(&r);
  return out;
}

std::string ApiStore::key(const ApiResource& resource, std::string_view ns, std::string_view name) {
  return resource.namespaced ? fmt::format("{}/{}", ns, name) : std::string(name);
}

Outcome<StoredPtr> ApiStore::not_found(const ApiResource& resource, std::string_view name) const {
  return {std::nullopt, {404, "NotFound", fmt::format("{} \"{}\" not found", qualified(resource), name)}};
}

Outcome<StoredPtr> ApiStore::get(const ApiResource& resource, std::string_view ns, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto collection = collections_.find(&resource);
  if (collection == collections_.end()) return not_found(resource, name);
  const auto found = collection->second.objects.find(key(resource, ns, name));
  return found == collection->second.objects.end() ? not_found(resource, name) : Outcome<StoredPtr>{found->second};
}

void ApiStore::record(const ApiResource& resource, Collection& collection, StoredPtr before, StoredPtr after) {
  collection.history.push_back({version_, std::move(before), std::move(after), now_ns()});
  if (collection.history.size() > k_history_max) {
    collection.oldest_version = collection.history.front().version;
    collection.history.pop_front();
  }
  on_change_(&resource);
}

Outcome<StoredPtr> ApiStore::commit(const ApiResource& resource, Collection& collection, const StoredPtr& before,
                                    json::value object) {
  json::object& metadata = object_at(object.as_object(), "metadata");
  metadata["resourceVersion"] = std::to_string(++version_);
  auto after = std::make_shared<Stored>();
  after->ns = text_at(object, "/metadata/namespace");
  after->name = text_at(object, "/metadata/name");
  after->uid = text_at(object, "/metadata/uid");
  after->version = version_;
  after->phase = text_at(object, "/status/phase");
  after->node = text_at(object, "/spec/nodeName");
  after->text = json::serialize(object);
  collection.objects[key(resource, after->ns, after->name)] = after;
  record(resource, collection, before, after);
  return {StoredPtr(after)};
}

void ApiStore::erase(const ApiResource& resource, Collection& collection, const StoredPtr& before) {
  ++version_;
  collection.objects.erase(key(resource, before->ns, before->name));
  record(resource, collection, before, nullptr);
}

Outcome<StoredPtr> ApiStore::create(const ApiResource& resource, std::string_view ns, json::value object) {
  if (!object.is_object()) return {std::nullopt, {400, "BadRequest", "the body is not an object"}};
  std::string name = text_at(object, "/metadata/name");
  const std::lock_guard lock(mutex_);
  if (name.empty() && !text_at(object, "/metadata/generateName").empty()) {
    name = text_at(object, "/metadata/generateName") + std::to_string(next_uid_);
    object_at(object.get_object(), "metadata")["name"] = name;
  }
  if (name.empty())
    return {std::nullopt,
            {422, "Invalid",
             fmt::format("{} \"\" is invalid: metadata.name: Required value: name or generateName is required",
                         resource.kind)}};
  Collection& collection = collections_[&resource];
  if (collection.objects.count(key(resource, ns, name)) != 0)
    return {std::nullopt, {409, "AlreadyExists", fmt::format("{} \"{}\" already exists", qualified(resource), name)}};
  const std::uint64_t number = next_uid_++;
  fill_in_new(resource, object.get_object(), ns, fmt::format("00000000-0000-4000-8000-{:012x}", number),
              rfc3339(now_ns()));
  return commit(resource, collection, nullptr, std::move(object));
}

/// Finds the object, lets `apply` change its JSON (or refuse), stores it.
template <typename Apply>
Outcome<StoredPtr> ApiStore::change(const ApiResource& resource, std::string_view ns, std::string_view name,
                                    std::string_view verb_missing, Apply&& apply) {
  const std::lock_guard lock(mutex_);
  Collection& collection = collections_[&resource];
  const auto found = collection.objects.find(key(resource, ns, name));
  if (found == collection.objects.end()) return not_found(resource, name);
  const StoredPtr before = found->second;
  json::value object = json::parse(before->text);
  if (std::optional<Refusal> refusal = apply(*before, object)) return {std::nullopt, std::move(*refusal)};
  if (json::serialize(object) == before->text) return {before};  // no change, no version
  if (resource.kind == "ResourceClaim")
    if (std::optional<Refusal> refusal = check_claim(resource, verb_missing, json::parse(before->text), object))
      return {std::nullopt, std::move(*refusal)};
  return commit_or_erase(resource, collection, before, std::move(object));
}

Outcome<StoredPtr> ApiStore::commit_or_erase(const ApiResource& resource, Collection& collection,
                                             const StoredPtr& before, json::value object) {
  const bool goes =
      resource.kind != "Pod" && member(object, "/metadata/deletionTimestamp") != nullptr && !has_finalizers(object);
  Outcome<StoredPtr> committed = commit(resource, collection, before, std::move(object));
  if (goes) erase(resource, collection, *committed.value);
  return committed;
}

Outcome<StoredPtr> ApiStore::update(const ApiResource& resource, std::string_view ns, std::string_view name,
                                    json::value object, std::string_view subresource, bool may_bind) {
  const bool has_own_status = resource.kind == "ResourceClaim";
  const std::string_view missing = may_bind ? "" : "update";
  return change(resource, ns, name, missing, [&](const Stored& before, json::value& target) -> std::optional<Refusal> {
    const std::string version = text_at(object, "/metadata/resourceVersion");
    if (!version.empty() && version != std::to_string(before.version))
      return conflict(resource, name,
                      "the object has been modified; please apply your changes to the latest version and try again");
    json::object& metadata = object_at(object.as_object(), "metadata");
    for (const char* kept : {"uid", "creationTimestamp", "namespace", "name", "resourceVersion"})
      if (const json::value* value = target.as_object().at("metadata").as_object().if_contains(kept))
        metadata[kept] = *value;
    if (subresource == "status") {
      if (const json::value* status = member(object, "/status"))
        target.as_object()["status"] = *status;
      else
        target.as_object().erase("status");
      return std::nullopt;
    }
    if (has_own_status) {
      object.as_object().erase("status");
      if (const json::value* status = member(target, "/status")) object.as_object()["status"] = *status;
      if (const json::value* deleted = member(target, "/metadata/deletionTimestamp"))
        metadata["deletionTimestamp"] = *deleted;
    }
    target = std::move(object);
    return std::nullopt;
  });
}

Outcome<StoredPtr> ApiStore::patch(const ApiResource& resource, std::string_view ns, std::string_view name,
                                   const json::value& patch, bool strategic, bool status_only, bool may_bind) {
  const std::string_view missing = may_bind ? "" : "patch";
  return change(resource, ns, name, missing, [&](const Stored& before, json::value& target) -> std::optional<Refusal> {
    const std::string uid = text_at(patch, "/metadata/uid");
    if (!uid.empty() && uid != before.uid)
      return Refusal{422, "Invalid",
                     fmt::format("{} \"{}\" is invalid: metadata.uid: Invalid value: \"{}\": field is immutable",
                                 resource.kind, name, uid)};
    const json::value spec = target.as_object().contains("spec") ? target.as_object()["spec"] : json::value();
    const json::value metadata = target.as_object()["metadata"];
    if (strategic)
      strategic_merge_patch(target, patch);
    else
      merge_patch(target, patch);
    if (status_only) {
      if (!spec.is_null()) target.as_object()["spec"] = spec;
      target.as_object()["metadata"] = metadata;
    }
    return std::nullopt;
  });
}

Outcome<StoredPtr> ApiStore::remove(const ApiResource& resource, std::string_view ns, std::string_view name,
                                    const json::value& options) {
  const std::string uid = text_at(options, "/preconditions/uid");
  bool at_once = true;
  Outcome<StoredPtr> marked =
      change(resource, ns, name, {}, [&](const Stored& before, json::value& target) -> std::optional<Refusal> {
        if (!uid.empty() && uid != before.uid)
          return conflict(
              resource, name,
              fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, before.uid));
        boost::system::error_code missing;
        const json::value* grace = options.find_pointer("/gracePeriodSeconds", missing);
        if (resource.kind != "Pod" && has_finalizers(target)) {
          at_once = false;  // until the last of them is taken away
          json::object& kept = object_at(target.as_object(), "metadata");
          if (!kept.contains("deletionTimestamp")) kept["deletionTimestamp"] = rfc3339(now_ns());
          return std::nullopt;
        }
        const bool now = grace != nullptr && grace->is_int64() && grace->get_int64() == 0;
        if (resource.kind != "Pod" || before.node.empty() || before.phase == "Succeeded" || before.phase == "Failed" ||
            now)
          return std::nullopt;
        at_once = false;  // a kubelet has to stop it first
        json::object& metadata = object_at(target.as_object(), "metadata");
        if (metadata.contains("deletionTimestamp")) return std::nullopt;
        metadata["deletionTimestamp"] = rfc3339(now_ns());
        metadata["deletionGracePeriodSeconds"] = 30;
        return std::nullopt;
      });
  if (!marked.ok() || !at_once) return marked;
  const std::lock_guard lock(mutex_);
  Collection& collection = collections_[&resource];
  const auto found = collection.objects.find(key(resource, ns, name));
  if (found == collection.objects.end()) return not_found(resource, name);
  erase(resource, collection, StoredPtr(found->second));
  return marked;
}

std::size_t ApiStore::finish_deletions() {
  const ApiResource* pods = find("", "v1", "pods");
  const std::lock_guard lock(mutex_);
  Collection& collection = collections_[pods];
  std::vector<StoredPtr> done;
  for (const auto& [name, stored] : collection.objects)
    if (stored->text.find("\"deletionTimestamp\"") != std::string::npos) done.push_back(stored);
  for (const StoredPtr& stored : done) erase(*pods, collection, stored);
  return done.size();
}

Outcome<StoredPtr> ApiStore::bind(std::string_view ns, std::string_view name, const json::value& binding) {
  const ApiResource& pods = *find("", "v1", "pods");
  const std::string node = text_at(binding, "/target/name"), uid = text_at(binding, "/metadata/uid");
  ApiResource as_binding = pods;
  as_binding.plural = "pods/binding";
  Outcome<StoredPtr> bound =
      change(pods, ns, name, {}, [&](const Stored& before, json::value& target) -> std::optional<Refusal> {
        if (node.empty()) return Refusal{422, "Invalid", "target.name: Required value"};
        if (!uid.empty() && uid != before.uid)
          return conflict(
              as_binding, name,
              fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, before.uid));
        if (before.text.find("\"deletionTimestamp\"") != std::string::npos)
          return conflict(as_binding, name, fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
        if (!before.node.empty())
          return conflict(as_binding, name,
                          fmt::format("pod {} is already assigned to node \"{}\"", name, before.node));
        object_at(target.as_object(), "spec")["nodeName"] = node;
        object_at(target.as_object(), "status").erase("nominatedNodeName");
        json::object status, scheduled;
        // Reason and message of an earlier failure go.
        json::value condition = pod_scheduled("True", nullptr, nullptr, rfc3339(now_ns()));
        condition.get_object()["reason"] = nullptr;
        condition.get_object()["message"] = nullptr;
        status["conditions"] = json::array(1, condition);
        scheduled["status"] = status;
        strategic_merge_patch(target, scheduled);
        bindings_.push_back({before.ns, before.name, before.uid, node, now_ns()});
        return std::nullopt;
      });
  return bound;
}

ApiStore::Page ApiStore::list(const ApiResource& resource, std::string_view ns, std::string_view from_key,
                              std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  Page page;
  page.version = version_;
  const auto collection = collections_.find(&resource);
  if (collection == collections_.end()) return page;
  const auto& objects = collection->second.objects;
  for (auto it = objects.lower_bound(std::string(from_key)); it != objects.end(); ++it) {
    if (!ns.empty() && it->second->ns != ns) continue;
    if (limit != 0 && page.objects.size() == limit) {
      page.next_key = it->first;
      break;
    }
    page.objects.push_back(it->second);
  }
  return page;
}

std::optional<std::vector<Change>> ApiStore::changes_after(const ApiResource& resource, std::uint64_t version,
                                                           std::size_t count) const {
  const std::lock_guard lock(mutex_);
  std::vector<Change> out;
  const auto collection = collections_.find(&resource);
  if (collection == collections_.end()) return out;
  if (version < collection->second.oldest_version) return std::nullopt;
  const auto& history = collection->second.history;
  auto it = std::upper_bound(history.begin(), history.end(), version,
                             [](std::uint64_t v, const Change& change) { return v < change.version; });
  for (; it != history.end() && out.size() < count; ++it) out.push_back(*it);
  return out;
}

std::uint64_t ApiStore::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

void ApiStore::compact() {
  const std::lock_guard lock(mutex_);
  ++version_;
  for (auto& [resource, collection] : collections_) {
    collection.oldest_version = version_;
    collection.history.clear();
  }
}

std::vector<BindRecord> ApiStore::bindings() const {
  const std::lock_guard lock(mutex_);
  return bindings_;
}

}  // namespace berth::tests
