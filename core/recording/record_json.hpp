// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/symbols.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// One line of JSON, without its end: {"at":"2026-01-31T08:30:00.000000001Z","kind":"attempt", …}. Members that are
/// empty, 0 or false are left out; what is one of a few is named, as "operator":"Exists". `symbols`: those of the
/// reader.
std::string json_line(const Record& record, const SymbolTable& symbols);

/// "2026-01-31T08:30:00.000000001Z"; the decimals that are 0 at the end are left out.
std::string moment_text(std::int64_t wall_ns);

}  // namespace berth::recording
