// SPDX-License-Identifier: Apache-2.0
#include "values/url.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "library/functions.hpp"
#include "syntax/characters.hpp"

namespace berth::cel {
namespace {

constexpr auto k_npos = std::string_view::npos;

bool is_escape(std::string_view text, std::size_t at) {
  return at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 && hex_digit(text[at + 2]) >= 0;
}

/// Every `%` begins an escape, every other character is a letter, a digit, not ASCII or in `others`.
bool is_made_of(std::string_view text, std::string_view others, bool escapes) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%' && escapes) {
      if (!is_escape(text, i)) return false;
    } else if (!is_letter(c) && !is_digit(c) && static_cast<unsigned char>(c) < 0x80 && others.find(c) == k_npos) {
      return false;
    }
  }
  return true;
}

bool parse_host(std::string_view authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  if (at != k_npos) {
    if (!is_made_of(authority.substr(0, at), "-._:~!$&'()*+,;=%@", true)) return false;
    authority.remove_prefix(at + 1);
  }
  url.host = url.hostname = authority;
  std::string_view port;
  if (!authority.empty() && authority[0] == '[') {
    const std::size_t close = authority.rfind(']');
    if (close == k_npos) return false;
    url.hostname = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else if (const std::size_t colon = authority.rfind(':'); colon != k_npos) {
    url.hostname = authority.substr(0, colon);
    port = authority.substr(colon);
    if (url.hostname.find(':') != k_npos) return false;
  }
  if (!port.empty() && port[0] != ':') return false;
  for (const char c : port.substr(port.empty() ? 0 : 1))
    if (!is_digit(c)) return false;
  if (!port.empty()) url.port = port.substr(1);
  return is_made_of(authority, "-._~!$&'()*+,;=:[]<>\"%", true);
}

/// Bytes that stand for themselves in a path; everything else is escaped, escapes stay.
std::string escaped(std::string_view path) {
  std::string result;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    static constexpr char k_hex[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter(c) || is_digit(c) || std::string_view("-_.~$&+,/:;=@!'()*[]%").find(c) != k_npos)
      result += c;
    else
      result.append(1, '%').append(1, k_hex[byte >> 4]).append(1, k_hex[byte & 15]);
  }
  return result;
}

bool unescape_query(std::string_view text, std::string& result) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (!is_escape(text, i)) return false;
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

const Url& url_at(const Call& call) { return *call.args[0].url; }

bool charge_parsing(const Call& call) { return call.work.take(2 * std::uint64_t{call.args[0].size}); }

Value make_url(const Call& call) {
  Url url;
  if (!charge_parsing(call)) return of_error(k_no_memory);
  if (!parse_url(call.args[0].text(), url))
    return call.error("URL parse error during conversion from string: parse \"" +
                      std::string(call.args[0].text().substr(0, 256)) + "\": invalid URI for request");
  const Url* kept = call.arena.make(url);
  return kept == nullptr ? of_error(k_no_memory) : of_object(Kind::url, kept);
}
Value is_url(const Call& call) {
  Url url;
  if (!charge_parsing(call)) return of_error(k_no_memory);
  return of_bool(parse_url(call.args[0].text(), url));
}
Value scheme(const Call& call) {
  std::string text(url_at(call).scheme);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return call.text(text);
}
Value host(const Call& call) { return of_text(url_at(call).host); }
Value hostname(const Call& call) { return of_text(url_at(call).hostname); }
Value port(const Call& call) { return of_text(url_at(call).port); }
Value path(const Call& call) {
  if (!call.work.take(4 * std::uint64_t{url_at(call).path.size()})) return of_error(k_no_memory);
  return call.text(escaped(url_at(call).path));
}

Value query(const Call& call) {
  std::map<std::string, std::vector<std::string>> values;
  std::string_view rest = url_at(call).query;
  // Of a few bytes each is made a list of a text, in a tree.
  if (!call.work.take(64 * std::uint64_t{rest.size()})) return of_error(k_no_memory);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty() || pair.find(';') != k_npos) continue;
    const std::size_t equals = pair.find('=');
    std::string key, value;
    if (!unescape_query(pair.substr(0, equals), key)) continue;
    if (equals != k_npos && !unescape_query(pair.substr(equals + 1), value)) continue;
    values[key].push_back(value);
  }
  auto* entries = call.arena.make_array<MapEntry>(values.size());
  const MapData* map = entries == nullptr
                           ? nullptr
                           : call.arena.make(MapData{entries, static_cast<std::uint32_t>(values.size()), false});
  if (map == nullptr) return of_error(k_no_memory);
  for (const auto& [key, texts] : values) {
    auto* items = call.arena.make_array<Value>(texts.size());
    if (items == nullptr) return of_error(k_no_memory);
    for (std::size_t i = 0; i < texts.size(); ++i) items[i] = call.text(texts[i]);
    *entries++ = {call.text(key), of_list(items, texts.size())};
  }
  return of_map(map);
}

constexpr FunctionRow k_url_rows[] = {
    {"url", "(string) -> kubernetes.URL", k_traversal, make_url},
    {"isURL", "(string) -> bool", k_one, is_url},
    {"getScheme", "kubernetes.URL.() -> string", k_one, scheme},
    {"getHost", "kubernetes.URL.() -> string", k_one, host},
    {"getHostname", "kubernetes.URL.() -> string", k_one, hostname},
    {"getPort", "kubernetes.URL.() -> string", k_one, port},
    {"getEscapedPath", "kubernetes.URL.() -> string", k_one, path},
    {"getQuery", "kubernetes.URL.() -> map(string, list(string))", k_one, query},
};

}  // namespace

bool parse_url(std::string_view text, Url& url) {
  url = {};
  url.whole = text;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  if (text.empty()) return false;
  if (text == "*") return url.path = text, true;
  std::string_view rest = text;
  if (is_letter(rest[0])) {
    std::size_t size = 1;
    while (size < rest.size() &&
           (is_letter(rest[size]) || is_digit(rest[size]) || std::string_view("+-.").find(rest[size]) != k_npos))
      ++size;
    if (size < rest.size() && rest[size] == ':') {
      url.scheme = rest.substr(0, size);
      rest.remove_prefix(size + 1);
    }
  } else if (rest[0] == ':') {
    return false;
  }
  if (const std::size_t question = rest.find('?'); question != k_npos) {
    url.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (rest.empty() || rest[0] != '/') return !url.scheme.empty();
  if (!url.scheme.empty() && rest.substr(0, 2) == "//") {
    const std::size_t slash = rest.find('/', 2);
    if (!parse_host(rest.substr(2, slash == k_npos ? k_npos : slash - 2), url)) return false;
    rest = slash == k_npos ? std::string_view() : rest.substr(slash);
  }
  url.path = rest;
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (rest[i] == '%' && !is_escape(rest, i)) return false;
  return true;
}

std::span<const FunctionRow> url_functions() { return k_url_rows; }

}  // namespace berth::cel
