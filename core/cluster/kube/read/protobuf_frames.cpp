// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/protobuf_frames.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "cluster/kube/read/list_splitter.hpp"

namespace berth::cluster::kube {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Calls take(number, bytes) with each field that has a length; others are passed over.
template <typename Take>
Status each_field(std::string_view message, Take&& take) {
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.wire_type() != pbf_wire_type::length_delimited) {
        reader.skip();
        continue;
      }
      const std::uint32_t number = reader.tag();  // gone once the value is read, in builds with assertions
      const protozero::data_view bytes = reader.get_view();
      take(number, std::string_view(bytes.data(), bytes.size()));
    }
  } catch (const protozero::exception& broken) {
    return Error{std::string("the answer is not protobuf: ") + broken.what()};
  }
  return Unit{};
}

Status read_type_meta(std::string_view message, std::string_view& api_version, std::string_view& kind) {
  return each_field(message, [&](std::uint32_t number, std::string_view bytes) {
    if (number == 1) api_version = bytes;
    if (number == 2) kind = bytes;
  });
}

/// Where a field's bytes are. Nothing: more has to come first.
struct Header {
  std::uint32_t number = 0;
  pbf_wire_type type = pbf_wire_type::unknown;
  std::size_t size = 0;      // of tag and length
  std::uint64_t length = 0;  // of what follows
};

struct Varint {
  std::uint64_t value = 0;
  std::size_t size = 0;  // 0: it has not come whole
};
std::optional<Varint> read_varint(std::string_view bytes) {
  const std::size_t most = std::min<std::size_t>(bytes.size(), protozero::max_varint_length);
  const auto last = std::find_if(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(most),
                                 [](char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; });
  const auto size = static_cast<std::size_t>(last - bytes.begin());
  if (size == most) return most == protozero::max_varint_length ? std::nullopt : std::optional(Varint());
  const char* at = bytes.data();
  return Varint{protozero::decode_varint(&at, bytes.data() + size + 1), size + 1};
}

/// Only fields with a length, and numbers: nothing else stands around items. No value: bytes that are no field.
std::optional<Header> read_header(std::string_view bytes) {
  const std::optional<Varint> tag = read_varint(bytes);
  if (!tag) return std::nullopt;
  if (tag->size == 0) return Header();
  Header out{static_cast<std::uint32_t>(tag->value >> 3), static_cast<pbf_wire_type>(tag->value & 7), tag->size, 0};
  if (out.number == 0) return std::nullopt;
  const std::optional<Varint> next = read_varint(bytes.substr(tag->size));
  if (!next) return std::nullopt;
  if (next->size == 0) return Header();
  out.size += next->size;
  if (out.type == pbf_wire_type::varint) return out;
  if (out.type != pbf_wire_type::length_delimited) return std::nullopt;
  out.length = next->value;
  return out;
}

}  // namespace

Result<ProtobufObject> read_protobuf_object(std::string_view bytes) {
  if (!bytes.starts_with(k_protobuf_magic)) return Error{"the answer does not start with the protobuf prefix"};
  ProtobufObject out;
  Status inner = Unit{};
  const Status outer =
      each_field(bytes.substr(k_protobuf_magic.size()), [&](std::uint32_t number, std::string_view field) {
        if (number == 1 && inner.ok()) inner = read_type_meta(field, out.api_version, out.kind);
        if (number == 2) out.message = field;
      });
  if (!outer.ok()) return outer.error();
  if (!inner.ok()) return inner.error();
  return out;
}

Result<ProtobufEvent> read_protobuf_event(std::string_view frame) {
  ProtobufEvent out;
  Status inner = Unit{};
  const Status outer = each_field(frame, [&](std::uint32_t number, std::string_view field) {
    if (number == 1) out.type = field;
    if (number != 2 || !inner.ok()) return;
    inner = each_field(field, [&](std::uint32_t raw, std::string_view object) {
      if (raw == 1) out.object = object;
    });
  });
  if (!outer.ok()) return outer.error();
  if (!inner.ok()) return inner.error();
  if (out.type.empty() || out.object.empty()) return Error{"a frame of the watch has no event"};
  return out;
}

Status ProtobufListSplitter::field(std::uint32_t number, std::string_view payload) {
  if (!has_list_ || list_left_ == 0) {  // around the list
    if (number != 1) return Unit{};
    std::string_view api_version, kind;
    const Status status = read_type_meta(payload, api_version, kind);
    api_version_ = api_version;
    kind_ = kind;
    return status;
  }
  if (number == 1) metadata_ = payload;
  if (number == 2) on_item_(payload);
  return Unit{};
}

/// Takes one step's bytes off the front; false: more has to come, or nothing more will be taken.
bool ProtobufListSplitter::take(std::string_view& bytes) {
  if (!has_magic_) {
    const std::string_view start = bytes.substr(0, k_protobuf_magic.size());
    is_broken_ = !k_protobuf_magic.starts_with(start);
    if (is_broken_ || start.size() < k_protobuf_magic.size()) return false;
    has_magic_ = true;
    bytes.remove_prefix(start.size());
    return true;
  }
  const std::optional<Header> header = read_header(bytes);
  is_broken_ = !header;
  if (is_broken_ || header->size == 0) return false;
  const bool in_list = list_left_ > 0;
  const std::uint64_t whole = header->size + header->length;
  if (in_list && (header->length > list_left_ || whole > list_left_)) {
    is_broken_ = true;
    return false;
  }
  if (!in_list && header->number == 2 && header->type == pbf_wire_type::length_delimited) {
    is_broken_ = has_list_;  // there is one
    has_list_ = true;
    list_left_ = header->length;
    bytes.remove_prefix(header->size);
    return !is_broken_;
  }
  is_too_large_ = is_broken_ = header->length > k_object_bytes_max;
  if (is_broken_ || bytes.size() - header->size < header->length) return false;
  if (header->type == pbf_wire_type::length_delimited)
    is_broken_ = !field(header->number, bytes.substr(header->size, header->length)).ok();
  if (in_list) list_left_ -= whole;
  bytes.remove_prefix(static_cast<std::size_t>(whole));
  return !is_broken_;
}

Status ProtobufListSplitter::add(std::string_view piece) {
  if (is_broken_) return Error{"the list was broken before"};
  std::string_view bytes = piece;
  if (!rest_.empty()) {
    rest_.append(piece);
    bytes = rest_;
  }
  while (!bytes.empty() && take(bytes)) {
  }
  if (is_broken_) rest_ = {};
  if (is_too_large_) return Error{fmt::format("an object of the list has more than {} bytes", k_object_bytes_max)};
  if (is_broken_) return Error{"the list is not protobuf"};
  if (rest_.empty())
    rest_ = bytes;
  else
    rest_.erase(0, rest_.size() - bytes.size());
  return Unit{};
}

Status FrameSplitter::add(std::string_view piece) {
  if (is_broken_) return Error{"the watch was broken before"};
  constexpr std::size_t k_head = 4;
  std::string_view bytes = piece;
  if (!rest_.empty()) {
    rest_.append(piece);
    bytes = rest_;
  }
  while (bytes.size() >= k_head) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < k_head; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
    if (size > k_object_bytes_max) {
      is_broken_ = true;
      rest_ = {};
      return Error{fmt::format("an event of the watch has {} bytes; up to {} are read", size, k_object_bytes_max)};
    }
    if (bytes.size() - k_head < size) break;
    on_frame_(bytes.substr(k_head, size));
    bytes.remove_prefix(k_head + size);
  }
  if (rest_.empty())
    rest_ = bytes;
  else
    rest_.erase(0, rest_.size() - bytes.size());
  return Unit{};
}

}  // namespace berth::cluster::kube
