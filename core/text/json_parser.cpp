// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "base/utf8.hpp"
#include "text/builder.hpp"
#include "text/parse.hpp"

namespace berth::text {
namespace {

namespace od = simdjson::ondemand;

/// Walks simdjson's on-demand view once, in document order, and copies it into a Builder. On-demand rather than the
/// DOM, because only it still knows where in the text a value stood.
class JsonTree {
 public:
  JsonTree(Builder& builder, const char* text, std::optional<Fault>* cut)
      : builder_(builder), cursor_(text), line_start_(text), cut_(cut) {}

  /// False when the text is malformed or too deep; `error_` then holds what diagnose_json() cannot see.
  bool value(od::value in, int depth, Value& out) {
    const std::string_view token = in.raw_json_token();
    const Position position = position_of(token.data());
    od::json_type type;
    if (in.type().get(type) != simdjson::SUCCESS) return false;
    switch (type) {
      case od::json_type::object:
      case od::json_type::array:
        if (depth >= k_max_depth) return too_deep(position, out);
        return type == od::json_type::object ? object(in, depth, position, out) : array(in, depth, position, out);
      case od::json_type::string: {
        std::string_view text;
        if (in.get_string().get(text) != simdjson::SUCCESS) return false;
        out = Builder::scalar(Kind::string, position, builder_.keep(text));
        return true;
      }
      case od::json_type::boolean: {
        bool boolean = false;
        if (in.get_bool().get(boolean) != simdjson::SUCCESS) return false;
        out = Builder::scalar(Kind::boolean, position, boolean ? "true" : "false");
        return true;
      }
      case od::json_type::null: {
        // is_null() answers false for "nul"; the kind came from the first letter only.
        bool null = false;
        if (in.is_null().get(null) != simdjson::SUCCESS || !null) return false;
        out = Builder::scalar(Kind::null, position, {});
        return true;
      }
      case od::json_type::number:
        return number(token, position, out);
    }
    return false;
  }

  bool number(std::string_view token, Position position, Value& out) {
    const std::size_t last = token.find_last_not_of(" \t\r\n");
    token = token.substr(0, last == std::string_view::npos ? 0 : last + 1);
    if (!is_json_number(token)) return false;
    out = Builder::scalar(Kind::number, position, builder_.keep(token));
    return true;
  }

  const std::string& error() const noexcept { return error_; }
  Position last() const noexcept { return last_; }

  /// Offsets come in rising order, so lines are counted along the way.
  Position position_of(const char* at) noexcept {
    while (const void* newline = std::memchr(cursor_, '\n', static_cast<std::size_t>(at - cursor_))) {
      ++line_;
      cursor_ = line_start_ = static_cast<const char*>(newline) + 1;
    }
    cursor_ = at;
    last_ = {line_, static_cast<std::uint32_t>(at - line_start_) + 1};
    return last_;
  }

 private:
  /// What is passed over need not be well-formed: on-demand parsing looks at brackets only.
  bool too_deep(Position position, Value& out) {
    error_ = "nested deeper than " + std::to_string(k_max_depth) + " levels";
    if (cut_ == nullptr) return false;
    if (!*cut_) *cut_ = Fault{position, error_};
    error_.clear();
    out = Builder::scalar(Kind::null, position, {});
    return true;
  }

  bool object(od::value in, int depth, Position position, Value& out) {
    od::object object;
    if (in.get_object().get(object) != simdjson::SUCCESS) return false;
    const std::size_t base = members_.size();
    for (auto result : object) {
      od::field field;
      if (std::move(result).get(field) != simdjson::SUCCESS) return false;
      Member member;
      member.key_position = position_of(field.key().raw() - 1);
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      member.key = builder_.keep(key);
      if (!value(field.value(), depth + 1, member.value)) return false;
      members_.push_back(member);
    }
    out = builder_.mapping(position, std::span<const Member>(members_).subspan(base));
    members_.resize(base);
    return true;
  }

  bool array(od::value in, int depth, Position position, Value& out) {
    od::array array;
    if (in.get_array().get(array) != simdjson::SUCCESS) return false;
    const std::size_t base = elements_.size();
    for (auto result : array) {
      od::value element;
      if (std::move(result).get(element) != simdjson::SUCCESS) return false;
      Value copy;
      if (!value(element, depth + 1, copy)) return false;
      elements_.push_back(copy);
    }
    out = builder_.sequence(position, std::span<const Value>(elements_).subspan(base));
    elements_.resize(base);
    return true;
  }

  Builder& builder_;
  const char* cursor_;
  const char* line_start_;
  std::uint32_t line_ = 1;
  Position last_{1, 1};
  std::string error_;
  std::optional<Fault>* const cut_;
  std::vector<Member> members_;  // of all open objects
  std::vector<Value> elements_;  // of all open arrays
};

bool read_scalar_root(od::document& document, JsonTree& tree, Builder& builder, Value& out) {
  std::string_view token;
  if (document.raw_json_token().get(token) != simdjson::SUCCESS) return false;
  const Position position = tree.position_of(token.data());
  od::json_type type;
  if (document.type().get(type) != simdjson::SUCCESS) return false;
  if (type == od::json_type::number) return tree.number(token, position, out);
  if (type == od::json_type::string) {
    std::string_view text;
    if (document.get_string().get(text) != simdjson::SUCCESS) return false;
    out = Builder::scalar(Kind::string, position, builder.keep(text));
    return true;
  }
  if (type == od::json_type::boolean) {
    bool boolean = false;
    if (document.get_bool().get(boolean) != simdjson::SUCCESS) return false;
    out = Builder::scalar(Kind::boolean, position, boolean ? "true" : "false");
    return true;
  }
  out = Builder::scalar(Kind::null, position, {});
  bool null = false;
  return document.is_null().get(null) == simdjson::SUCCESS && null;
}

bool read_root(std::string_view text, od::document& document, JsonTree& tree, Builder& builder, int depth, Value& out) {
  bool scalar = false;
  if (document.is_scalar().get(scalar) != simdjson::SUCCESS) return false;
  if (scalar) return read_scalar_root(document, tree, builder, out) && !diagnose_json(text);
  od::value root;
  if (document.get_value().get(root) != simdjson::SUCCESS || !tree.value(root, depth, out)) return false;
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;  // nothing may follow
}

}  // namespace

std::optional<Fault> read_json(Builder& builder, std::string_view text, int depth, Value& out,
                               std::optional<Fault>* cut) {
  if (text.size() >= simdjson::SIMDJSON_MAXSIZE_BYTES) return Fault{{}, "larger than 4 GiB"};
  const simdjson::padded_string padded(text);
  od::parser parser;
  od::document document;
  JsonTree tree(builder, padded.data(), cut);
  const simdjson::error_code error = parser.iterate(padded).get(document);
  if (error == simdjson::SUCCESS && read_root(text, document, tree, builder, depth, out)) return std::nullopt;
  if (!tree.error().empty()) return Fault{tree.last(), tree.error()};
  std::optional<Fault> fault = diagnose_json(text);
  if (!fault) fault = Fault{tree.last(), simdjson::error_message(error)};
  fault->message.insert(0, "malformed JSON: ");
  return fault;
}

std::vector<Document> parse_json(std::string_view text, std::string file, Diagnostics& diagnostics) {
  Builder builder;
  Value root;
  if (const std::optional<Fault> fault = read_json(builder, text, 0, root)) {
    diagnostics.add(file, fault->position, {}, fault->message);
    return {};
  }
  std::vector<Document> documents;
  documents.push_back(builder.finish(root, std::move(file)));
  return documents;
}

namespace {

/// The UTF-16 unit of an escape "\\uXXXX" at `at`; nothing else there: 0.
unsigned escaped_unit(std::string_view text, std::size_t at) {
  unsigned unit = 0;
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
  const char* const digits = text.data() + at + 2;
  const auto [end, error] = std::from_chars(digits, digits + 4, unit, 16);
  return error == std::errc{} && end == digits + 4 ? unit : 0;
}

}  // namespace

std::string as_go_reads_json(std::string_view text) {
  const std::string sound = valid_utf8(text);
  std::string out;
  out.reserve(sound.size());
  std::size_t plain = 0;  // start of what was not yet copied
  for (std::size_t i = sound.find('\\'); i != std::string::npos; i = sound.find('\\', i)) {
    const unsigned unit = escaped_unit(sound, i);
    if (unit < 0xd800 || unit > 0xdfff) {
      i += 2;  // the backslash and what it escapes
      continue;
    }
    const unsigned next = escaped_unit(sound, i + 6);
    if (unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
      i += 12;
      continue;
    }
    out.append(sound, plain, i - plain).append("\\ufffd");
    plain = i += 6;
  }
  return out.append(sound, plain);
}

std::vector<Document> parse_go_json(std::string_view text, std::string file, Diagnostics& diagnostics) {
  std::optional<Fault> cut, fault;
  const auto read = [&](std::string_view given) {
    Builder builder;
    Value root;
    cut.reset();
    fault = read_json(builder, given, 0, root, &cut);
    std::vector<Document> documents;
    if (!fault) documents.push_back(builder.finish(root, file));
    return documents;
  };
  std::vector<Document> documents = read(text);
  if (fault) {
    const std::string repaired = as_go_reads_json(text);
    if (repaired != text) documents = read(repaired);
  }
  // Of a text that was not read the fault, of another what was left out of it.
  if (const std::optional<Fault>& said = fault ? fault : cut) diagnostics.add(file, said->position, {}, said->message);
  return documents;
}

}  // namespace berth::text
