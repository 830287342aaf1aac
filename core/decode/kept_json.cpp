// SPDX-License-Identifier: Apache-2.0
#include "decode/kept_json.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "text/json_object.hpp"
#include "text/last_of_name.hpp"

namespace berth::decode {
namespace {

using text::JsonObject;
using Names = std::initializer_list<std::string_view>;

/// The mapping without the named members; more may follow.
JsonObject copy_of(const text::Value* mapping, Names without) {
  JsonObject out;
  if (mapping == nullptr) return out;
  const text::LastOfName last(*mapping);
  for (const text::Member& member : mapping->members())
    if (last.is(member) && std::find(without.begin(), without.end(), member.key) == without.end())
      out.json(member.key, text::to_json(member.value));
  return out;
}

std::string with_metadata(const text::Value& object, Names without, JsonObject metadata) {
  return copy_of(&object, without).json("metadata", metadata.done()).done();
}

std::string completed(const text::Value& object, const Additions& additions, Names without) {
  const text::Value* labels = object.find_path("metadata.labels");
  JsonObject inner = copy_of(object.find("metadata"), {"uid", "namespace", "labels"});
  inner.text("uid", additions.uid);
  if (!additions.ns.empty()) inner.text("namespace", additions.ns);
  constexpr std::string_view k_namespace_label = "kubernetes.io/metadata.name";
  if (!additions.namespace_label.empty())
    inner.json("labels",
               copy_of(labels, {k_namespace_label}).text(k_namespace_label, additions.namespace_label).done());
  else if (labels != nullptr)
    inner.json("labels", text::to_json(*labels));
  return with_metadata(object, without, std::move(inner));
}

}  // namespace

std::string completed_json(const text::Value& object, const Additions& additions) {
  return additions.uid.empty() ? text::to_json(object) : completed(object, additions, {"metadata"});
}

std::string kept_json(const text::Value& object) {
  const text::Value* metadata = object.find("metadata");
  if (metadata == nullptr || metadata->find("managedFields") == nullptr) return text::to_json(object);
  return with_metadata(object, {"metadata"}, copy_of(metadata, {"managedFields"}));
}

std::string body_json(const text::Value& object, const Additions& additions) {
  const Names without = {"apiVersion", "kind", "metadata"};
  if (!additions.uid.empty()) return completed(object, additions, without);
  return with_metadata(object, without, copy_of(object.find("metadata"), {"managedFields"}));
}

}  // namespace berth::decode
