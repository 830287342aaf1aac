// SPDX-License-Identifier: Apache-2.0
#include "recording/decoder.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <tuple>

#include "recording/encoder.hpp"
#include "recording/model_fields.hpp"

namespace berth::recording {
namespace {

/// Leaves Decoder::decode() as an Error.
struct Malformed {
  const char* what;
};

// The largest number of each enumeration, and the smallest where that is not 0.
template <typename T>
constexpr int k_most = -1;
template <>
constexpr int k_most<model::Operator> = 6;
template <>
constexpr int k_most<model::Selector::Kind> = 2;
template <>
constexpr int k_most<model::SpreadAction> = 2;
template <>
constexpr int k_most<model::TaintEffect> = 4;
template <>
constexpr int k_most<model::TolerationOperator> = 4;
template <>
constexpr int k_most<model::ImageRef::Kind> = 3;
template <>
constexpr int k_most<model::PodVolume::Kind> = 3;
template <>
constexpr int k_most<model::ContainerResources::Kind> = 3;
template <>
constexpr int k_most<model::Qos> = 3;
template <>
constexpr int k_most<Kind> = k_kinds;
template <>
constexpr int k_most<Way> = 2;
template <typename T>
constexpr bool k_starts_at_1 =
    std::is_same_v<T, model::Operator> || std::is_same_v<T, model::ImageRef::Kind> ||
    std::is_same_v<T, model::ContainerResources::Kind> || std::is_same_v<T, model::Qos> || std::is_same_v<T, Kind>;

template <typename T>
using ReadParts = std::vector<model::Shared<T>>;

}  // namespace

struct Decoder::Tables {
  std::vector<std::string> words;
  std::vector<Symbol> symbols;  // by word; 0: not asked for yet
  std::size_t word_bytes = 0, part_bytes = 0;
  std::size_t payload_bytes = 0, copied_bytes = 0;  // of the segment so far; of words that came again
  std::tuple<ReadParts<std::vector<model::Label>>, ReadParts<model::OwnerReference>, ReadParts<model::PodRequests>,
             ReadParts<model::NodeSelection>, ReadParts<model::PodSpec>>
      parts;
};

namespace {

template <typename T>
std::vector<T>& elements_of(std::vector<T>& list) {
  return list;
}
template <typename T>
std::vector<T>& elements_of(model::SharedList<T>& list) {
  return list.edit();
}

template <typename Tables>
class PayloadReader {
 public:
  PayloadReader(std::string_view bytes, Tables& tables, SymbolTable& symbols)
      : rest_(bytes), tables_(tables), symbols_(symbols) {}

  bool is_at_end() const noexcept { return rest_.empty(); }
  /// The memory that what was read takes, about.
  std::size_t taken_bytes() const noexcept { return taken_bytes_; }

  template <typename T>
  void number(const char*, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::uint64_t read = varint();
      if (read > 1) throw Malformed{"a yes or no is neither"};
      value = read == 1;
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(k_most<T> > 0, "its values are not known here");
      std::underlying_type_t<T> read{};
      number("", read);
      if (static_cast<std::uint64_t>(read) > k_most<T> || (k_starts_at_1<T> && read == 0))
        throw Malformed{"a value is none of its enumeration"};
      value = static_cast<T>(read);
    } else if constexpr (std::is_signed_v<T>) {
      const std::uint64_t read = varint();
      const auto wide = static_cast<std::int64_t>(read >> 1 ^ (~(read & 1) + 1));
      if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max())
        throw Malformed{"a number is out of its range"};
      value = static_cast<T>(wide);
    } else {
      const std::uint64_t read = varint();
      if (read > std::numeric_limits<T>::max()) throw Malformed{"a number is out of its range"};
      value = static_cast<T>(read);
    }
  }
  /// What older versions end before keeps its value.
  template <typename T>
  void last_number(const char*, T& value) {
    if (!is_at_end()) number("", value);
  }
  void code(const char*, std::uint8_t& value) { number("", value); }
  template <typename T>
  void text(const char*, T& value) {
    const std::string_view read = bytes();
    taken_bytes_ += read.size();
    value = T(std::string(read));
  }
  void json(const char*, std::string& value) { text("", value); }
  template <typename T>
  void word(const char*, T& value) {
    const std::uint64_t tag = varint();
    if (tag == k_none) throw Malformed{"a text is missing"};
    std::string read(tag >= k_first_number ? std::string_view(copied(tables_.words[known_word(tag)])) : next_word(tag));
    taken_bytes_ += sizeof(std::string) + read.size();
    value = T(std::move(read));
  }
  void symbol(const char*, Symbol& value) {
    const std::uint64_t tag = varint();
    if (tag == k_none) {
      value = k_no_symbol;
    } else if (tag >= k_first_number) {
      const std::size_t word = known_word(tag);
      Symbol& known = tables_.symbols[word];
      if (known == k_no_symbol) known = symbols_.intern(tables_.words[word]);
      value = known;
    } else {
      value = symbols_.intern(next_word(tag));
      if (tag == k_remembered) tables_.symbols.back() = value;
    }
  }
  void symbols(const char*, std::vector<Symbol>& values) {
    const std::uint64_t count = element_count();
    taken_bytes_ += count * sizeof(Symbol);
    for (std::uint64_t i = 0; i < count; ++i) symbol("", values.emplace_back());
  }
  template <typename List, typename Fields>
  void list(const char*, List& list, Fields&& fields) {
    const std::uint64_t count = element_count();
    if (count == 0) return;
    auto& elements = elements_of(list);
    taken_bytes_ += count * sizeof(typename std::remove_reference_t<decltype(elements)>::value_type);
    for (std::uint64_t i = 0; i < count; ++i) fields(*this, elements.emplace_back());
  }
  template <typename List>
  void labels(const char*, List& labels) {
    list("", labels, [](auto& in, model::Label& label) { label_fields(in, label); });
    if (labels.empty()) return;
    // Numbers of symbols are this process's.
    auto& elements = elements_of(labels);
    std::sort(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    const auto same = [](const auto& a, const auto& b) { return a.key == b.key; };
    if (std::adjacent_find(elements.begin(), elements.end(), same) != elements.end())
      throw Malformed{"a label is there twice"};
  }
  template <typename T, typename Fields>
  void shared(const char*, model::Shared<T>& value, Fields&& fields) {
    T read;
    taken_bytes_ += sizeof(T);
    fields(*this, read);
    value = model::Shared<T>(std::move(read));
  }
  template <typename T, typename Fields>
  void pointer(const char*, std::shared_ptr<const T>& value, Fields&& fields) {
    bool is_there = false;
    number("", is_there);
    if (!is_there) return;
    auto read = std::make_shared<T>();
    taken_bytes_ += sizeof(T);
    fields(*this, *read);
    complete(*read);
    value = std::move(read);
  }
  template <typename T, typename Fields>
  void object(const char*, T& value, Fields&& fields) {
    fields(*this, value);
  }
  template <typename T>
  void part(const char*, model::Shared<T>& part) {
    const std::size_t left = rest_.size();
    const std::uint64_t tag = varint();
    if (tag == k_none) return;
    auto& table = std::get<ReadParts<T>>(tables_.parts);
    if (tag >= k_first_number) {
      if (tag - k_first_number >= table.size()) throw Malformed{"a part was not written before"};
      part.share(table[tag - k_first_number]);
      return;
    }
    T read;
    taken_bytes_ += sizeof(T);
    part_fields(*this, read);
    check(read);
    model::Shared<T> made(std::move(read));
    part.share(made);
    if (tag != k_remembered) return;
    tables_.part_bytes += left - rest_.size();
    if (table.size() == Encoder::k_parts_max || tables_.part_bytes > Encoder::k_part_bytes_max)
      throw Malformed{"it remembers more parts of pods than there is room for"};
    table.push_back(std::move(made));
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) throw Malformed{"it ends within a number"};
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Malformed{"a number does not end"};
  }
  std::string_view bytes() {
    const std::uint64_t size = varint();
    if (size > rest_.size()) throw Malformed{"it ends within a text"};
    const std::string_view read = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return read;
  }
  /// Each element takes a byte at least.
  std::uint64_t element_count() {
    const std::uint64_t count = varint();
    if (count > rest_.size()) throw Malformed{"a list has more elements than bytes"};
    return count;
  }
  std::size_t known_word(std::uint64_t tag) const {
    if (tag - k_first_number >= tables_.words.size()) throw Malformed{"a text was not written before"};
    return tag - k_first_number;
  }
  std::string_view next_word(std::uint64_t tag) {
    const std::string_view read = bytes();
    if (tag == k_remembered) {
      tables_.word_bytes += read.size();
      if (tables_.words.size() == Encoder::k_words_max || tables_.word_bytes > Encoder::k_word_bytes_max)
        throw Malformed{"it remembers more texts than there is room for"};
      tables_.words.emplace_back(read);
      tables_.symbols.push_back(k_no_symbol);
    }
    return read;
  }
  /// A word takes a byte or two where it comes again, and its whole text in the record: the record's bytes, and those
  /// before them, must make up for it.
  const std::string& copied(const std::string& word) {
    tables_.copied_bytes += word.size();
    if (tables_.copied_bytes > Encoder::copied_bytes_max(tables_.payload_bytes))
      throw Malformed{"its texts come again more often than those of any recording"};
    return word;
  }

  // What the rest of berth takes for granted.
  static void check(const auto&) {}
  void check(const model::PodRequests& requests) {
    static constexpr const char* k_first[] = {"cpu", "memory", "ephemeral-storage"};
    if (requests.resources.size() < std::size(k_first)) throw Malformed{"a pod's requests are not complete"};
    for (std::size_t i = 0; i < std::size(k_first); ++i)
      if (symbols_.text(requests.resources[i].name) != k_first[i])
        throw Malformed{"a pod's requests are not in their order"};
  }
  static void complete(auto&) {}
  static void complete(const model::Object&) {}
  void complete(model::Pod& pod) {
    if (pod.uid.empty() || pod.name.empty()) throw Malformed{"a pod has no name or no uid"};
    if (pod.requests->resources.empty()) throw Malformed{"a pod has no requests"};
    pod.ns_symbol = symbols_.intern(pod.ns.get());
  }
  void complete(model::Node& node) {
    if (node.name.empty()) throw Malformed{"a node has no name"};
    node.name_symbol = symbols_.intern(node.name);
  }

  std::string_view rest_;
  std::size_t taken_bytes_ = 0;
  Tables& tables_;
  SymbolTable& symbols_;
};

}  // namespace

Decoder::Decoder(SymbolTable& symbols) : symbols_(symbols), tables_(std::make_unique<Tables>()) {}
Decoder::~Decoder() = default;

Result<Record> Decoder::decode(std::string_view payload, std::int64_t segment_began_ns) try {
  Record record;
  tables_->payload_bytes += payload.size();
  PayloadReader in(payload, *tables_, symbols_);
  in.number("", record.kind);
  in.number("", record.at_ns);
  if (__builtin_add_overflow(record.at_ns, segment_began_ns, &record.at_ns) || !is_near(record.at_ns))
    return Error{"its moment is out of range"};
  record_fields(in, record);
  if (!is_near(record.wall_ns)) return Error{"its moment is out of range"};
  if (record.attempt.took_ns < 0 || !is_near(record.attempt.took_ns))
    return Error{"it took a time that is out of range"};
  if (record.kind == Kind::attempt && record.attempt.way == Way::planned && record.attempt.needed == 0)
    return Error{"a plan needs no member"};
  if (!in.is_at_end()) return Error{"a record has more than it should"};
  const bool needs_pod =
      record.kind == Kind::placed_pod || record.kind == Kind::waiting_pod || record.kind == Kind::attempt;
  if ((needs_pod && record.pod == nullptr) || (record.kind == Kind::node && record.node == nullptr) ||
      ((record.kind == Kind::object || record.kind == Kind::object_gone) && record.object == nullptr) ||
      (record.kind == Kind::nominations && record.nominations == nullptr) ||
      (record.kind == Kind::write && record.written == nullptr) ||
      (record.kind == Kind::plugin_times && record.plugin_times == nullptr))
    return Error{"a record lacks what it is about"};
  if (record.kind == Kind::placed_pod && record.pod->node_name == k_no_symbol && record.text.empty())
    return Error{"a placed pod has no node"};
  record.bytes = sizeof(Record) + in.taken_bytes();
  return record;
} catch (const Malformed& malformed) {
  return Error{malformed.what};
} catch (const SymbolTableFull& full) {
  return Error{full.what()};
} catch (const std::bad_alloc&) {
  return Error{"there is not enough memory for it"};
}

}  // namespace berth::recording
