// SPDX-License-Identifier: Apache-2.0
#include "recording/encoder.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <tuple>
#include <type_traits>

#include "base/text_hash.hpp"
#include "recording/frames.hpp"
#include "recording/model_fields.hpp"

namespace berth::recording {
namespace {

/// An annotation with the whole object in it, environment included.
constexpr std::string_view k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";

template <typename T>
struct WrittenParts {
  boost::unordered_flat_map<const T*, std::uint64_t> numbers;
  std::vector<model::Shared<T>> kept;  // so that no other part gets the address of a remembered one
};

}  // namespace

struct Encoder::Tables {
  boost::unordered_flat_map<std::string, std::uint64_t, TextHash, std::equal_to<>> words;
  std::size_t word_bytes = 0, part_bytes = 0;
  std::size_t payload_bytes = 0, copied_bytes = 0;  // of the records before, and of words that came again
  std::tuple<WrittenParts<std::vector<model::Label>>, WrittenParts<model::OwnerReference>,
             WrittenParts<model::PodRequests>, WrittenParts<model::NodeSelection>, WrittenParts<model::PodSpec>>
      parts;
};

namespace {

template <typename Tables>
class PayloadWriter {
 public:
  PayloadWriter(std::string& out, Tables& tables, const SymbolTable& symbols)
      : out_(out), tables_(tables), symbols_(symbols) {}

  template <typename T>
  void number(const char*, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? '\1' : '\0';
    } else if constexpr (std::is_enum_v<T>) {
      number("", static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      varint(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
    } else {
      varint(value);
    }
  }
  template <typename T>
  void last_number(const char*, T value) {
    number("", value);
  }
  void code(const char*, std::uint8_t value) { varint(value); }
  void text(const char*, std::string_view value) {
    varint(value.size());
    out_ += value;
  }
  void text(const char*, const std::string& value) { text("", std::string_view(value)); }
  void text(const char*, const model::Uid& uid) { text("", std::string_view(uid.text())); }
  void text(const char*, const model::ResourceVersion& version) { text("", std::string_view(version.text())); }
  void json(const char*, const std::string& value) { text("", value); }
  void word(const char*, std::string_view value) {
    if (const auto known = tables_.words.find(value); known != tables_.words.end()) {
      const std::size_t copied = tables_.copied_bytes + value.size();
      if (copied > Encoder::copied_bytes_max(tables_.payload_bytes + out_.size())) {
        varint(k_plain);
        return text("", value);
      }
      tables_.copied_bytes = copied;
      return varint(known->second);
    }
    new_word(value);
  }
  /// An absent symbol is not the empty text. Where it is read, it takes no copy of its word.
  void symbol(const char*, Symbol value) {
    if (value == k_no_symbol) return varint(k_none);
    const std::string_view text = symbols_.text(value);
    if (const auto known = tables_.words.find(text); known != tables_.words.end()) return varint(known->second);
    new_word(text);
  }
  void symbols(const char*, const std::vector<Symbol>& values) {
    varint(values.size());
    for (const Symbol value : values) symbol("", value);
  }
  template <typename List, typename Fields>
  void list(const char*, const List& list, Fields&& fields) {
    varint(list.size());
    for (const auto& each : list) fields(*this, each);
  }
  template <typename List>
  void labels(const char*, const List& labels) {
    const auto is_left_out = [this](const model::Label& label) { return symbols_.text(label.key) == k_last_applied; };
    varint(static_cast<std::uint64_t>(std::count_if(labels.begin(), labels.end(), std::not_fn(is_left_out))));
    for (const model::Label& label : labels)
      if (!is_left_out(label)) label_fields(*this, label);
  }
  template <typename T, typename Fields>
  void shared(const char*, const model::Shared<T>& value, Fields&& fields) {
    fields(*this, value.get());
  }
  template <typename T, typename Fields>
  void pointer(const char*, const std::shared_ptr<T>& value, Fields&& fields) {
    number("", value != nullptr);
    if (value != nullptr) fields(*this, *value);
  }
  template <typename T, typename Fields>
  void object(const char*, const T& value, Fields&& fields) {
    fields(*this, value);
  }
  template <typename T>
  void part(const char*, const model::Shared<T>& part) {
    if (part.is_none()) return varint(k_none);
    auto& table = std::get<WrittenParts<T>>(tables_.parts);
    if (const auto known = table.numbers.find(&part.get()); known != table.numbers.end()) return varint(known->second);
    // How large it is shows when it is written, after the mark.
    const std::size_t mark = out_.size();
    varint(k_remembered);
    part_fields(*this, part.get());
    const std::size_t bytes = out_.size() - mark;
    if (table.kept.size() >= Encoder::k_parts_max || tables_.part_bytes + bytes > Encoder::k_part_bytes_max) {
      out_[mark] = static_cast<char>(k_plain);
      return;
    }
    tables_.part_bytes += bytes;
    table.numbers.emplace(&part.get(), table.kept.size() + k_first_number);
    table.kept.push_back(part);
  }

 private:
  void new_word(std::string_view value) {
    const bool is_kept =
        tables_.words.size() < Encoder::k_words_max && tables_.word_bytes + value.size() <= Encoder::k_word_bytes_max;
    varint(is_kept ? k_remembered : k_plain);
    text("", value);
    if (!is_kept) return;
    tables_.word_bytes += value.size();
    tables_.words.emplace(value, tables_.words.size() + k_first_number);
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string& out_;
  Tables& tables_;
  const SymbolTable& symbols_;
};

}  // namespace

Encoder::Encoder(const SymbolTable& symbols) : symbols_(symbols), tables_(std::make_unique<Tables>()) {}
Encoder::~Encoder() = default;

void Encoder::begin_segment() { tables_ = std::make_unique<Tables>(); }

const std::string& Encoder::encode(const Record& record, std::int64_t segment_began_ns) {
  payload_.clear();
  PayloadWriter out(payload_, *tables_, symbols_);
  out.number("", record.kind);
  out.number("", record.at_ns - segment_began_ns);
  record_fields(out, record);
  tables_->payload_bytes += payload_.size();
  if (payload_.size() > k_payload_bytes_max) payload_.clear();
  return payload_;
}

}  // namespace berth::recording
