// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/utf8.hpp"
#include "text/builder.hpp"
#include "text/protobuf.hpp"

namespace berth::text {
namespace {

using Type = ProtobufField::Type;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Thrown and caught in this file, beside protozero's own.
struct Malformed {
  std::string message;
};

pbf_wire_type wire_type_of(Type type) noexcept {
  return type == Type::integer || type == Type::boolean ? pbf_wire_type::varint : pbf_wire_type::length_delimited;
}

/// RFC 3339 in UTC.
std::string_view write_time(std::int64_t seconds, std::array<char, 40>& out) {
  constexpr std::int64_t k_day_s = 86'400;
  // Years of four digits; what is beyond them is no time that a server wrote.
  if (seconds < -62'135'596'800 || seconds > 253'402'300'799) throw Malformed{"a time is out of range"};
  const std::int64_t day = (seconds >= 0 ? seconds : seconds - (k_day_s - 1)) / k_day_s;
  const std::int64_t of_day = seconds - day * k_day_s;
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  char* at = out.data();
  const auto digits = [&at](std::int64_t number, int count) {
    for (int i = count; i-- > 0; number /= 10) at[i] = static_cast<char>('0' + number % 10);
    at += count;
  };
  digits(static_cast<int>(date.year()), 4);
  *at++ = '-';
  digits(static_cast<unsigned>(date.month()), 2);
  *at++ = '-';
  digits(static_cast<unsigned>(date.day()), 2);
  *at++ = 'T';
  digits(of_day / 3600, 2);
  *at++ = ':';
  digits(of_day / 60 % 60, 2);
  *at++ = ':';
  digits(of_day % 60, 2);
  *at++ = 'Z';
  return {out.data(), static_cast<std::size_t>(at - out.data())};
}

/// Builds values bottom-up. What was read of the messages that are still open lies on one stack.
class ProtobufTree {
 public:
  explicit ProtobufTree(Builder& builder) : builder_(builder) {}

  Value message(std::string_view bytes, const ProtobufMessage& layout, int depth, std::string_view api_version = {},
                std::string_view kind = {}) {
    const std::size_t base = members_.size();
    if (!api_version.empty() || !kind.empty()) {
      push("apiVersion", Builder::scalar(Kind::string, {}, api_version));
      push("kind", Builder::scalar(Kind::string, {}, kind));
    }
    read_members(bytes, layout, depth);
    const Value out = builder_.mapping({}, std::span<const Member>(members_).subspan(base));
    members_.resize(base);
    return out;
  }

 private:
  /// Pushes the members of a message.
  void read_members(std::string_view bytes, const ProtobufMessage& layout, int depth) {
    if (depth >= k_max_depth) throw Malformed{"nested deeper than " + std::to_string(k_max_depth) + " levels"};
    const std::size_t base = pending_.size();
    bool in_order = true;
    pbf_reader reader(bytes.data(), bytes.size());
    std::size_t at = 0;  // fields come in the order of their numbers, most of the time
    while (reader.next()) {
      const std::uint32_t number = reader.tag();
      if (at >= layout.fields.size() || layout.fields[at].number > number) at = 0;
      while (at < layout.fields.size() && layout.fields[at].number < number) ++at;
      if (at == layout.fields.size() || layout.fields[at].number != number) {
        reader.skip();
        continue;
      }
      read_field(reader, layout, at, depth);
      const std::size_t size = pending_.size();
      in_order = in_order && (size < base + 2 || pending_[size - 2].field <= pending_[size - 1].field);
    }
    if (!in_order)
      std::stable_sort(pending_.begin() + static_cast<std::ptrdiff_t>(base), pending_.end(),
                       [](const Pending& a, const Pending& b) { return a.field < b.field; });
    gather(base, layout, depth);
    pending_.resize(base);
  }

  /// One occurrence of a field on the wire.
  void read_field(pbf_reader& reader, const ProtobufMessage& layout, std::size_t index, int depth) {
    const ProtobufField& field = layout.fields[index];
    const Type type = field.type;
    if (field.repeated && type == Type::integer && reader.wire_type() == pbf_wire_type::length_delimited) {
      for (const std::int64_t number : reader.get_packed_int64()) pending_.push_back({index, {}, integer(number)});
      return;
    }
    if (reader.wire_type() != (field.mapped ? pbf_wire_type::length_delimited : wire_type_of(type)))
      throw Malformed{layout.name + "." + field.name + " is of another kind"};
    if (field.mapped)
      read_entry(reader.get_message(), field, index, depth);
    else if (field.joins_parent)
      pending_.push_back({index, view(reader), {}});
    else if (std::optional<Value> value = read_value(reader, field, depth))
      pending_.push_back({index, {}, *value});
  }

  void read_entry(pbf_reader entry, const ProtobufField& field, std::size_t index, int depth) {
    std::string_view key;
    Value value = Builder::scalar(Kind::string, {}, {});
    while (entry.next()) {
      if (entry.tag() == 1 && entry.wire_type() == pbf_wire_type::length_delimited) {
        key = utf8(view(entry));
      } else if (entry.tag() == 2 && entry.wire_type() == wire_type_of(field.type)) {
        if (const std::optional<Value> given = read_value(entry, field, depth)) value = *given;
      } else {
        entry.skip();
      }
    }
    pending_.push_back({index, key, value});
  }

  /// Nothing: a zero that means nothing.
  std::optional<Value> read_value(pbf_reader& reader, const ProtobufField& field, int depth) {
    const bool keeps = field.keeps_zero || field.repeated || field.mapped;
    switch (field.type) {
      case Type::text: {
        const std::string_view text = utf8(view(reader));
        if (text.empty() && !keeps) return std::nullopt;
        return Builder::scalar(Kind::string, {}, text);
      }
      case Type::integer: {
        const std::int64_t number = reader.get_int64();
        if (number == 0 && !keeps) return std::nullopt;
        return integer(number);
      }
      case Type::boolean: {
        const bool boolean = reader.get_uint64() != 0;
        if (!boolean && !keeps) return std::nullopt;
        return Builder::scalar(Kind::boolean, {}, boolean ? "true" : "false");
      }
      case Type::message:
        return message(view(reader), *field.message, depth + 1);
      case Type::time:
        return time(reader.get_message());
      case Type::quantity:
        return quantity(reader.get_message());
      case Type::int_or_string:
        return int_or_string(reader.get_message());
      case Type::raw_json:
        return raw_json(reader.get_message(), depth);
    }
    return std::nullopt;
  }

  /// Turns what is pending above `base`, sorted by field, into members.
  void gather(std::size_t base, const ProtobufMessage& layout, int depth) {
    for (std::size_t i = base; i < pending_.size();) {
      const ProtobufField& field = layout.fields[pending_[i].field];
      std::size_t end = i + 1;
      while (end < pending_.size() && pending_[end].field == pending_[i].field) ++end;
      if (field.joins_parent) {
        read_members(pending_[end - 1].text, *field.message, depth + 1);
      } else if (field.mapped) {
        const std::size_t entries = members_.size();
        for (std::size_t k = i; k < end; ++k) push(pending_[k].text, pending_[k].value);
        const Value mapping = builder_.mapping({}, std::span<const Member>(members_).subspan(entries));
        members_.resize(entries);
        push(field.name, mapping);
      } else if (field.repeated) {
        elements_.clear();
        for (std::size_t k = i; k < end; ++k) elements_.push_back(pending_[k].value);
        push(field.name, builder_.sequence({}, elements_));
      } else {
        push(field.name, pending_[end - 1].value);
      }
      i = end;
    }
  }

  static std::string_view view(pbf_reader& reader) {
    const protozero::data_view data = reader.get_view();
    return {data.data(), data.size()};
  }
  static std::string_view utf8(std::string_view text) {
    if (find_invalid_utf8(text) != std::string_view::npos) throw Malformed{"a text is not UTF-8"};
    return text;
  }
  Value integer(std::int64_t number) {
    std::array<char, 24> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return Builder::scalar(Kind::number, {}, builder_.keep({digits.data(), end}));
  }
  std::optional<Value> time(pbf_reader reader) {
    std::int64_t seconds = 0, nanoseconds = 0;
    while (reader.next()) {
      const bool known = reader.tag() <= 2 && reader.wire_type() == pbf_wire_type::varint;
      if (!known)
        reader.skip();
      else
        (reader.tag() == 1 ? seconds : nanoseconds) = reader.get_int64();
    }
    if (seconds == 0 && nanoseconds == 0) return std::nullopt;
    std::array<char, 40> text;
    return Builder::scalar(Kind::string, {}, builder_.keep(write_time(seconds, text)));
  }
  static Value quantity(pbf_reader reader) {
    std::string_view text = "0";
    while (reader.next())
      if (reader.tag() == 1 && reader.wire_type() == pbf_wire_type::length_delimited)
        text = utf8(view(reader));
      else
        reader.skip();
    return Builder::scalar(Kind::string, {}, text);
  }
  Value int_or_string(pbf_reader reader) {
    std::int64_t which = 0, number = 0;
    std::string_view text;
    while (reader.next()) {
      const bool is_number = reader.wire_type() == pbf_wire_type::varint;
      if (is_number && reader.tag() <= 2)
        (reader.tag() == 1 ? which : number) = reader.get_int64();
      else if (reader.tag() == 3 && reader.wire_type() == pbf_wire_type::length_delimited)
        text = utf8(view(reader));
      else
        reader.skip();
    }
    return which == 0 ? integer(number) : Builder::scalar(Kind::string, {}, text);
  }
  std::optional<Value> raw_json(pbf_reader reader, int depth) {
    std::string_view json;
    while (reader.next())
      if (reader.tag() == 1 && reader.wire_type() == pbf_wire_type::length_delimited)
        json = view(reader);
      else
        reader.skip();
    if (json.empty()) return std::nullopt;
    Value out;
    const Fault fault = read_json(builder_, json, depth + 1, out);
    if (!fault.message.empty()) throw Malformed{fault.message};
    return out;
  }

  void push(std::string_view key, const Value& value) {
    Member member;
    member.key = key;
    member.value = value;
    members_.push_back(member);
  }

  struct Pending {
    std::size_t field;      // index in the layout
    std::string_view text;  // the key of an entry, the bytes of a message that joins its parent
    Value value;
  };
  Builder& builder_;
  std::vector<Pending> pending_;  // of all open messages
  std::vector<Member> members_;   // of all open mappings
  std::vector<Value> elements_;
};

}  // namespace

std::vector<Document> parse_protobuf(std::string_view bytes, const ProtobufMessage& layout,
                                     std::string_view api_version, std::string_view kind, std::string file,
                                     Problems& problems) {
  std::string why;
  try {
    Builder builder;
    const Value root = ProtobufTree(builder).message(bytes, layout, 0, api_version, kind);
    std::vector<Document> documents;
    documents.push_back(builder.finish(root, std::move(file)));
    return documents;
  } catch (const protozero::exception& broken) {
    why = broken.what();
  } catch (const Malformed& malformed) {
    why = malformed.message;
  }
  problems.add(file, {}, {}, "malformed protobuf: " + why);
  return {};
}

}  // namespace berth::text
