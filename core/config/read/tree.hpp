// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/value.hpp"

namespace berth::config {

struct TreeMember;

/// A configuration document while it is rewritten: text::Value is immutable, this is not. Every part keeps the position
/// of what it was made from, so that errors in the outcome point at the line in the file.
/// Threads: as a plain value.
struct Tree {
  text::Kind kind = text::Kind::null;
  text::Position position;
  std::string text;  // of scalars
  std::vector<TreeMember> members;
  std::vector<Tree> elements;
  std::vector<std::string> comments;  // printed above it

  static Tree copy_of(const text::Value& value);
  static Tree string(std::string_view text, text::Position position);
  static Tree number(std::int64_t number, text::Position position);
  static Tree boolean(bool value, text::Position position);
  static Tree mapping(text::Position position);
  static Tree sequence(text::Position position);

  bool is_mapping() const noexcept { return kind == text::Kind::mapping; }
  bool is_null() const noexcept { return kind == text::Kind::null; }
  bool is_true() const noexcept { return kind == text::Kind::boolean && text == "true"; }

  /// The last member of that name, or null.
  Tree* find(std::string_view key) noexcept;
  const Tree* find(std::string_view key) const noexcept;
  /// Removes a member and hands it over; nothing when there is none, or only a null.
  std::optional<Tree> take(std::string_view key);
  /// Replaces a member, or adds it at the end.
  Tree& put(std::string_view key, Tree value);
  /// The member, made when it is not there (or null): a mapping or a list at this position.
  Tree& mapping_at(std::string_view key);
  Tree& sequence_at(std::string_view key);
  /// Renames a member in its place. False when there is none.
  bool rename(std::string_view key, std::string_view to);
};

struct TreeMember {
  std::string key;
  text::Position key_position;
  Tree value;
};

/// The tree as a document, positions included. `file` is what it is called in messages.
text::Document to_document(const Tree& tree, std::string file);

/// As YAML in block form, comments on lines of their own above what they are about. Reads back as the same values.
std::string to_yaml(const Tree& tree);

}  // namespace berth::config
