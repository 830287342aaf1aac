// SPDX-License-Identifier: Apache-2.0
#include "decode/kept_json.hpp"

#include <algorithm>
#include <initializer_list>

#include "text/parse.hpp"

namespace berth::decode {
namespace {

using Names = std::initializer_list<std::string_view>;

void append_member(std::string& out, std::string_view key, std::string_view json) {
  if (out.back() != '{') out += ',';
  text::append_json_string(out, key);
  out.append(":").append(json);
}

std::string string_json(std::string_view text) {
  std::string out;
  text::append_json_string(out, text);
  return out;
}

/// The mapping as JSON without the named members, open at its end.
std::string open_json(const text::Value* mapping, Names without) {
  std::string out = "{";
  if (mapping == nullptr) return out;
  for (const text::Member& member : mapping->members())
    if (mapping->find(member.key) == &member.value &&
        std::find(without.begin(), without.end(), member.key) == without.end())
      append_member(out, member.key, text::to_json(member.value));
  return out;
}

std::string with_metadata(const text::Value& object, Names without, const std::string& open_metadata) {
  std::string out = open_json(&object, without);
  append_member(out, "metadata", open_metadata + "}");
  return out + "}";
}

std::string completed(const text::Value& object, const Additions& additions, Names without) {
  const text::Value* labels = object.find_path("metadata.labels");
  std::string inner = open_json(object.find("metadata"), {"uid", "namespace", "labels"});
  append_member(inner, "uid", string_json(additions.uid));
  if (!additions.ns.empty()) append_member(inner, "namespace", string_json(additions.ns));
  if (!additions.namespace_label.empty()) {
    std::string all = open_json(labels, {"kubernetes.io/metadata.name"});
    append_member(all, "kubernetes.io/metadata.name", string_json(additions.namespace_label));
    append_member(inner, "labels", all + "}");
  } else if (labels != nullptr) {
    append_member(inner, "labels", text::to_json(*labels));
  }
  return with_metadata(object, without, inner);
}

}  // namespace

std::string completed_json(const text::Value& object, const Additions& additions) {
  return additions.uid.empty() ? text::to_json(object) : completed(object, additions, {"metadata"});
}

std::string kept_json(const text::Value& object) {
  const text::Value* metadata = object.find("metadata");
  if (metadata == nullptr || metadata->find("managedFields") == nullptr) return text::to_json(object);
  return with_metadata(object, {"metadata"}, open_json(metadata, {"managedFields"}));
}

std::string body_json(const text::Value& object, const Additions& additions) {
  const Names without = {"apiVersion", "kind", "metadata"};
  if (!additions.uid.empty()) return completed(object, additions, without);
  return with_metadata(object, without, open_json(object.find("metadata"), {"managedFields"}));
}

}  // namespace berth::decode
