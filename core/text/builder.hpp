// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "text/value.hpp"

namespace berth::text {

struct Document::Arena {
  std::pmr::monotonic_buffer_resource memory{4096};
};

/// Makes the values of one Document. Internal to core/text: the parsers' only way to write a Value.
/// Scalars and containers are given in any order; a container copies the values that it is given.
class Builder {
 public:
  Builder() : arena_(std::make_unique<Document::Arena>()) {}

  /// The same text in the document's memory.
  std::string_view keep(std::string_view text);
  /// Requires: text was kept, or has static storage.
  static Value scalar(Kind kind, Position position, std::string_view text);
  Value sequence(Position position, std::span<const Value> elements);
  Value mapping(Position position, std::span<const Member> members);
  /// The same value seen from another place, as an alias is.
  static Value at(Value value, Position position) {
    value.position_ = position;
    return value;
  }
  /// The same mapping or sequence, which to_json() writes as it was written. Requires: source is its JSON, and was kept.
  static Value with_source(Value value, std::string_view source) {
    if (value.is_mapping() || value.is_sequence()) value.text_ = source;
    return value;
  }
  Document finish(Value root, std::string file);

 private:
  std::unique_ptr<Document::Arena> arena_;
};

/// True when `text` is a number by RFC 8259.
bool is_json_number(std::string_view text) noexcept;
/// Line and column of a byte offset.
Position position_at(std::string_view text, std::size_t offset) noexcept;

/// Parsers write their words here; parse() puts them into Diagnostics.
struct Fault {
  Position position;
  std::string message;
};
/// Where and why `text` is not one JSON value; slow, for texts that simdjson refused. Nothing: no fault was found.
std::optional<Fault> diagnose_json(std::string_view text);
/// One JSON value into a builder's memory, as if it stood `depth` levels deep. What is wrong with it, if anything is.
/// `cut`: not null: what is nested too deep reads as null, and this says so; else that is a fault.
std::optional<Fault> read_json(Builder& builder, std::string_view text, int depth, Value& out,
                               std::optional<Fault>* cut = nullptr);
/// The text with U+FFFD for bytes that are no UTF-8 and for escapes that are half a surrogate pair.
std::string as_go_reads_json(std::string_view text);

}  // namespace berth::text
