// SPDX-License-Identifier: Apache-2.0
/// Functions of strings (cel-go ext/strings, version 2). Positions count code points.
#include <algorithm>
#include <string>

#include "library/functions.hpp"
#include "values/utf8.hpp"

namespace berth::cel {
namespace {

constexpr std::int64_t k_all = -1;

std::string_view text_of(const Call& call, std::size_t i = 0) { return call.args[i].text(); }

/// Where the code point number `index` begins; npos beyond the end. The end itself has a number.
std::size_t byte_at(std::string_view text, std::int64_t index) {
  std::size_t at = 0;
  for (; index > 0; --index) {
    if (at >= text.size()) return std::string_view::npos;
    std::uint32_t code = 0;
    at += next_code_point(text.substr(at), code);
  }
  return at;
}

Value out_of_range(const Call& call, std::int64_t index) {
  return call.error("index out of range: " + std::to_string(index));
}

bool is_position(std::string_view text, std::int64_t index) {
  return index >= 0 && byte_at(text, index) != std::string_view::npos;
}

/// Looking for a text takes, at worst, the product of both lengths, and for a short one a look at every byte. False: it must not
/// be done.
bool charge_search(const Call& call) {
  return call.work.take(call.args[0].size + std::uint64_t{call.args[0].size} * call.args[1].size / 128);
}

Value contains(const Call& call) {
  if (!charge_search(call)) return of_error(k_no_memory);
  return of_bool(text_of(call).find(text_of(call, 1)) != std::string_view::npos);
}
Value starts_with(const Call& call) {
  return of_bool(text_of(call).substr(0, text_of(call, 1).size()) == text_of(call, 1));
}
Value ends_with(const Call& call) {
  const std::string_view text = text_of(call), end = text_of(call, 1);
  return of_bool(text.size() >= end.size() && text.substr(text.size() - end.size()) == end);
}

Value char_at(const Call& call) {
  const std::string_view text = text_of(call);
  const std::int64_t index = call.args[1].integer;
  call.work.take(text.size() / 4);  // the cost does not count them
  if (!is_position(text, index)) return out_of_range(call, index);
  const std::size_t at = byte_at(text, index);
  std::uint32_t code = 0;
  return of_text(at == text.size() ? std::string_view() : text.substr(at, next_code_point(text.substr(at), code)));
}

/// `from` in code points.
Value index_from(const Call& call, std::int64_t from) {
  if (!charge_search(call)) return of_error(k_no_memory);
  const std::string_view text = text_of(call), wanted = text_of(call, 1);
  if (wanted.empty()) return of_int(from);
  const std::size_t start = byte_at(text, from);
  if (from < 0 || start == std::string_view::npos) return out_of_range(call, from);
  const std::size_t found = text.find(wanted, start);
  if (found == std::string_view::npos) return of_int(-1);
  return of_int(static_cast<std::int64_t>(code_points(text.substr(0, found))));
}
Value index_of(const Call& call) { return index_from(call, 0); }
Value index_of_from(const Call& call) {
  const std::int64_t from = call.args[2].integer;
  return from < 0 ? out_of_range(call, from) : index_from(call, from);
}

Value last_index_from(const Call& call, std::int64_t from) {
  if (!charge_search(call)) return of_error(k_no_memory);
  const std::string_view text = text_of(call), wanted = text_of(call, 1);
  if (wanted.empty()) return of_int(from);
  const std::size_t start = byte_at(text, from);
  if (from < 0 || start == std::string_view::npos) return out_of_range(call, from);
  const std::size_t found = text.rfind(wanted, start);
  if (found == std::string_view::npos) return of_int(-1);
  return of_int(static_cast<std::int64_t>(code_points(text.substr(0, found))));
}
Value last_index_of(const Call& call) {
  return last_index_from(call, static_cast<std::int64_t>(code_points(text_of(call))));
}
Value last_index_of_from(const Call& call) {
  const std::int64_t from = call.args[2].integer;
  return from < 0 ? out_of_range(call, from) : last_index_from(call, from);
}

template <char first, char last>
Value change_case(const Call& call) {
  std::string text(text_of(call));
  for (char& c : text)
    if (c >= first && c <= last) c = static_cast<char>(c ^ 0x20);
  return call.text(text);
}

bool is_space(std::uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

Value trim(const Call& call) {
  std::string_view text = text_of(call);
  std::size_t end = 0;
  bool started = false;
  std::size_t start = text.size();
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const std::size_t size = next_code_point(text.substr(at), code);
    if (!is_space(code)) {
      if (!started) start = at;
      started = true;
      end = at + size;
    }
    at += size;
  }
  return of_text(started ? text.substr(start, end - start) : std::string_view());
}

Value replace_up_to(const Call& call, std::int64_t limit) {
  if (!charge_search(call)) return of_error(k_no_memory);
  const std::string_view text = text_of(call), from = text_of(call, 1), to = text_of(call, 2);
  std::string result;
  std::size_t at = 0;
  while (limit != 0) {
    std::size_t found = text.find(from, at);
    if (from.empty()) {
      // Before each code point and at the end.
      if (!result.empty() || at != 0) {
        std::uint32_t code = 0;
        if (at >= text.size()) break;
        const std::size_t size = next_code_point(text.substr(at), code);
        result.append(text.substr(at, size));
        at += size;
      }
      found = at;
      result.append(to);
      --limit;
      if (to.empty() && at == 0) break;  // nothing would ever change
    } else {
      if (found == std::string_view::npos) break;
      result.append(text.substr(at, found - at)).append(to);
      at = found + from.size();
      --limit;
    }
    if (result.size() > 64u * 1024 * 1024) break;  // more than the arena holds
    if (!call.work.take(1 + to.size() / 32)) return of_error(k_no_memory);
  }
  result.append(text.substr(std::min(at, text.size())));
  return call.text(result);
}
Value replace_all(const Call& call) { return replace_up_to(call, k_all); }
Value replace_some(const Call& call) { return replace_up_to(call, call.args[3].integer); }

Value split_up_to(const Call& call, std::int64_t limit) {
  if (!charge_search(call)) return of_error(k_no_memory);
  const std::string_view text = text_of(call), separator = text_of(call, 1);
  std::vector<Value> parts;
  std::size_t at = 0;
  if (limit != 0 && !(separator.empty() && text.empty())) {
    for (;;) {
      const bool last = limit > 0 && static_cast<std::int64_t>(parts.size()) + 1 == limit;
      std::uint32_t code = 0;
      std::size_t end = std::string_view::npos;
      if (separator.empty())
        end = at + next_code_point(text.substr(at), code);
      else
        end = text.find(separator, at);
      if (last || end == std::string_view::npos || (separator.empty() && end >= text.size())) break;
      parts.push_back(of_text(text.substr(at, end - at)));
      if (!call.work.take(1)) return of_error(k_no_memory);
      at = end + separator.size();
    }
    parts.push_back(of_text(text.substr(at)));
  }
  return call.list_of(parts);
}
Value split_all(const Call& call) { return split_up_to(call, k_all); }
Value split_some(const Call& call) { return split_up_to(call, call.args[2].integer); }

Value substring(const Call& call, std::int64_t start, std::int64_t end) {
  const std::string_view text = text_of(call);
  if (start > end)
    return call.error("invalid substring range. start: " + std::to_string(start) + ", end: " + std::to_string(end));
  if (!is_position(text, start)) return out_of_range(call, start);
  if (!is_position(text, end)) return out_of_range(call, end);
  const std::size_t from = byte_at(text, start);
  return of_text(text.substr(from, byte_at(text, end) - from));
}
Value substring_to_end(const Call& call) {
  const auto end = static_cast<std::int64_t>(code_points(text_of(call)));
  const std::int64_t start = call.args[1].integer;
  return start < 0 || start > end ? out_of_range(call, start) : substring(call, start, end);
}
Value substring_between(const Call& call) { return substring(call, call.args[1].integer, call.args[2].integer); }

Value join_with(const Call& call, std::string_view separator) {
  std::string joined;
  for (std::uint32_t i = 0; i < call.args[0].size; ++i) {
    const Value& item = call.args[0].items[i];
    if (!item.is(Kind::string)) return of_error(k_no_such_overload);
    if (i != 0) joined.append(separator);
    joined.append(item.text());
    if (joined.size() > 64u * 1024 * 1024) break;
    // Those that are no texts may come last: what was put together until then is not charged otherwise.
    if (!call.work.take(1 + (item.size + separator.size()) / 32)) return of_error(k_no_memory);
  }
  return call.text(joined);
}
Value join_plain(const Call& call) { return join_with(call, {}); }
Value join_separated(const Call& call) { return join_with(call, text_of(call, 1)); }

Value quote(const Call& call) {
  std::string quoted = "\"";
  for (const char c : text_of(call)) {
    static constexpr std::string_view k_plain = "\a\b\f\n\r\t\v\\\"";
    static constexpr std::string_view k_letters = "abfnrtv\\\"";
    const std::size_t found = k_plain.find(c);
    if (found == std::string_view::npos)
      quoted += c;
    else
      quoted.append(1, '\\').append(1, k_letters[found]);
  }
  return call.text(quoted + '"');
}

Value format(const Call& call) { return format_text(text_of(call), call.args[1], call); }

constexpr FunctionRow k_text_rows[] = {
    {"contains", "string.(string) -> bool", CostRule::contains, contains},
    {"startsWith", "string.(string) -> bool", k_traversal, starts_with},
    {"endsWith", "string.(string) -> bool", k_traversal, ends_with},
    {"charAt", "string.(int) -> string", k_one, char_at},
    {"indexOf", "string.(string) -> int", CostRule::tree_traversal, index_of},
    {"indexOf", "string.(string, int) -> int", CostRule::tree_traversal, index_of_from},
    {"lastIndexOf", "string.(string) -> int", CostRule::tree_traversal, last_index_of},
    {"lastIndexOf", "string.(string, int) -> int", CostRule::tree_traversal, last_index_of_from},
    {"lowerAscii", "string.() -> string", k_traversal, change_case<'A', 'Z'>},
    {"upperAscii", "string.() -> string", k_traversal, change_case<'a', 'z'>},
    {"trim", "string.() -> string", k_traversal, trim},
    {"replace", "string.(string, string) -> string", CostRule::two_traversals, replace_all},
    {"replace", "string.(string, string, int) -> string", CostRule::two_traversals, replace_some},
    {"split", "string.(string) -> list(string)", CostRule::two_traversals, split_all},
    {"split", "string.(string, int) -> list(string)", CostRule::two_traversals, split_some},
    {"substring", "string.(int) -> string", k_traversal, substring_to_end},
    {"substring", "string.(int, int) -> string", k_traversal, substring_between},
    {"join", "list(string).() -> string", CostRule::result_twice, join_plain},
    {"join", "list(string).(string) -> string", CostRule::result_twice, join_separated},
    {"format", "string.(list(dyn)) -> string", k_traversal, format},
    {"strings.quote", "(string) -> string", k_traversal, quote},
};

}  // namespace

std::span<const FunctionRow> text_functions() { return k_text_rows; }

}  // namespace berth::cel
