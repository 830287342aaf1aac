// SPDX-License-Identifier: Apache-2.0
/// Formats by name (`format.dns1123Label()`): names of Kubernetes, URIs, UUIDs, base64, dates.
#include "library/named_formats.hpp"

#include <iterator>
#include <string>
#include <vector>

#include "library/functions.hpp"
#include "syntax/characters.hpp"
#include "values/times.hpp"
#include "values/url.hpp"

namespace berth::cel {
namespace {

using Texts = std::vector<std::string_view>;

constexpr std::string_view k_label =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view k_subdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view k_label_1035 =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with "
    "an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view k_name_part =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view k_label_value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_name(char c) { return is_digit(c) || is_lower(c); }

bool is_label(std::string_view text, bool starts_with_letter = false) {
  if (text.empty() || !is_name(text.front()) || !is_name(text.back())) return false;
  if (starts_with_letter && is_digit(text.front())) return false;
  for (const char c : text)
    if (!is_name(c) && c != '-') return false;
  return true;
}
bool is_subdomain(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}
bool is_qualified_part(std::string_view text) {
  const auto alphanumeric = [](char c) { return is_name(c) || is_upper(c); };
  if (text.empty() || !alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  for (const char c : text)
    if (!alphanumeric(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

/// A prefix of a name may end with a dash: the last one stands for what follows.
std::string without_dash(std::string_view text) {
  std::string name(text);
  if (name.size() > 1 && name.back() == '-') name.back() = 'a';
  return name;
}

Texts check(bool good, std::string_view message, std::size_t size, std::size_t size_max) {
  Texts wrong;
  if (size > size_max)
    wrong.push_back(size_max == 63 ? "must be no more than 63 characters" : "must be no more than 253 characters");
  if (!good) wrong.push_back(message);
  return wrong;
}

Texts check_label(std::string_view text) { return check(is_label(text), k_label, text.size(), 63); }
Texts check_subdomain(std::string_view text) { return check(is_subdomain(text), k_subdomain, text.size(), 253); }
Texts check_label_1035(std::string_view text) { return check(is_label(text, true), k_label_1035, text.size(), 63); }
Texts check_label_prefix(std::string_view text) {
  return check(is_label(without_dash(text)), k_label, text.size(), 63);
}
Texts check_subdomain_prefix(std::string_view text) {
  return check(is_subdomain(without_dash(text)), k_subdomain, text.size(), 253);
}
Texts check_label_1035_prefix(std::string_view text) {
  return check(is_label(without_dash(text), true), k_label_1035, text.size(), 63);
}
Texts check_qualified(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return check(is_qualified_part(text), k_name_part, text.size(), 63);
  if (text.find('/', slash + 1) != std::string_view::npos) return {"a qualified name has at most one '/'"};
  Texts wrong = check(is_subdomain(text.substr(0, slash)), k_subdomain, slash, 253);
  for (const std::string_view more :
       check(is_qualified_part(text.substr(slash + 1)), k_name_part, text.size() - slash - 1, 63))
    wrong.push_back(more);
  return wrong;
}
Texts check_label_value(std::string_view text) {
  return check(text.empty() || is_qualified_part(text), k_label_value, text.size(), 63);
}
Texts check_uri(std::string_view text) {
  Url url;
  return parse_url(text, url) ? Texts{} : Texts{"invalid URI for request"};
}

Texts check_uuid(std::string_view text) {
  // Groups of 8, 4, 4, 4 and 12 digits, dashes between them or not.
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (hex_digit(c) >= 0)
      ++digits;
    else if (c != '-' || i == 0 || text[i - 1] == '-' || (digits != 8 && digits != 12 && digits != 16 && digits != 20))
      return {"does not match the UUID format"};
  }
  return digits == 32 && text.back() != '-' ? Texts{} : Texts{"does not match the UUID format"};
}

Texts check_base64(std::string_view text) {
  std::size_t size = text.size();
  while (size > 0 && text.size() - size < 2 && text[size - 1] == '=') --size;
  bool good = !text.empty() && text.size() % 4 == 0;
  for (const char c : text.substr(0, size)) good = good && (is_name(c) || is_upper(c) || c == '+' || c == '/');
  return good ? Texts{} : Texts{"invalid base64"};
}

bool is_date(std::string_view text) {
  std::int64_t seconds = 0;
  std::uint32_t nanos = 0;
  return text.size() == 10 && parse_timestamp(std::string(text) + "T00:00:00Z", seconds, nanos);
}
Texts check_date(std::string_view text) { return is_date(text) ? Texts{} : Texts{"invalid date"}; }
Texts check_datetime(std::string_view text) {
  std::int64_t seconds = 0;
  std::uint32_t nanos = 0;
  std::string upper(text.substr(0, 64));
  for (char& c : upper)
    if (c == 't' || c == 'z') c = static_cast<char>(c - 32);
  return text.size() <= 64 && parse_timestamp(upper, seconds, nanos) ? Texts{} : Texts{"invalid datetime"};
}

struct NamedFormat {
  std::string_view name;
  Texts (*check)(std::string_view);
  std::uint64_t pattern_size;
};

constexpr NamedFormat k_formats[] = {
    {"dns1123Label", check_label, 30},
    {"dns1123Subdomain", check_subdomain, 60},
    {"dns1035Label", check_label_1035, 30},
    {"qualifiedName", check_qualified, 60},
    {"dns1123LabelPrefix", check_label_prefix, 30},
    {"dns1123SubdomainPrefix", check_subdomain_prefix, 60},
    {"dns1035LabelPrefix", check_label_1035_prefix, 30},
    {"labelValue", check_label_value, 40},
    {"uri", check_uri, 1024},
    {"uuid", check_uuid, 70},
    {"byte", check_base64, 84},
    {"date", check_date, 70},
    {"datetime", check_datetime, 70},
};

template <std::int64_t number>
Value format(const Call&) {
  return of_int(number, Kind::format);
}

Value named(const Call& call) {
  for (std::size_t i = 0; i < std::size(k_formats); ++i)
    if (k_formats[i].name == call.args[0].text())
      return call.optional_of(of_int(static_cast<std::int64_t>(i), Kind::format));
  return of_optional(nullptr);
}

Value validate(const Call& call) {
  if (!call.work.take(50 + 2 * std::uint64_t{call.args[1].size})) return of_error(k_no_memory);
  const Texts wrong = k_formats[call.args[0].integer].check(call.args[1].text());
  if (wrong.empty()) return of_optional(nullptr);
  auto* items = call.arena.make_array<Value>(wrong.size());
  if (items == nullptr) return of_error(k_no_memory);
  for (std::size_t i = 0; i < wrong.size(); ++i) items[i] = of_text(wrong[i]);
  return call.optional_of(of_list(items, wrong.size()));
}

constexpr std::string_view k_maker = "() -> kubernetes.NamedFormat";

constexpr FunctionRow k_named_format_rows[] = {
    {"format.named", "(string) -> optional_type(kubernetes.NamedFormat)", k_one, named},
    {"validate", "kubernetes.NamedFormat.(string) -> optional_type(list(string))", CostRule::named_format, validate},
    {"format.dns1123Label", k_maker, k_one, format<0>},
    {"format.dns1123Subdomain", k_maker, k_one, format<1>},
    {"format.dns1035Label", k_maker, k_one, format<2>},
    {"format.qualifiedName", k_maker, k_one, format<3>},
    {"format.dns1123LabelPrefix", k_maker, k_one, format<4>},
    {"format.dns1123SubdomainPrefix", k_maker, k_one, format<5>},
    {"format.dns1035LabelPrefix", k_maker, k_one, format<6>},
    {"format.labelValue", k_maker, k_one, format<7>},
    {"format.uri", k_maker, k_one, format<8>},
    {"format.uuid", k_maker, k_one, format<9>},
    {"format.byte", k_maker, k_one, format<10>},
    {"format.date", k_maker, k_one, format<11>},
    {"format.datetime", k_maker, k_one, format<12>},
};

}  // namespace

std::uint64_t named_format_pattern_size(std::int64_t format) { return k_formats[format].pattern_size; }

std::span<const FunctionRow> named_format_functions() { return k_named_format_rows; }

}  // namespace berth::cel
