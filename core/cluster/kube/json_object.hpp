// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "text/parse.hpp"

namespace berth::cluster::kube {

/// Writes one JSON object, member by member, in the order of the calls.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value) {
    name(key);
    text::append_json_string(out_, value);
    return *this;
  }
  JsonObject& number(std::string_view key, std::int64_t value) { return json(key, std::to_string(value)); }
  /// `value` is JSON already.
  JsonObject& json(std::string_view key, std::string_view value) {
    name(key);
    out_ += value;
    return *this;
  }
  bool empty() const noexcept { return out_.size() == 1; }
  std::string done() { return std::move(out_ += '}'); }

 private:
  void name(std::string_view key) {
    if (out_.size() > 1) out_ += ',';
    text::append_json_string(out_, key);
    out_ += ':';
  }
  std::string out_ = "{";
};

}  // namespace berth::cluster::kube
