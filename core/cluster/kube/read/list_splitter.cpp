// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/list_splitter.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace berth::cluster::kube {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The text of a JSON string without escapes; kinds and versions have none.
std::string unquoted(const std::string& json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : std::string();
}

}  // namespace

Error ListSplitter::too_large() {
  is_broken_ = true;
  value_ = {};
  return {fmt::format("an object of the list has more than {} bytes, at byte {}", k_object_bytes_max, offset_)};
}

Status ListSplitter::add(std::string_view piece) {
  if (is_broken_) return Error{"the list was broken before"};
  for (std::size_t i = 0; i < piece.size(); ++i) {
    // Most bytes are inside of values: runs without structure are copied at once.
    if (state_ == State::raw) {
      std::size_t end = i;
      if (quoted_) {
        while (end < piece.size() && piece[end] != '"' && piece[end] != '\\' && !escaped_) ++end;
      } else {
        while (end < piece.size() && piece[end] != '"' && piece[end] != '{' && piece[end] != '}' && piece[end] != '[' &&
               piece[end] != ']' && depth_ > 0)
          ++end;
      }
      if (value_.size() + (end - i) > k_object_bytes_max) return too_large();
      value_.append(piece, i, end - i);
      offset_ += end - i;
      i = end;
      if (i == piece.size()) break;
    }
    ++offset_;
    if (value_.size() > k_object_bytes_max || key_.size() > k_object_bytes_max) return too_large();
    if (!step(piece[i])) {
      is_broken_ = true;
      return Error{fmt::format("the list is not JSON at byte {}", offset_)};
    }
  }
  return Unit{};
}

void ListSplitter::end_of_value() {
  if (in_items_) {
    on_item_(value_);
    state_ = State::items;
  } else {
    if (key_ == "kind") kind_ = unquoted(value_);
    if (key_ == "apiVersion") api_version_ = unquoted(value_);
    if (key_ == "metadata") metadata_ = value_;
    state_ = State::key;
  }
  value_.clear();
}

/// Inside a value. A scalar ends at the byte after it, which belongs to what is around.
bool ListSplitter::raw(char c) {
  if (quoted_) {
    value_ += c;
    if (escaped_)
      escaped_ = false;
    else if (c == '\\')
      escaped_ = true;
    else if (c == '"')
      quoted_ = false;
    if (!quoted_ && depth_ == 0) end_of_value();
    return true;
  }
  if (depth_ == 0 && (c == ',' || c == '}' || c == ']' || is_space(c))) {
    end_of_value();
    return step(c);
  }
  value_ += c;
  if (c == '"') quoted_ = true;
  if (c == '{' || c == '[') ++depth_;
  if (c == '}' || c == ']') {
    if (--depth_ < 0) return false;
    if (depth_ == 0) end_of_value();
  }
  return true;
}

bool ListSplitter::step(char c) {
  if (state_ == State::raw) return raw(c);
  if (state_ == State::key_text) {
    if (c == '"')
      state_ = State::colon;
    else
      key_ += c;
    return true;
  }
  if (is_space(c)) return true;
  switch (state_) {
    case State::start:
      state_ = State::key;
      return c == '{';
    case State::key:
      key_.clear();
      if (c == ',') return true;
      state_ = c == '"' ? State::key_text : State::ended;
      return c == '"' || c == '}';
    case State::colon:
      state_ = key_ == "items" ? State::items_start : State::value;
      return c == ':';
    case State::items_start:
      if (c != '[') {  // null: an empty list
        state_ = State::raw;
        return raw(c);
      }
      in_items_ = true;
      state_ = State::items;
      return true;
    case State::items:
      if (c == ',') return true;
      if (c == ']') {
        in_items_ = false;
        state_ = State::key;
        return true;
      }
      state_ = State::raw;
      return c != '}' && c != ':' && raw(c);  // whatever it is: who reads the items judges
    case State::value:
      state_ = State::raw;
      return raw(c);
    case State::ended:
    case State::raw:
    case State::key_text:
      break;
  }
  return false;
}

Status LineSplitter::add(std::string_view piece) {
  if (is_broken_) return Error{"the watch was broken before"};
  for (;;) {
    const std::size_t newline = piece.find('\n'), end = std::min(newline, piece.size());
    if (rest_.size() + end > k_object_bytes_max) {
      is_broken_ = true;
      rest_ = {};
      return Error{fmt::format("an event of the watch has more than {} bytes", k_object_bytes_max)};
    }
    if (newline == std::string_view::npos) break;
    if (rest_.empty()) {
      on_line_(piece.substr(0, newline));
    } else {
      rest_.append(piece.substr(0, newline));
      std::string line;
      line.swap(rest_);
      on_line_(line);
    }
    piece.remove_prefix(newline + 1);
  }
  rest_.append(piece);
  return Unit{};
}

}  // namespace berth::cluster::kube
