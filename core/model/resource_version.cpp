// SPDX-License-Identifier: Apache-2.0
#include "model/resource_version.hpp"

#include <charconv>

namespace berth::model {

ResourceVersion::ResourceVersion(std::string_view text) {
  if (text.empty()) return;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_written_so = text.front() != '0' || text.size() == 1;
  if (error == std::errc() && stop == end && is_written_so && number >> 63 == 0)
    word_ = number << 1 | 1;
  else
    word_ = reinterpret_cast<std::uint64_t>(new std::string(text));
}

ResourceVersion::ResourceVersion(const ResourceVersion& other) : word_(other.word_) {
  if (other.is_text()) word_ = reinterpret_cast<std::uint64_t>(new std::string(*other.other_text()));
}

std::string ResourceVersion::text() const {
  if (is_text()) return *other_text();
  return empty() ? std::string() : std::to_string(word_ >> 1);
}

}  // namespace berth::model
