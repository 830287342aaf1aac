// SPDX-License-Identifier: Apache-2.0
#include "decode/cursor.hpp"

#include <spdlog/fmt/fmt.h>

namespace berth::decode {

Cursor Cursor::child(std::string_view key) const& {
  const text::Value* value = value_ == nullptr ? nullptr : value_->find(key);
  return Cursor(*this, key, k_no_index, value == nullptr || value->is_null() ? nullptr : value);
}

Cursor Cursor::mapping(std::string_view key) const& {
  Cursor cursor = child(key);
  if (cursor.present() && !cursor.value_->is_mapping()) {
    cursor.wrong_kind("an object");
    cursor.value_ = nullptr;
  }
  return cursor;
}

Cursor Cursor::sequence(std::string_view key) const& {
  Cursor cursor = child(key);
  if (cursor.present() && !cursor.value_->is_sequence()) {
    cursor.wrong_kind("a list");
    cursor.value_ = nullptr;
  }
  return cursor;
}

std::optional<std::string_view> Cursor::string() const {
  if (value_ == nullptr) return std::nullopt;
  if (value_->is_string()) return value_->text();
  wrong_kind("a string");
  return std::nullopt;
}

std::optional<bool> Cursor::boolean() const {
  if (value_ == nullptr) return std::nullopt;
  if (value_->is_boolean()) return value_->boolean();
  wrong_kind("true or false");
  return std::nullopt;
}

std::optional<std::int64_t> Cursor::integer(std::int64_t least, std::int64_t most) const {
  if (value_ == nullptr) return std::nullopt;
  if (!value_->is_number()) {
    wrong_kind("an integer");
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = value_->integer();
  if (number && *number >= least && *number <= most) return number;
  add_error(fmt::format("{} is not an integer from {} to {}", value_->text(), least, most));
  return std::nullopt;
}

std::optional<std::int32_t> Cursor::integer32() const {
  const auto number = integer(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

void Cursor::wrong_kind(std::string_view expected) const {
  std::string advice;
  if (expected == "a string" && (value_->is_number() || value_->is_boolean()))
    advice = fmt::format("write \"{}\"", value_->text());
  add_error(fmt::format("must be {}, not {}", expected, kind_name(value_->kind())), std::move(advice));
}

void Cursor::add_error(std::string message, std::string advice) const {
  if (diagnostics_->size() >= k_errors_max) return;
  const Cursor* nearest = this;
  while (nearest->value_ == nullptr && nearest->parent_ != nullptr) nearest = nearest->parent_;
  const text::Position position = nearest->value_ == nullptr ? text::Position{} : nearest->value_->position();
  diagnostics_->add(document_->file(), position, path(), std::move(message), std::move(advice));
}

std::string Cursor::path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->path();
  if (index_ != k_no_index) return path + "[" + std::to_string(index_) + "]";
  if (!path.empty()) path += '.';
  return path.append(key_);
}

}  // namespace berth::decode
