// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// Payloads of one segment as records, in their order.
///
/// Bounds:  it remembers what an Encoder remembers at most, and words that come again take
///          Encoder::copied_bytes_max() of the segment so far; the rest of a record grows with its bytes: nothing is
///          taken on trust of a length or count. Record::bytes says what became of it.
/// Failure: a payload that no encoder writes; the rest of the segment cannot be read then.
/// Threads: one. The symbols of what it returns are interned for the life of the table, which outlives it.
class Decoder {
 public:
  explicit Decoder(SymbolTable& symbols);
  ~Decoder();
  Result<Record> decode(std::string_view payload, std::int64_t segment_began_ns);

 private:
  struct Tables;
  SymbolTable& symbols_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace berth::recording
