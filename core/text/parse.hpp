// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::text {

/// Parses YAML with any number of documents; empty documents are left out. Anchors, aliases and merge keys are
/// resolved; alias expansion is bounded (1,000,000 values) so that a small file cannot become a large one. Duplicate
/// keys are kept in Value::members(); use report_duplicates() where they are errors. On malformed text adds problems
/// and returns what was parsed before.
std::vector<Document> parse_yaml(std::string_view text, std::string file, Diagnostics& diagnostics);

/// Parses one JSON value (simdjson). Positions are exact. On malformed text adds a problem and returns nothing.
std::vector<Document> parse_json(std::string_view text, std::string file, Diagnostics& diagnostics);

/// Parses one JSON value that a server sent, as Go's decoder takes it: bytes that are no UTF-8, and halves of surrogate
/// pairs, read as U+FFFD. What is nested deeper than k_max_depth reads as null and is a problem: the rest is returned.
/// Anything else that is malformed is a problem, and nothing is returned.
std::vector<Document> parse_go_json(std::string_view text, std::string file, Diagnostics& diagnostics);

/// JSON when the first non-space character is '{' or '[', YAML otherwise.
std::vector<Document> parse(std::string_view text, std::string file, Diagnostics& diagnostics);

/// Adds a problem for each key that stands twice in one mapping, anywhere below `value`.
void report_duplicates(const Document& document, const Value& value, Diagnostics& diagnostics);

/// Compact JSON of a value: keys in document order, numbers as written where JSON allows, last duplicate wins.
std::string to_json(const Value& value);
/// The JSON of `target` after a JSON merge patch (RFC 7396): mappings are merged, null removes, anything else replaces.
/// A null pointer is a target that is not there.
std::string merge_json(const Value* target, const Value& patch);
/// Appends a JSON string literal. Bytes that are no UTF-8 become U+FFFD, as in Go.
void append_json_string(std::string& out, std::string_view text);

}  // namespace berth::text
