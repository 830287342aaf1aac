// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "text/value.hpp"

/// Whole objects as JSON, for those who ask for more than the model has. Internal to core/decode.
namespace berth::decode {

/// Metadata that a server adds; empty: nothing.
struct Additions {
  std::string_view uid;
  std::string_view ns;
  std::string_view namespace_label = {};  // kubernetes.io/metadata.name of a Namespace (SetDefaults_Namespace)
};

/// The object with what a server would have added.
std::string completed_json(const text::Value& object, const Additions& additions);
/// As given, but for metadata.managedFields: a third of many objects, and berth does not ask who wrote what.
std::string kept_json(const text::Value& object);
/// Either of the two as a part of a typed message: without apiVersion and kind.
std::string body_json(const text::Value& object, const Additions& additions);

}  // namespace berth::decode
