// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/symbols.hpp"
#include "decode/decode_options.hpp"
#include "decode/field_need.hpp"
#include "decode/pod/defaulting.hpp"
#include "decode/pod/managed_resources.hpp"
#include "decode/pod/pod_sharing.hpp"
#include "decode/remains.hpp"
#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"
#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::decode {

using Decoded = std::variant<model::PodPtr, model::NodePtr, model::ObjectPtr>;

struct DecodeOptions {
  /// Fields that only a plugin which berth does not have could honour; fills PodSpec::unsupported.
  std::vector<model::FieldNeed> needs = {};
  /// Resources beyond the known kinds that plugins watch, as "example.com/v1/widgets"; their objects are decoded
  /// too.
  std::vector<std::string> watched = {};
  /// Fills PodSpec::managed_resources: extended resources that extenders manage.
  std::vector<std::string> managed_resources = {};
  /// Which pods keep Pod::body: the object as given, with the uid and namespace that were filled in, without other
  /// defaults. Null: none. Asked with everything else decoded. Any thread.
  std::function<bool(const model::Pod& pod)> keeps_pod_body = nullptr;
  bool keep_node_bodies = false;
  /// Keys of the node annotations that plugins read; the others are left out of Node::annotations. None: all are kept.
  std::optional<std::vector<std::string>> node_annotations = std::nullopt;
  KeptParts pod_parts = {};
  FieldGates gates = {};
  /// Fills in what an API server would have; null: objects are taken as they are.
  std::shared_ptr<const Defaulting> defaulting = nullptr;
  /// Told of every object whose kind is not decoded; it is skipped without a problem.
  std::function<void(std::string_view api_version, std::string_view kind)> on_unknown_kind = nullptr;
};

/// What an object is when it does not say so itself, as the items of a PodList need not.
struct TypeHint {
  std::string_view api_version = {};
  std::string_view kind = {};
};

/// Turns an API object, from a file or from a server, into the value that scheduling works on.
///
/// Ownership: what it returns owns everything; document and value may go.
/// Threads:   any, concurrently; symbols and what pods share synchronise themselves, on_unknown_kind is called on the
///            caller's thread.
/// Failure:   adds problems with file, line, column and path, all of an object's at once, and returns nothing. Fields
///            that it does not know are ignored, as are words that upstream's scheduler lives with (operators, effects,
///            actions).
/// Source:    kubernetes v1.36 staging/src/k8s.io/api (core/v1, apps/v1, ...), and where a field is judged, the file
///            that judges it: see requests.hpp, selector_decoder.hpp, defaulting.hpp.
class ObjectDecoder {
 public:
  explicit ObjectDecoder(SymbolTable& symbols, DecodeOptions options = {});
  ~ObjectDecoder();
  ObjectDecoder(ObjectDecoder&&) noexcept;

  /// `object` is one object, never a List. Nothing without a problem: a kind that is not decoded.
  std::optional<Decoded> decode(const text::Document& document, const text::Value& object,
                                text::Diagnostics& diagnostics, const TypeHint& hint = {}) const;
  /// What can be read of an object that decode() refused. `is_whole`: nothing of it was lost before, by a parser.
  Remains remains_of(const text::Document& document, const text::Value& object, bool is_pod, bool is_whole) const;
  /// What is kept of pods so that others can share it.
  std::size_t sharing_bytes() const { return sharing_->bytes(); }

 private:
  std::optional<Decoded> decode_kind(const text::Document& document, const text::Value& object,
                                     text::Diagnostics& diagnostics, const TypeHint& hint) const;

  SymbolTable* symbols_;
  DecodeOptions options_;
  FieldNeeds needs_;
  ManagedResources managed_;
  std::unique_ptr<PodSharing> sharing_ = std::make_unique<PodSharing>();
};

/// "core/v1/pods" for ("v1", "Pod"), "apps/v1/replicasets" for ("apps/v1", "ReplicaSet"): kubectl's guess at the
/// plural.
std::string resource_of(std::string_view api_version, std::string_view kind);
/// True for the kinds that scheduling knows, whatever their version. Source: lifecycle of kube-scheduler's informers.
bool is_known_kind(std::string_view api_version, std::string_view kind) noexcept;
/// True for the known kinds whose objects live in a namespace.
bool is_namespaced_kind(std::string_view api_version, std::string_view kind) noexcept;

}  // namespace berth::decode
