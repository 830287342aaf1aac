// SPDX-License-Identifier: Apache-2.0
/// The addedAffinity of NodeAffinityArgs: node affinity that the operator adds to every pod of a profile.
///
/// Read once, strictly: a term that a pod could carry as "never matches" stops the start here.
/// Source: kubernetes v1.36 component-helpers/scheduling/corev1/nodeaffinity, apimachinery/pkg/labels (NewRequirement).
#pragma once
#include <berth/plugin.hpp>

#include <deque>
#include <vector>

namespace node_affinity {

/// What JSON Schema can say about the args; the rest is checked by the constructor.
inline constexpr char k_args_schema[] = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "addedAffinity": {
      "description": "Node affinity added to that of every pod of the profile; both must match.",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
          "type": "object",
          "additionalProperties": false,
          "properties": {"nodeSelectorTerms": {"type": "array", "items": {"$ref": "#/$defs/term"}}}
        },
        "preferredDuringSchedulingIgnoredDuringExecution": {
          "type": "array",
          "items": {
            "type": "object",
            "additionalProperties": false,
            "properties": {"weight": {"type": "integer", "format": "int32"}, "preference": {"$ref": "#/$defs/term"}}
          }
        }
      }
    }
  },
  "$defs": {
    "term": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "matchExpressions": {"type": "array", "items": {"$ref": "#/$defs/requirement"}},
        "matchFields": {"type": "array", "items": {"$ref": "#/$defs/requirement"}}
      }
    },
    "requirement": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "key": {"type": "string"},
        "operator": {"type": "string"},
        "values": {"type": "array", "items": {"type": "string"}}
      }
    }
  }
})";

/// Terms over memory of their own. Immutable after construction.
class AddedAffinity {
 public:
  /// Throws BadArgs with upstream's sentence.
  AddedAffinity(const berth::Json& args, berth::Intern intern);
  AddedAffinity(AddedAffinity&&) = default;

  bool has_required() const noexcept { return has_required_; }
  bool has_preferred() const noexcept { return has_preferred_; }
  std::span<const berth::NodeTerm> required() const noexcept { return required_; }
  std::span<const berth::NodeTerm> preferred() const noexcept { return preferred_; }

 private:
  /// Appends to `errors` what is wrong with the term. nullopt for a term without expressions and fields.
  std::optional<berth::NodeTerm> read_term(const berth::Json& json, const std::string& path, berth::Intern intern,
                                           std::vector<std::string>& errors);
  std::span<const berth::Requirement> read_requirements(const berth::Json& json, const std::string& path, bool fields,
                                                        berth::Intern intern, std::vector<std::string>& errors);

  bool has_required_ = false;
  bool has_preferred_ = false;
  std::vector<berth::NodeTerm> required_;
  std::vector<berth::NodeTerm> preferred_;
  // What the terms point into. Deques of vectors: growing moves no element.
  std::deque<std::vector<berth::Requirement>> requirements_;
  std::deque<std::vector<berth::Id>> values_;
};

}  // namespace node_affinity
