// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth::model {

/// metadata.resourceVersion of a pod: any text, and one word without a heap block for a decimal number, which it is
/// with every API server. Threads: as an int. Copies of any other text are copies of the text.
class ResourceVersion {
 public:
  ResourceVersion() noexcept = default;
  ResourceVersion(std::string_view text);
  ResourceVersion(const std::string& text) : ResourceVersion(std::string_view(text)) {}
  ResourceVersion(const char* text) : ResourceVersion(std::string_view(text)) {}
  ResourceVersion(const ResourceVersion& other);
  ResourceVersion(ResourceVersion&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  ResourceVersion& operator=(ResourceVersion other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~ResourceVersion() {
    if (is_text()) delete other_text();
  }

  bool empty() const noexcept { return word_ == 0; }
  /// Exactly what it was made of.
  std::string text() const;
  operator std::string() const { return text(); }
  /// The version as a number; 0 where it is none.
  std::uint64_t number() const noexcept { return (word_ & 1) != 0 ? word_ >> 1 : 0; }

  friend bool operator==(const ResourceVersion& a, const ResourceVersion& b) noexcept {
    return a.word_ == b.word_ || (a.is_text() && b.is_text() && *a.other_text() == *b.other_text());
  }
  friend bool operator==(const ResourceVersion& a, std::string_view b) { return a.text() == b; }
  friend bool operator==(const ResourceVersion& a, const std::string& b) { return a.text() == b; }
  friend bool operator==(const ResourceVersion& a, const char* b) { return a.text() == b; }

 private:
  bool is_text() const noexcept { return word_ != 0 && (word_ & 1) == 0; }
  const std::string* other_text() const noexcept { return reinterpret_cast<const std::string*>(word_); }

  std::uint64_t word_ = 0;  // odd: twice the number and 1; even: a text of ours; 0: empty
};

}  // namespace berth::model
