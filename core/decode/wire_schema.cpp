// SPDX-License-Identifier: Apache-2.0
#include "decode/wire_schema.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "decode/object_decoder.hpp"
#include "decode/wire_data.hpp"

namespace berth::decode {
namespace {

using Type = text::ProtobufField::Type;

std::string_view take_word(std::string_view& text) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = std::min(text.find(' ', start), text.size());
  const std::string_view word = text.substr(start, end - start);
  text.remove_prefix(end);
  return word;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// All packages, read once. The data is ours: what is wrong with it is a defect.
class Schemas {
 public:
  Schemas() {
    for (const std::string_view package : wire_packages()) read(package);
    for (const Reference& reference : references_) {
      const auto found = messages_.find(reference.to);
      BERTH_CHECK(found != messages_.end(), "the wire schema has no {}", reference.to);
      reference.from->fields[reference.field].message = found->second.get();
    }
  }

  WireLayout find(std::string_view api_version, std::string_view kind) const {
    for (const Package& package : packages_) {
      if (package.api_version != api_version) continue;
      const auto found = messages_.find(package.name + "." + std::string(kind));
      if (found != messages_.end()) return {package.api_version, found->second->name, found->second.get()};
    }
    return {};
  }

  WireLayout find_resource(std::string_view resource) const {
    for (const Package& package : packages_)
      for (const auto& [name, message] : messages_)
        if (name == package.name + "." + message->name && is_known_kind(package.api_version, message->name) &&
            resource_of(package.api_version, message->name) == resource)
          return {package.api_version, message->name, message.get()};
    return {};
  }

 private:
  struct Package {
    std::string name, api_version;
  };
  struct Reference {
    text::ProtobufMessage* from;
    std::size_t field;
    std::string to;
  };

  void read(std::string_view text) {
    std::string package;
    text::ProtobufMessage* message = nullptr;
    for (std::size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
      end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.empty() || line.front() == '#') continue;
      if (take(line, "@")) {
        package = take_word(line);
        packages_.push_back({package, std::string(take_word(line))});
        continue;
      }
      if (line.front() != ' ') {
        const std::string name(take_word(line));
        auto& slot = messages_[package + "." + name];
        slot = std::make_unique<text::ProtobufMessage>();
        slot->name = name;
        message = slot.get();
      }
      for (std::string_view word = take_word(line); !word.empty(); word = take_word(line))
        read_field(word, package, *message);
    }
  }

  void read_field(std::string_view word, const std::string& package, text::ProtobufMessage& message) {
    const std::size_t equals = word.find('='), colon = word.find(':');
    BERTH_CHECK(equals < colon && colon < word.size(), "the wire schema has a field {}", word);
    text::ProtobufField field;
    field.name = word.substr(0, equals);
    field.joins_parent = field.name == "^";
    std::from_chars(word.data() + equals + 1, word.data() + colon, field.number);
    std::string_view type = word.substr(colon + 1);
    field.keeps_zero = take(type, "*");
    field.repeated = take(type, "[]");
    field.mapped = take(type, "{}");
    BERTH_CHECK(field.number > 0 && (message.fields.empty() || message.fields.back().number < field.number),
                "the wire schema has {}.{} out of order", message.name, word);
    static const std::map<std::string_view, Type> k_types = {
        {"s", Type::text},      {"i", Type::integer},         {"b", Type::boolean},
        {"Time", Type::time},   {"Quantity", Type::quantity}, {"IntOrString", Type::int_or_string},
        {"Raw", Type::raw_json}};
    const auto known = k_types.find(type);
    field.type = known == k_types.end() ? Type::message : known->second;
    if (field.type == Type::message) {
      const bool full = type.find('/') != std::string_view::npos;
      references_.push_back(
          {&message, message.fields.size(), full ? std::string(type) : package + "." + std::string(type)});
    }
    message.fields.push_back(std::move(field));
  }

  std::vector<Package> packages_;
  std::map<std::string, std::unique_ptr<text::ProtobufMessage>> messages_;  // by "core/v1.Pod"
  std::vector<Reference> references_;
};

const Schemas& schemas() {
  static const Schemas k_schemas;
  return k_schemas;
}

}  // namespace

WireLayout wire_layout(std::string_view api_version, std::string_view kind) {
  return schemas().find(api_version, kind);
}

WireLayout wire_layout_of(std::string_view resource) { return schemas().find_resource(resource); }

}  // namespace berth::decode
