// SPDX-License-Identifier: Apache-2.0
// What an API server makes of writes to objects: versions, subresources, names that it makes, finalizers.
#include <spdlog/fmt/fmt.h>

#include "cluster/embedded/embedded_state.hpp"
#include "model/uuid.hpp"
#include "text/json_object.hpp"

namespace berth::cluster {
namespace {

using Verb = ObjectWrite::Verb;

constexpr std::size_t k_consumers_max = 256;  // of a ResourceClaim: status.reservedFor

std::string plural_of(const ObjectRef& object) { return object.resource.substr(object.resource.rfind('/') + 1); }

/// "resource.k8s.io/v1/resourceclaims" -> "resourceclaims.resource.k8s.io", as errors name it.
std::string qualified(const ObjectRef& object) {
  const std::string group = object.resource.substr(0, object.resource.find('/'));
  return group == "core" ? plural_of(object) : plural_of(object) + '.' + group;
}

Error missing(const ObjectRef& object) {
  return {fmt::format("{} \"{}\" not found", qualified(object), object.name), ErrorCode::not_found};
}

Error conflict(const ObjectRef& object, std::string_view why) {
  return {fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", qualified(object), object.name, why),
          ErrorCode::conflict};
}

Error modified(const ObjectRef& object) {
  return conflict(object,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

Error invalid(std::string text) { return {std::move(text), ErrorCode::invalid}; }

/// A JSON text, parsed; null when it is no object.
class JsonBody {
 public:
  JsonBody(std::string_view json, const std::string& name) {
    text::Diagnostics diagnostics;
    documents_ = text::parse_json(json, name, diagnostics);
    if (documents_.size() != 1 || !diagnostics.empty() || !documents_.front().root().is_mapping()) documents_.clear();
  }
  bool ok() const { return !documents_.empty(); }
  const text::Value& root() const { return documents_.front().root(); }
  std::string text(std::string_view path) const { return std::string(root().text_at(path)); }
  std::string json(std::string_view path) const {
    const text::Value* value = root().find_path(path);
    return value == nullptr ? std::string() : text::to_json(*value);
  }
  bool has_elements(std::string_view path) const {
    const text::Value* value = root().find_path(path);
    return value != nullptr && !value->elements().empty();
  }

 private:
  std::vector<text::Document> documents_;
};

/// `json` with other members at the top: the null patch first, since a merge keeps what a new value leaves out.
std::string with(std::string json, std::string_view member, const std::string& value, const std::string& name) {
  const JsonBody target(json, name);
  const JsonBody none(fmt::format(R"({{"{}":null}})", member), "patch");
  const std::string without = text::merge_json(&target.root(), none.root());
  if (value.empty() || value == "null") return without;
  const JsonBody rest(without, name);
  const JsonBody change(fmt::format(R"({{"{}":{}}})", member, value), "patch");
  return text::merge_json(&rest.root(), change.root());
}

std::string merged(const std::string& json, const std::string& patch, const std::string& name) {
  const JsonBody target(json, name), change(patch, "patch");
  return text::merge_json(&target.root(), change.root());
}

/// One list of a strategic merge patch whose entries are told apart by uid: deletions, then entries to add or replace.
std::string merged_list(const text::Value* known, const text::Value& change) {
  const auto uid_of = [](const text::Value& entry) {
    const text::Value* uid = entry.find("uid");
    return uid == nullptr ? std::string_view() : uid->text();
  };
  const auto concerns = [&](const text::Value& entry) {
    return std::any_of(change.elements().begin(), change.elements().end(),
                       [&](const text::Value& other) { return uid_of(other) == uid_of(entry); });
  };
  std::vector<std::string> made;
  if (known != nullptr)
    for (const text::Value& entry : known->elements())
      if (!concerns(entry)) made.push_back(text::to_json(entry));
  for (const text::Value& entry : change.elements())
    if (entry.find("$patch") == nullptr) made.push_back(text::to_json(entry));
  return text::list_json(made, [](std::string& out, const std::string& entry) { out += entry; });
}

/// A strategic merge patch as a merge patch: lists of objects are merged by uid, everything else is as in RFC 7396.
std::string flattened(const text::Value* known, const text::Value& patch) {
  if (patch.is_sequence() && !patch.elements().empty() && patch.elements().front().is_mapping())
    return merged_list(known, patch);
  if (!patch.is_mapping()) return text::to_json(patch);
  text::JsonObject out;
  for (const text::Member& member : patch.members())
    out.json(member.key, flattened(known == nullptr ? nullptr : known->find(member.key), member.value));
  return out.done();
}

}  // namespace

std::string EmbeddedCluster::Store::store_object(model::Object object, std::string json) {
  object.json = std::move(json);
  const std::string key = object_key(object.resource, object.ns, object.name);
  replace_object(std::move(object));
  const model::ObjectPtr now = objects.find(key);
  control_volumes(*now);
  return objects.find(key)->json;
}

Result<std::string> EmbeddedCluster::Store::create_object(const ObjectWrite& write) {
  const JsonBody body(write.body, "object");
  if (!body.ok()) return invalid("the object is not JSON");
  model::Object made;
  made.resource = write.object.resource;
  made.ns = write.object.ns;
  made.name = write.object.name.empty() ? body.text("metadata.name") : write.object.name;
  const std::string prefix = body.text("metadata.generateName");
  if (made.name.empty() && prefix.empty()) return invalid("name or generateName is required");
  if (made.name.empty()) made.name = prefix + name_suffix(last_version + 1);
  if (objects.find(object_key(made.resource, made.ns, made.name)) != nullptr)
    return Error{fmt::format("{} \"{}\" already exists", qualified(write.object), made.name),
                 ErrorCode::already_exists};
  made.uid = make_uuid(last_version + 1);
  text::JsonObject metadata;
  metadata.text("name", made.name).text("uid", made.uid);
  if (!made.ns.empty()) metadata.text("namespace", made.ns);
  return store_object(std::move(made),
                      merged(write.body, text::JsonObject().json("metadata", metadata.done()).done(), "object"));
}

Result<std::string> EmbeddedCluster::Store::change_object(const ObjectWrite& write, const model::Object& before) {
  const JsonBody known(before.json, before.name);
  JsonBody body(write.body, "body");
  BERTH_CHECK(known.ok(), "{} is kept as JSON that does not parse", before.name);
  if (!body.ok()) return invalid("the body is not a JSON object");
  const auto differs = [&](std::string_view path, const std::string& now) {
    const std::string wanted = body.text(path);
    return !wanted.empty() && wanted != now;
  };
  if (differs("metadata.uid", before.uid))
    return conflict(write.object, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                                              body.text("metadata.uid"), before.uid));
  if (differs("metadata.resourceVersion", before.resource_version)) return modified(write.object);
  std::string wanted = write.body;
  if (write.verb == Verb::strategic_patch) wanted = flattened(&known.root(), body.root());
  if (write.verb != Verb::update) wanted = merged(before.json, wanted, before.name);
  const JsonBody whole(wanted, "body");
  const bool is_status = write.subresource == "status";
  std::string json = is_status ? with(before.json, "status", whole.json("status"), before.name)
                               : with(wanted, "status", known.json("status"), before.name);
  const JsonBody now(json, before.name);
  if (const text::Value* consumers = now.root().find_path("status.reservedFor");
      consumers != nullptr && consumers->elements().size() > k_consumers_max)
    return invalid(
        fmt::format("ResourceClaim.resource.k8s.io \"{}\" is invalid: status.reservedFor: Too many: {}: must "
                    "have at most {} items",
                    before.name, consumers->elements().size(), k_consumers_max));
  if (!now.text("metadata.deletionTimestamp").empty() && !now.has_elements("metadata.finalizers")) {
    const model::ObjectPtr gone = objects.remove(object_key(before.resource, before.ns, before.name));
    tell([gone](ClusterSink& to) { to.object_deleted(gone); });
    return json;
  }
  return store_object(before, std::move(json));
}

Result<std::string> EmbeddedCluster::Store::remove_object(const ObjectWrite& write, const model::Object& before) {
  if (!write.uid.empty() && write.uid != before.uid)
    return conflict(write.object, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                                              write.uid, before.uid));
  const JsonBody known(before.json, before.name);
  if (known.has_elements("metadata.finalizers"))
    return store_object(
        before, merged(before.json, R"({"metadata":{"deletionTimestamp":"1970-01-01T00:00:00Z"}})", before.name));
  const model::ObjectPtr gone = objects.remove(object_key(before.resource, before.ns, before.name));
  tell([gone](ClusterSink& to) { to.object_deleted(gone); });
  return std::string();
}

Result<std::string> EmbeddedCluster::Store::patch_pod_status(const ObjectWrite& write) {
  const std::string key = pod_key(write.object.ns, write.object.name);
  const model::PodPtr before = pods.find(key);
  if (before == nullptr) return not_found(write.object.name);
  const JsonBody body(write.body, "patch");
  if (!body.ok()) return invalid("the patch is not a JSON object");
  const std::string uid = body.text("metadata.uid");
  if (Status same = check_uid(*before, {before->ns, before->name, uid}, "pods"); !same.ok()) return same.error();
  PodStatusPatch patch;
  patch.merge_json = body.json("status");
  if (patch.merge_json.empty()) return std::string();
  Result<model::Pod> after = with_status(*before, patch, symbols);
  if (!after.ok()) return after.error();
  replace_pod(key, before, std::move(after).value());
  return std::string();
}

Result<std::string> EmbeddedCluster::Store::write_object(const ObjectWrite& write) {
  if (write.object.resource == "core/v1/pods") {
    if (write.subresource == "status" && (write.verb == Verb::merge_patch || write.verb == Verb::strategic_patch))
      return patch_pod_status(write);
    return invalid("of pods only the status can be patched here");
  }
  if (write.verb == Verb::create) return create_object(write);
  const model::ObjectPtr before = objects.find(object_key(write.object.resource, write.object.ns, write.object.name));
  if (before == nullptr) return missing(write.object);
  if (write.verb == Verb::read) return before->json;
  if (write.verb == Verb::remove) return remove_object(write, *before);
  return change_object(write, *before);
}

}  // namespace berth::cluster
