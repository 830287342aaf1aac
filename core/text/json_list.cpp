// SPDX-License-Identifier: Apache-2.0
#include "text/json_list.hpp"

#include <array>
#include <vector>

#include "text/builder.hpp"

namespace berth::text {
namespace {

/// Goes over a text once, a chunk at a time, and keeps the parts that it is told to keep.
class Splitter {
 public:
  Splitter(const TextReader& read, const std::function<bool(std::string_view)>& item, const JsonListLimits& limits)
      : read_(read), item_(item), limits_(limits), chunk_(k_chunk_bytes) {}

  std::optional<std::string> run() {
    keep_in(&rest_, limits_.rest_bytes);
    byte_order_mark();
    space();
    if (!take('{')) return std::nullopt;
    do {
      if (!member()) return std::nullopt;
      space();
    } while (take(','));
    if (!take('}')) return std::nullopt;
    space();
    if (peek() != k_end || !has_items_) return std::nullopt;
    flush();
    if (is_over_limit_) return std::nullopt;
    return std::move(rest_);
  }

 private:
  static constexpr std::size_t k_chunk_bytes = std::size_t{1} << 18;
  static constexpr int k_end = -1;

  int peek() { return at_ < size_ || fill() ? static_cast<unsigned char>(chunk_[at_]) : k_end; }
  bool take(char c) {
    if (peek() != static_cast<unsigned char>(c)) return false;
    ++at_;
    return true;
  }
  void space() {
    for (int c = peek(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = peek()) ++at_;
  }
  /// One at the beginning is no part of the text.
  void byte_order_mark() {
    constexpr std::string_view k_mark = "\xef\xbb\xbf";
    peek();
    if (std::string_view(chunk_.data(), size_).starts_with(k_mark)) kept_ = at_ = k_mark.size();
  }

  bool fill() {
    flush();
    if (is_over_limit_) return false;
    at_ = kept_ = 0;
    size_ = 0;
    for (std::size_t size = 1; size > 0 && size_ < chunk_.size(); size_ += size)
      size = read_(chunk_.data() + size_, chunk_.size() - size_);
    return size_ > 0;
  }
  /// Moves what was passed over to where it is kept.
  void flush() {
    if (into_ != nullptr) {
      if (into_->size() + (at_ - kept_) > limit_) is_over_limit_ = true;
      if (!is_over_limit_) into_->append(chunk_.data() + kept_, at_ - kept_);
    }
    kept_ = at_;
  }
  /// From here on; null: nothing is kept.
  void keep_in(std::string* into, std::size_t limit) {
    flush();
    into_ = into;
    limit_ = limit;
  }

  bool member() {
    space();
    if (peek() != '"') return false;
    flush();
    const std::size_t key_at = rest_.size();
    if (!string()) return false;
    flush();
    if (is_over_limit_) return false;
    const bool is_items = std::string_view(rest_).substr(key_at) == "\"items\"";
    space();
    if (!take(':')) return false;
    space();
    return is_items && peek() == '[' ? items() : value();
  }

  bool items() {
    if (has_items_) return false;
    has_items_ = true;
    take('[');
    keep_in(nullptr, 0);
    space();
    if (peek() != ']') {
      do {
        space();
        if (peek() != '{') return false;
        item_text_.clear();
        keep_in(&item_text_, limits_.item_bytes);
        if (!nested()) return false;
        keep_in(nullptr, 0);
        if (is_over_limit_ || !item_(item_text_)) return false;
        space();
      } while (take(','));
      if (peek() != ']') return false;
    }
    keep_in(&rest_, limits_.rest_bytes);
    return take(']');
  }

  bool value() {
    const int first = peek();
    if (first == '{' || first == '[') return nested();
    if (first == '"') return string();
    for (int c = first; c != k_end && c != ',' && c != '}'; c = peek()) ++at_;
    return true;
  }

  /// From an opening bracket to the one that closes it, of whatever kind.
  bool nested() {
    static constexpr auto k_stops = [] {
      std::array<bool, 256> stops{};
      for (const unsigned char c : {'"', '{', '}', '[', ']'}) stops[c] = true;
      return stops;
    }();
    std::size_t open = 0;
    for (;;) {
      while (at_ < size_ && !k_stops[static_cast<unsigned char>(chunk_[at_])]) ++at_;
      const int c = peek();
      if (c == k_end) return false;
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      if (c == '{' || c == '[') ++open;
      if (c == '}' || c == ']') --open;
      // After a refill this may be any character.
      if (k_stops[static_cast<std::size_t>(c)]) {
        ++at_;
        if (open == 0) return true;
      }
    }
  }

  bool string() {
    ++at_;
    for (;;) {
      while (at_ < size_ && chunk_[at_] != '"' && chunk_[at_] != '\\') ++at_;
      const int c = peek();
      if (c == k_end) return false;
      ++at_;
      if (c == '"') return true;
      if (c == '\\') {
        if (peek() == k_end) return false;
        ++at_;
      }
    }
  }

  const TextReader& read_;
  const std::function<bool(std::string_view)>& item_;
  const JsonListLimits limits_;
  std::vector<char> chunk_;
  std::size_t at_ = 0, size_ = 0;
  std::size_t kept_ = 0;  // what stands before is where it is kept, or was not to be kept
  std::string* into_ = nullptr;
  std::size_t limit_ = 0;
  bool is_over_limit_ = false;
  bool has_items_ = false;
  std::string rest_, item_text_;
};

}  // namespace

std::optional<std::string> split_json_list(const TextReader& read, const std::function<bool(std::string_view)>& item,
                                           const JsonListLimits& limits) {
  return Splitter(read, item, limits).run();
}

std::optional<Document> read_json_item(std::string_view item, std::string file) {
  Builder builder;
  Value root;
  if (read_json(builder, item, k_depth_of_items, root)) return std::nullopt;
  return builder.finish(root, std::move(file));
}

}  // namespace berth::text
