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

pbf_wire_type wire_type_of(Type type) noexcept {
  return type == Type::integer || type == Type::boolean ? pbf_wire_type::varint : pbf_wire_type::length_delimited;
}

/// RFC 3339 in UTC, of the years 0 to 9999; what is beyond them is their first or last second.
std::string_view write_time(std::int64_t seconds, std::array<char, 40>& out) {
  constexpr std::int64_t k_day_s = 86'400;
  seconds = std::clamp<std::int64_t>(seconds, -62'167'219'200, 253'402'300'799);
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
  /// The first things that were wrong, each once per place; what was read is good all the same.
  const std::vector<std::string>& faults() const noexcept { return faults_; }

 private:
  static constexpr std::size_t k_faults_max = 8;

  void note(std::string_view where, std::string_view what) {
    if (faults_.size() < k_faults_max) faults_.push_back(std::string(where) + ": " + std::string(what));
  }
  /// Calls take(reader) at each field. What follows one that cannot be read is left out.
  template <typename Take>
  void each_field(std::string_view bytes, std::string_view where, Take&& take) {
    try {
      pbf_reader reader(bytes.data(), bytes.size());
      while (reader.next()) take(reader);
    } catch (const protozero::exception& broken) {
      note(where, broken.what());
    }
  }

  /// Pushes the members of a message.
  void read_members(std::string_view bytes, const ProtobufMessage& layout, int depth) {
    if (depth >= k_max_depth) {
      note(layout.name, "nested deeper than " + std::to_string(k_max_depth) + " levels");
      return;
    }
    const std::size_t base = pending_.size();
    bool in_order = true;
    std::size_t at = 0;  // fields come in the order of their numbers, most of the time
    each_field(bytes, layout.name, [&](pbf_reader& reader) {
      const std::uint32_t number = reader.tag();
      if (at >= layout.fields.size() || layout.fields[at].number > number) at = 0;
      while (at < layout.fields.size() && layout.fields[at].number < number) ++at;
      if (at == layout.fields.size() || layout.fields[at].number != number) {
        reader.skip();
        return;
      }
      read_field(reader, layout, at, depth);
      const std::size_t size = pending_.size();
      in_order = in_order && (size < base + 2 || pending_[size - 2].field <= pending_[size - 1].field);
    });
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
    if (reader.wire_type() != (field.mapped ? pbf_wire_type::length_delimited : wire_type_of(type))) {
      note(layout.name + "." + field.name, "of another kind");
      reader.skip();
      return;
    }
    if (field.mapped)
      read_entry(view(reader), field, index, depth);
    else if (field.joins_parent)
      pending_.push_back({index, view(reader), {}});
    else if (std::optional<Value> value = read_value(reader, field, depth))
      pending_.push_back({index, {}, *value});
  }

  void read_entry(std::string_view bytes, const ProtobufField& field, std::size_t index, int depth) {
    std::string_view key;
    Value value = Builder::scalar(Kind::string, {}, {});
    each_field(bytes, field.name, [&](pbf_reader& entry) {
      if (entry.tag() == 1 && entry.wire_type() == pbf_wire_type::length_delimited) {
        key = text(view(entry));
      } else if (entry.tag() == 2 && entry.wire_type() == wire_type_of(field.type)) {
        if (const std::optional<Value> given = read_value(entry, field, depth)) value = *given;
      } else {
        entry.skip();
      }
    });
    pending_.push_back({index, key, value});
  }

  /// Nothing: a zero that means nothing.
  std::optional<Value> read_value(pbf_reader& reader, const ProtobufField& field, int depth) {
    const bool keeps = field.keeps_zero || field.repeated || field.mapped;
    switch (field.type) {
      case Type::text: {
        const std::string_view given = text(view(reader));
        if (given.empty() && !keeps) return std::nullopt;
        return Builder::scalar(Kind::string, {}, given);
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
        return message(view_or_rest(reader, field), *field.message, depth + 1);
      case Type::time:
        return time(view(reader));
      case Type::quantity:
        return quantity(view(reader));
      case Type::int_or_string:
        return int_or_string(view(reader));
      case Type::raw_json:
        return raw_json(view(reader), depth);
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
  /// A message that says to be longer than what is there: what is there.
  std::string_view view_or_rest(pbf_reader& reader, const ProtobufField& field) {
    try {
      return view(reader);
    } catch (const protozero::end_of_buffer_exception& broken) {
      note(field.name, broken.what());
      const protozero::data_view rest = reader.data();  // behind the length
      reader = pbf_reader();
      return {rest.data(), rest.size()};
    }
  }
  /// Go keeps bytes that are no UTF-8 as they are; in JSON, which plugins read, it replaces them.
  std::string_view text(std::string_view bytes) {
    return find_invalid_utf8(bytes) == std::string_view::npos ? bytes : builder_.keep(valid_utf8(bytes));
  }
  Value integer(std::int64_t number) {
    std::array<char, 24> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return Builder::scalar(Kind::number, {}, builder_.keep({digits.data(), end}));
  }
  std::optional<Value> time(std::string_view bytes) {
    std::int64_t seconds = 0, nanoseconds = 0;
    each_field(bytes, "time", [&](pbf_reader& reader) {
      const bool known = reader.tag() <= 2 && reader.wire_type() == pbf_wire_type::varint;
      if (!known)
        reader.skip();
      else
        (reader.tag() == 1 ? seconds : nanoseconds) = reader.get_int64();
    });
    if (seconds == 0 && nanoseconds == 0) return std::nullopt;
    std::array<char, 40> digits;
    return Builder::scalar(Kind::string, {}, builder_.keep(write_time(seconds, digits)));
  }
  Value quantity(std::string_view bytes) {
    std::string_view amount = "0";
    each_field(bytes, "quantity", [&](pbf_reader& reader) {
      if (reader.tag() == 1 && reader.wire_type() == pbf_wire_type::length_delimited)
        amount = text(view(reader));
      else
        reader.skip();
    });
    return Builder::scalar(Kind::string, {}, amount);
  }
  Value int_or_string(std::string_view bytes) {
    std::int64_t which = 0, number = 0;
    std::string_view word;
    each_field(bytes, "number or text", [&](pbf_reader& reader) {
      const bool is_number = reader.wire_type() == pbf_wire_type::varint;
      if (is_number && reader.tag() <= 2)
        (reader.tag() == 1 ? which : number) = reader.get_int64();
      else if (reader.tag() == 3 && reader.wire_type() == pbf_wire_type::length_delimited)
        word = text(view(reader));
      else
        reader.skip();
    });
    return which == 0 ? integer(number) : Builder::scalar(Kind::string, {}, word);
  }
  /// Nothing also for what is no JSON: no policy reads these parts, and Go does not look into them. Written again it is the same,
  /// to the byte: a server takes other spaces for a change, and refuses it where the field must not change.
  std::optional<Value> raw_json(std::string_view bytes, int depth) {
    std::string_view json;
    each_field(bytes, "JSON inside", [&](pbf_reader& reader) {
      if (reader.tag() == 1 && reader.wire_type() == pbf_wire_type::length_delimited)
        json = view(reader);
      else
        reader.skip();
    });
    if (json.empty()) return std::nullopt;
    Value out;
    if (!read_json(builder_, json, depth + 1, out)) return Builder::with_source(out, json);
    if (!read_json(builder_, as_go_reads_json(json), depth + 1, out)) return out;
    return std::nullopt;
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
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<Document> parse_protobuf(std::string_view bytes, const ProtobufMessage& layout,
                                     std::string_view api_version, std::string_view kind, std::string file,
                                     Diagnostics& diagnostics) {
  Builder builder;
  ProtobufTree tree(builder);
  const Value root = tree.message(bytes, layout, 0, api_version, kind);
  for (const std::string& fault : tree.faults()) diagnostics.add(file, {}, {}, "malformed protobuf: " + fault);
  std::vector<Document> documents;
  documents.push_back(builder.finish(root, std::move(file)));
  return documents;
}

}  // namespace berth::text
