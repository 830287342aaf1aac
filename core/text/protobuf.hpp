// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::text {

struct ProtobufMessage;

/// What one field of a message is called in JSON, and how it is written there.
struct ProtobufField {
  enum class Type : std::uint8_t {
    text,
    integer,
    boolean,
    message,
    time,           // {1: seconds, 2: nanoseconds} as RFC 3339, without fraction
    quantity,       // {1: text}
    int_or_string,  // {1: which, 2: integer, 3: text}
    raw_json        // {1: JSON}
  };
  std::string name;
  std::uint32_t number = 0;
  Type type = Type::text;
  bool repeated = false;
  bool mapped = false;        // repeated {1: key, 2: value}
  bool keeps_zero = false;    // zero and "" are values; elsewhere they are written but mean nothing
  bool joins_parent = false;  // its members stand among those of the message around it
  const ProtobufMessage* message = nullptr;
};

/// Fields in the order of their numbers.
struct ProtobufMessage {
  std::string name;
  std::vector<ProtobufField> fields;
};

/// Reads a message as the JSON that it stands for (protozero), so that readers of JSON read it as well.
///
/// `api_version` and `kind` become the first members; empty: neither does. Fields that `layout` does not have are left
/// out, so are zeros that mean nothing. Positions are unknown. Bytes that are no UTF-8 read as U+FFFD, times beyond the
/// years 0 to 9999 as their first or last second.
/// Lifetime: the document refers to `bytes`, `layout` and both names; all of them outlive it.
/// Failure:  malformed bytes and messages in one another deeper than k_max_depth are problems and left out; there is
///           always a document of the rest.
std::vector<Document> parse_protobuf(std::string_view bytes, const ProtobufMessage& layout,
                                     std::string_view api_version, std::string_view kind, std::string file,
                                     Diagnostics& diagnostics);

}  // namespace berth::text
