// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "text/protobuf.hpp"

/// How API objects are laid out in protobuf: data in core/decode/wire, made by scripts/lib/protobuf_schema.py from the
/// Go types of kubernetes v1.36 (staging/src/k8s.io/api), held against a real API server by the contract suite.
///
///   @storage/v1 storage.k8s.io/v1                    a package, and the apiVersion of its kinds
///   CSIDriver metadata=1:meta/v1.ObjectMeta …        a message: JSON name = number : type; indented lines go on
///
/// Types: s text, i integer, b boolean, Time, Quantity, IntOrString, Raw (JSON inside), or a message, of another
/// package by its full name. Before the type: [] a list, {} a mapping, * zero is a value. The name ^ stands for no
/// name: the members join those around. metadata.managedFields is left out on purpose: berth does not read it.
namespace berth::decode {

/// An object of an API server as protobuf.
struct WireLayout {
  std::string_view api_version, kind;
  const text::ProtobufMessage* message = nullptr;  // lives as long as the program
};

/// The layout of a kind, or of what "core/v1/pods" holds. No message: berth reads it as JSON only.
/// Threads: any.
WireLayout wire_layout(std::string_view api_version, std::string_view kind);
WireLayout wire_layout_of(std::string_view resource);

}  // namespace berth::decode
