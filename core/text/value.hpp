// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Structured text with positions. The only folder that sees yaml-cpp and simdjson; everything that berth reads from a
/// file, a pipe or the API passes through a text::Value.
namespace berth::text {

/// 1-based; 0 means unknown.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // in bytes
  friend bool operator==(const Position&, const Position&) = default;
};

enum class Kind : std::uint8_t { null, boolean, number, string, sequence, mapping };
/// As messages say it: "a string", "a list", "an object".
std::string_view kind_name(Kind kind) noexcept;

struct Member;

/// Deepest nesting that is read; anything deeper is a problem.
inline constexpr int k_max_depth = 100;

/// One node of a parsed document. Owned by its Document; all views live as long as it.
/// Immutable, so reading it from several threads is fine.
/// YAML plain scalars are resolved by the rules that Kubernetes' YAML→JSON conversion uses: null/~/empty, true/false,
/// numbers; quoted scalars are strings, and so are the words of YAML 1.1 (yes, no, on, off).
class Value {
 public:
  Kind kind() const noexcept { return kind_; }
  Position position() const noexcept { return position_; }
  bool is_null() const noexcept { return kind_ == Kind::null; }
  bool is_mapping() const noexcept { return kind_ == Kind::mapping; }
  bool is_sequence() const noexcept { return kind_ == Kind::sequence; }
  bool is_string() const noexcept { return kind_ == Kind::string; }
  bool is_number() const noexcept { return kind_ == Kind::number; }
  bool is_boolean() const noexcept { return kind_ == Kind::boolean; }

  /// The scalar as text: unescaped for strings, as written for numbers, "true"/"false" for booleans; empty otherwise.
  std::string_view text() const noexcept { return text_; }
  bool boolean() const noexcept { return kind_ == Kind::boolean && text_ == "true"; }
  /// A number that is an integer in int64 range (an exponent or ".0" is accepted when exact).
  std::optional<std::int64_t> integer() const noexcept;
  std::optional<double> real() const noexcept;

  /// Elements of a sequence; empty for other kinds.
  std::span<const Value> elements() const noexcept;
  /// Members of a mapping in document order, duplicates included; empty for other kinds.
  std::span<const Member> members() const noexcept;
  /// The last member of that name, or null. Members whose value is null are found.
  const Value* find(std::string_view key) const noexcept;
  /// Like find(), and descends: find_path("spec.selector"). Keys with dots cannot be named.
  const Value* find_path(std::string_view path) const noexcept;
  /// The string at that path; empty when there is none, or something else.
  std::string_view text_at(std::string_view path) const noexcept;

 private:
  friend class Builder;
  Kind kind_ = Kind::null;
  Position position_;
  std::uint32_t count_ = 0;
  std::string_view text_;
  const void* children_ = nullptr;
};

struct Member {
  std::string_view key;
  Position key_position;
  Value value;
};

inline std::span<const Value> Value::elements() const noexcept {
  if (kind_ != Kind::sequence) return {};
  return {static_cast<const Value*>(children_), count_};
}

inline std::span<const Member> Value::members() const noexcept {
  if (kind_ != Kind::mapping) return {};
  return {static_cast<const Member*>(children_), count_};
}

inline const Value* Value::find(std::string_view key) const noexcept {
  const std::span<const Member> all = members();
  for (std::size_t i = all.size(); i-- > 0;)
    if (all[i].key == key) return &all[i].value;
  return nullptr;
}

/// A parsed text and the memory of its values. Movable; values keep their addresses.
class Document {
 public:
  Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();
  /// A null value in a default-constructed document.
  const Value& root() const noexcept { return *root_; }
  /// As given to the parser: a path, or "-" for standard input.
  const std::string& file() const noexcept { return file_; }

 private:
  friend class Builder;
  struct Arena;
  std::unique_ptr<Arena> arena_;
  const Value* root_ = nullptr;
  std::string file_;
};

}  // namespace berth::text
