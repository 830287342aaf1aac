// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <berth/json.hpp>

namespace devices {
namespace {

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  /// each_part() of the text. What a bracket closes is not looked at.
  bool each(const std::function<void(std::string_view, std::string_view)>& use) {
    skip_space();
    const char open = peek();
    if (open != '{' && open != '[') return false;
    ++at_;
    for (;;) {
      skip_space();
      if (at_ == text_.size()) return false;
      if (peek() == '}' || peek() == ']') return true;
      std::string_view key;
      if (open == '{') {
        key = value();
        if (key.size() < 2) return false;
        key = key.substr(1, key.size() - 2);
        skip_space();
        if (peek() != ':') return false;
        ++at_;
      }
      const std::string_view found = value();
      if (found.empty()) return false;
      use(key, found);
      skip_space();
      if (peek() == ',') ++at_;
    }
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && k_spaces.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    at_ = text_.size();
    return false;
  }
  /// What begins there and ends here, without the spaces behind it.
  std::string_view scalar(std::size_t begin) const {
    const std::string_view text = text_.substr(begin, at_ - begin);
    return text.substr(0, text.find_last_not_of(k_spaces) + 1);
  }
  /// Empty: the text ends before the value does, or the value is too deep.
  std::string_view value() {
    skip_space();
    const std::size_t begin = at_;
    std::size_t open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return {};
        if (open == 0) return text_.substr(begin, at_ - begin);
        continue;
      }
      if (c == '{' || c == '[') {
        if (++open >= k_text_depth_max) return {};
      } else if (c == '}' || c == ']') {
        if (open == 0) return scalar(begin);
        if (--open == 0) return text_.substr(begin, ++at_ - begin);
      } else if (open == 0 && (c == ',' || c == ':')) {
        return scalar(begin);
      }
      ++at_;
    }
    return {};
  }

  static constexpr std::string_view k_spaces = " \t\r\n";
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool each_part(std::string_view text, const std::function<void(std::string_view, std::string_view)>& use) {
  return Scan(text).each(use);
}

TextPart member_of(std::string_view object, std::string_view name) {
  TextPart part;
  part.is_known = each_part(object, [&](std::string_view key, std::string_view value) {
    if (key == name) part.text = value;
  });
  return part;
}

std::string with_member_text(std::string_view object, std::string_view name, std::string_view value) {
  std::string out = "{";
  const auto put = [&](std::string_view key, std::string_view text) {
    if (out.size() > 1) out += ',';
    out += '"';
    out += key;
    out += "\":";
    out += text;
  };
  const bool is_whole = each_part(object, [&](std::string_view key, std::string_view text) {
    if (key != name) put(key, text);
  });
  if (!is_whole && !object.empty()) throw berth::JsonError("not an object that can be read to its end");
  put(name, value);
  return out += '}';
}

}  // namespace devices
