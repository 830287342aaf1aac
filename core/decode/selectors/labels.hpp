// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/symbols.hpp"
#include "decode/cursor.hpp"
#include "model/quantity.hpp"
#include "model/selectors.hpp"

/// Values that several kinds of objects have. Internal to core/decode.
namespace berth::decode {

/// A mapping of strings to strings; a null value is an empty string, as in Go.
model::Labels decode_labels(const Cursor& mapping, SymbolTable& symbols);
/// A string or a number; anything else, and a malformed one, is a problem and reads as 0.
model::Quantity decode_quantity(const Cursor& cursor);
/// RFC 3339 to nanoseconds since the epoch; 0 when absent.
std::int64_t decode_time_ns(const Cursor& cursor);
std::optional<std::int64_t> parse_time_ns(std::string_view text) noexcept;
/// The value of a label, or 0.
Symbol find_label(const model::Labels& labels, Symbol key) noexcept;
/// The symbol of a string that may be absent; k_empty_symbol then.
Symbol intern_or_empty(const Cursor& cursor, SymbolTable& symbols);

}  // namespace berth::decode
