// SPDX-License-Identifier: Apache-2.0
#include "decode/object_decoder.hpp"

#include <algorithm>
#include <utility>

#include "decode/cursor.hpp"
#include "decode/kept_json.hpp"
#include "decode/node_decoder.hpp"
#include "decode/pod/pod_decoder.hpp"

namespace berth::decode {
namespace {

model::Object decode_object(const Cursor& object, std::string resource, bool fill, std::string_view api_version,
                            std::string_view kind) {
  model::Object out;
  const Cursor metadata = object.mapping("metadata");
  const Cursor name = metadata.child("name");
  const Cursor ns = metadata.child("namespace");
  const Cursor uid = metadata.child("uid");
  const Cursor version = metadata.child("resourceVersion");
  out.resource = std::move(resource);
  out.ns = ns.string_or({});
  out.name = name.string_or({});
  if (out.name.empty()) name.add_error("an object needs a name");
  out.uid = uid.string_or({});
  out.resource_version = version.string_or({});
  if (kind == "StorageClass") {
    const Cursor binding_mode = object.child("volumeBindingMode");
    out.waits_for_first_consumer = binding_mode.string_or({}) == "WaitForFirstConsumer";
  }
  if (!fill) {
    out.json = kept_json(object.value());
    return out;
  }
  if (out.ns.empty() && is_namespaced_kind(api_version, kind)) out.ns = "default";
  out.uid = Defaulting::make_uid(kind, out.ns, out.name);
  const bool is_namespace = api_version == "v1" && kind == "Namespace";
  out.json =
      completed_json(object.value(), {out.uid, out.ns, is_namespace ? std::string_view(out.name) : std::string_view{}});
  return out;
}

PackedText packed_body(const text::Value& object, const model::Pod& pod, bool fill) {
  if (!fill) return PackedText(body_json(object, {}));
  const std::string uid = pod.uid.text();
  return PackedText(body_json(object, {uid, pod.ns}));
}

}  // namespace

ObjectDecoder::ObjectDecoder(SymbolTable& symbols, DecodeOptions options)
    : symbols_(&symbols),
      options_(std::move(options)),
      needs_(std::move(options_.needs)),
      managed_(options_.managed_resources, symbols) {}
ObjectDecoder::~ObjectDecoder() = default;
ObjectDecoder::ObjectDecoder(ObjectDecoder&&) noexcept = default;

std::optional<Decoded> ObjectDecoder::decode(const text::Document& document, const text::Value& object,
                                             text::Diagnostics& diagnostics, const TypeHint& hint) const try {
  text::Diagnostics own;  // counted by itself: cursors tell no more than k_errors_max
  std::optional<Decoded> out = decode_kind(document, object, own, hint);
  diagnostics.add(own);
  return own.empty() ? std::move(out) : std::nullopt;
} catch (const SymbolTableFull& full) {
  diagnostics.add(document.file(), object.position(), {}, full.what(),
                  "fewer objects, or fewer different labels on them");
  return std::nullopt;
}

std::optional<Decoded> ObjectDecoder::decode_kind(const text::Document& document, const text::Value& object,
                                                  text::Diagnostics& diagnostics, const TypeHint& hint) const {
  const Cursor root(document, object, diagnostics);
  if (!object.is_mapping()) {
    diagnostics.add(document.file(), object.position(), {}, "must be a Kubernetes object",
                    "a mapping with apiVersion, kind and metadata");
    return std::nullopt;
  }
  const Cursor version_cursor = root.child("apiVersion");
  const Cursor kind_cursor = root.child("kind");
  // A wrong kind of value was reported by string_or() already.
  const auto required = [](const Cursor& cursor, std::string_view fallback, const char* words) {
    const std::string_view text = cursor.string_or(fallback);
    if (text.empty() && (!cursor.present() || cursor.value().is_string())) cursor.add_error(words);
    return text;
  };
  const std::string_view api_version = required(version_cursor, hint.api_version, "an object needs apiVersion");
  const std::string_view kind = required(kind_cursor, hint.kind, "an object needs kind");
  if (!diagnostics.empty()) return std::nullopt;

  const bool fill = options_.defaulting != nullptr && Defaulting::applies(object);
  std::optional<Decoded> out;
  SymbolCollection symbols_of_object(*symbols_);
  if (api_version == "v1" && kind == "Pod") {
    auto pod = std::make_shared<model::Pod>(
        decode_pod(root, fill ? options_.defaulting.get() : nullptr, options_.pod_parts, options_.gates, *symbols_));
    if (!needs_.empty()) pod->spec.edit().unsupported = needs_.of(object);
    if (!managed_.empty()) pod->spec.edit().managed_resources = managed_.named_by(object);
    pod->symbols = symbols_of_object.take(pod->node_name);
    sharing_->share(*pod);
    if (options_.keeps_pod_body && options_.keeps_pod_body(*pod)) pod->body = packed_body(object, *pod, fill);
    out = model::PodPtr(std::move(pod));
  } else if (api_version == "v1" && kind == "Node") {
    auto node = std::make_shared<model::Node>(decode_node(root, fill, options_.node_annotations, *symbols_));
    node->symbols = symbols_of_object.take();
    if (options_.keep_node_bodies)
      node->body = PackedText(body_json(object, fill ? Additions{node->uid, {}} : Additions{}));
    out = model::NodePtr(std::move(node));
  } else {
    std::string resource = resource_of(api_version, kind);
    const bool watched =
        std::find(options_.watched.begin(), options_.watched.end(), resource) != options_.watched.end();
    if (!watched && !is_known_kind(api_version, kind)) {
      if (options_.on_unknown_kind) options_.on_unknown_kind(api_version, kind);
      return std::nullopt;
    }
    out = model::ObjectPtr(
        std::make_shared<model::Object>(decode_object(root, std::move(resource), fill, api_version, kind)));
  }
  return out;
}

ObjectIdentity identity_of(const text::Value& object, bool is_pod) {
  ObjectIdentity out{std::string(object.text_at("metadata.namespace")), std::string(object.text_at("metadata.name")),
                     std::string(object.text_at("metadata.uid"))};
  if (is_pod && out.ns.empty()) out.ns = "default";
  if (is_pod && out.name.size() > k_name_bytes_max) out.name.resize(k_name_bytes_max);
  return out;
}

Remains ObjectDecoder::remains_of(const text::Document& document, const text::Value& object, bool is_pod,
                                  bool is_whole) const try {
  Remains out;
  out.identity = identity_of(object, is_pod);
  if (!is_pod) return out;
  text::Diagnostics ignored;
  const Cursor root(document, object, ignored);
  const text::Value* const spec = object.find("spec");
  const text::Value* const node = object.find_path("spec.nodeName");
  const bool has_spec = spec != nullptr && spec->is_mapping();
  if (node != nullptr && node->is_string()) out.node = node->text();
  const bool says_no_node = has_spec && (node == nullptr || node->is_null() || (node->is_string() && out.node.empty()));
  out.may_be_bound = !(is_whole && says_no_node);
  if (out.node.empty() || out.identity.name.empty()) return out;
  SymbolCollection symbols_of_pod(*symbols_);
  auto pod = std::make_shared<model::Pod>(decode_pod(root, nullptr, options_.pod_parts, options_.gates, *symbols_));
  pod->symbols = symbols_of_pod.take(pod->node_name);
  if (pod->uid.empty()) pod->uid = Defaulting::make_uid("Pod", pod->ns.get(), pod->name);
  sharing_->share(*pod);
  out.pod = std::move(pod);
  text::Diagnostics amounts;
  const Cursor charged(document, object, amounts);
  decode_charge(charged, options_.gates, *symbols_);
  out.is_charge_known = is_whole && amounts.empty();
  return out;
} catch (const SymbolTableFull&) {
  Remains out;  // what cannot be charged closes its node
  out.identity = identity_of(object, is_pod);
  if (is_pod) out.node = object.text_at("spec.nodeName");
  out.may_be_bound = is_pod;
  return out;
}

}  // namespace berth::decode
