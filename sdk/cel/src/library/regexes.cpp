// SPDX-License-Identifier: Apache-2.0
/// matches, find and findAll: RE2, made to accept and refuse what Go's regexp does.
#include <algorithm>
#include <string>
#include <vector>

#include "library/functions.hpp"
#include "library/regex_cache.hpp"
#include "values/utf8.hpp"

namespace berth::cel {
namespace {

constexpr std::size_t k_pattern_bytes_max = 64 * 1024;
constexpr std::size_t k_unicode_classes_max = 64;
// What a program may take with its automaton. Most patterns need the least; each try is charged before it is made.
struct Room {
  std::size_t bytes;
  std::uint64_t steps;
};
constexpr Room k_rooms[] = {{32 << 10, 5'000}, {128 << 10, 40'000}, {512 << 10, 100'000}};
// Of a pattern as it was read, which RE2 keeps: per byte, and per Unicode class.
constexpr std::size_t k_kept_per_byte = 128;
constexpr std::size_t k_kept_per_class = 6'000;
constexpr std::uint64_t k_steps_per_byte = 500;
constexpr std::uint64_t k_steps_per_class = 15'000;
constexpr std::uint64_t k_steps_per_instruction = 60;

std::string_view go_text(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    default:
      return "expression is too large";
  }
}

/// Go writes `(?<name>…)` too; this RE2 does not read it. False: the pattern has `\C`, which Go refuses.
bool to_re2_syntax(std::string_view pattern, std::string& result) {
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    result += c;
    if (c == '\\' && at + 1 < pattern.size()) {
      if (pattern[at + 1] == 'C' && !in_class) return false;
      result += pattern[++at];
    } else if (c == '[') {
      in_class = true;
    } else if (c == ']') {
      in_class = false;
    } else if (!in_class && c == '(' && pattern.substr(at, 3) == "(?<" && at + 3 < pattern.size() &&
               pattern[at + 3] != '=' && pattern[at + 3] != '!') {
      result += "?P";
      ++at;
    }
  }
  return true;
}

/// `\p{Greek}` and the like, of which RE2 makes hundreds of ranges each.
std::size_t unicode_classes(std::string_view pattern) {
  std::size_t count = 0;
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '\\') continue;
    ++at;
    count += pattern[at] == 'p' || pattern[at] == 'P';
  }
  return count;
}

/// The compiled pattern of a call: the literal's, or one that is computed. Null: `failure` is the answer.
const re2::RE2* regex_of(const Call& call, std::string_view prefix, Value& failure) {
  if (call.regex != nullptr) return call.regex;
  std::string wrong;
  const re2::RE2* regex = call.regexes.get(call.args[1].text(), call.work, wrong);
  if (regex == nullptr) failure = call.error(std::string(prefix) + wrong);
  return regex;
}

/// Matching takes, where RE2 cannot build an automaton of the pattern, a look at every instruction for every byte. False: it
/// must not be done.
bool charge(const Call& call, const re2::RE2& regex, std::size_t bytes, std::uint64_t times) {
  return call.work.take(times * (bytes + 1) * static_cast<std::uint64_t>(std::max(regex.ProgramSize(), 1)));
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

Value matches(const Call& call) {
  Value failure;
  const re2::RE2* regex = regex_of(call, "", failure);
  if (regex == nullptr) return failure;
  if (!charge(call, *regex, call.args[0].size, 1)) return of_error(k_no_steps_left);
  return of_bool(re2::RE2::PartialMatch(piece(call.args[0].text()), *regex));
}

Value find_first(const Call& call) {
  Value failure;
  const re2::RE2* regex = regex_of(call, "Illegal regex: ", failure);
  if (regex == nullptr) return failure;
  if (!charge(call, *regex, call.args[0].size, 2)) return of_error(k_no_steps_left);
  const std::string_view text = call.args[0].text();
  re2::StringPiece found;
  if (!regex->Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, &found, 1)) return of_text("");
  return of_text({found.data(), found.size()});
}

Value find_up_to(const Call& call, std::int64_t limit) {
  Value failure;
  const re2::RE2* regex = regex_of(call, "Illegal regex: ", failure);
  if (regex == nullptr) return failure;
  const std::string_view text = call.args[0].text();
  std::vector<Value> found;
  std::size_t at = 0;
  std::size_t end_before = std::string_view::npos;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(found.size()) < limit)) {
    re2::StringPiece match;
    if (!charge(call, *regex, text.size() - at, 2)) return of_error(k_no_steps_left);
    if (!regex->Match(piece(text), at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto start = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = start + match.size();
    // An empty match right after the one before does not count.
    if (!(match.empty() && start == end_before)) found.push_back(of_text({match.data(), match.size()}));
    std::uint32_t code = 0;
    if (!match.empty())
      at = end;
    else
      at = start < text.size() ? start + next_code_point(text.substr(start), code) : text.size() + 1;
    end_before = end;
  }
  return call.list_of(found);
}
Value find_all(const Call& call) { return find_up_to(call, -1); }
Value find_some(const Call& call) { return find_up_to(call, call.args[2].integer); }

constexpr FunctionRow k_regex_rows[] = {
    {"matches", "string.(string) -> bool", CostRule::regex, matches},
    {"matches", "(string, string) -> bool", CostRule::regex, matches},
    {"find", "string.(string) -> string", CostRule::regex, find_first},
    {"findAll", "string.(string) -> list(string)", CostRule::regex, find_all},
    {"findAll", "string.(string, int) -> list(string)", CostRule::regex, find_some},
};

}  // namespace

CompiledRegex compile_regex(std::string_view pattern, Work& work, std::string& error) {
  error = "error parsing regexp: ";
  std::string rewritten;
  const std::size_t classes = unicode_classes(pattern);
  if (pattern.size() > k_pattern_bytes_max || classes > k_unicode_classes_max)
    return error += "expression is too large", CompiledRegex{};
  const std::uint64_t steps_of_reading = k_steps_per_byte * pattern.size() + k_steps_per_class * classes;
  if (!to_re2_syntax(pattern, rewritten)) return error += "invalid escape sequence: `\\C`", CompiledRegex{};
  re2::RE2::Options options;
  options.set_log_errors(false);
  for (const Room& room : k_rooms) {
    if (!work.take(room.steps + steps_of_reading)) return error = k_no_steps_left, CompiledRegex{};
    options.set_max_mem(static_cast<std::int64_t>(room.bytes));
    auto regex = std::make_unique<re2::RE2>(piece(rewritten), options);
    if (regex->ok()) {
      // Repetitions make programs larger than their patterns.
      if (!work.take(k_steps_per_instruction * static_cast<std::uint64_t>(std::max(regex->ProgramSize(), 0))))
        return error = k_no_steps_left, CompiledRegex{};
      return {std::move(regex), room.bytes + k_kept_per_byte * pattern.size() + k_kept_per_class * classes};
    }
    if (regex->error_code() == re2::RE2::ErrorPatternTooLarge && &room != std::end(k_rooms) - 1) continue;
    error.append(go_text(regex->error_code())).append(": `").append(regex->error_arg()).append("`");
    break;
  }
  return {};
}

void RegexCache::start_evaluation() noexcept {
  for (Entry& entry : entries_) entry.charged = 0;
  last_charged_ = 0;
}

const re2::RE2* RegexCache::get(std::string_view pattern, Work& work, std::string& error) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [pattern](const Entry& entry) {
    return entry.regex != nullptr && entry.pattern == pattern;
  });
  if (known != entries_.end() && known->charged != 0) return known->regex.get();
  Entry* entry = known == entries_.end() ? nullptr : &*known;
  if (entry != nullptr) {
    if (!work.take(entry->steps)) return error = k_no_steps_left, nullptr;
  } else {
    const std::uint64_t before = work.left;
    auto compiled = compile_regex(pattern, work, error);
    if (compiled.regex == nullptr) return nullptr;
    // Those that this evaluation has not used go first, then those that it began to use first.
    entry = &*std::min_element(entries_.begin(), entries_.end(),
                               [](const Entry& a, const Entry& b) { return a.charged < b.charged; });
    entry->pattern = std::string(pattern);
    entry->regex = std::move(compiled.regex);
    entry->steps = before - work.left;
  }
  entry->charged = ++last_charged_;
  return entry->regex.get();
}

std::span<const FunctionRow> regex_functions() { return k_regex_rows; }

}  // namespace berth::cel
