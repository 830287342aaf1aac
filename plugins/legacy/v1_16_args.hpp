// SPDX-License-Identifier: Apache-2.0
/// What the identities and args of these policies have in common.
#pragma once
#include <berth/arg_problems.hpp>
#include <berth/json.hpp>
#include <berth/offers.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace berth::legacy {

inline constexpr std::uint32_t k_static_deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC;
inline constexpr std::uint32_t k_usage_deps = k_static_deps | BERTH_DEP_NODE_USAGE;

/// All of them have one version, because they change no more.
constexpr Identity identity_of(const char* name, const char* summary, std::uint32_t deps) {
  return {.name = name, .version = "1.0.0", .summary = summary, .deps = deps};
}

// Pieces of JSON schemas. A member list ends with the two that every component of a configuration may carry.
#define BERTH_LEGACY_ARGS(members)                        \
  R"({"type": "object", "additionalProperties": false, )" \
  R"("properties": {)" members R"("apiVersion": {"type": "string"}, "kind": {"type": "string"}}})"
#define BERTH_LEGACY_MAX_SCORE                                                 \
  R"("maxNodeScore": {"type": "integer", "enum": [10, 100], "default": 100, )" \
  R"("description": "The highest score: 10 as until v1.16, 100 as from v1.17 on."}, )"
#define BERTH_LEGACY_NAMES(name, text)                                               \
  R"(")" name R"(": {"type": "array", "items": {"type": "string"}, "default": [], )" \
  R"("description": ")" text R"("}, )"

inline constexpr char k_no_args[] = BERTH_LEGACY_ARGS("");
inline constexpr char k_score_args[] = BERTH_LEGACY_ARGS(BERTH_LEGACY_MAX_SCORE);

/// The highest score. Throws BadArgs.
inline std::int64_t read_max_score(const Json& args) {
  const std::int64_t most = args["maxNodeScore"].integer_or("maxNodeScore", 100);
  if (most != 10 && most != 100) {
    ArgProblems problems;
    problems.invalid("maxNodeScore", std::to_string(most), "must be 10 or 100");
    problems.end();
  }
  return most;
}

inline std::vector<std::string> read_names(const Json& args, const std::string& member) {
  std::vector<std::string> names;
  for (const Json& item : args[member].array(member))
    names.push_back(item.string(ArgProblems::at(member, names.size())));
  return names;
}

/// `label`: a key that has to be given. Throws BadArgs.
inline std::string read_label(const Json& args) {
  std::string label = args["label"].string_or("label", "");
  ArgProblems problems;
  if (label.empty()) problems.required("label", "a label must be specified");
  problems.end();
  return label;
}

/// As read_names, where an empty list means that it was forgotten.
inline std::vector<std::string> read_some_names(const Json& args, const std::string& member) {
  std::vector<std::string> names = read_names(args, member);
  if (names.empty()) {
    ArgProblems problems;
    problems.required(member, "at least one label must be specified");
    problems.end();
  }
  return names;
}

}  // namespace berth::legacy
