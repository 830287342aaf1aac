// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/utf8.hpp"
#include "text/builder.hpp"
#include "text/parse.hpp"
#include "text/yaml_scalar.hpp"

namespace berth::text {
namespace {

constexpr std::size_t k_max_alias_values = 1'000'000;

Position position_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

/// Turns yaml-cpp's events into values. Throws Fault, which parse_yaml() catches.
/// Aliases share the anchored value instead of copying it; what they would be when written out is counted, because
/// every reader walks them as if they were.
class YamlTree final : public YAML::EventHandler {
 public:
  /// The document of the last events, or nothing when it was empty.
  std::optional<Document> take(const std::string& file) {
    if (!root_ || root_->is_null()) return std::nullopt;
    return builder_->finish(*root_, file);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp makes endless empty documents of a token that none can start with (", a").
    if (document_at_ == mark.pos) throw Fault{position_of(mark), "no value can start here"};
    document_at_ = mark.pos;
    builder_.emplace();
    root_.reset();
    anchors_.clear();
    frames_.clear();
    members_.clear();
    elements_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Builder::scalar(Kind::null, position_of(mark), {}), {}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Fault{position_of(mark), "an alias inside of what it names"};
    alias_values_ += found->second.size.values;
    if (alias_values_ > k_max_alias_values)
      throw Fault{position_of(mark), "aliases stand for more than " + std::to_string(k_max_alias_values) + " values"};
    add(Builder::at(found->second.value, position_of(mark)), found->second.size, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    // The bytes were UTF-8; yaml-cpp makes a lone Latin-1 byte of the escapes \N and \_.
    if (!simdjson::validate_utf8(text.data(), text.size()))
      throw Fault{position_of(mark), "an escape that is no character here; write \\u0085 or \\u00a0"};
    const bool plain = tag == "?" || tag.empty();
    const bool resolve = plain || tag == "tag:yaml.org,2002:int" || tag == "tag:yaml.org,2002:float" ||
                         tag == "tag:yaml.org,2002:bool" || tag == "tag:yaml.org,2002:null";
    const PlainScalar scalar = resolve ? resolve_plain(text) : PlainScalar{Kind::string, text};
    const std::string_view kept = builder_->keep(scalar.text);
    merge_key_ = plain && text == "<<";
    add(Builder::scalar(scalar.kind, position_of(mark), kept), {}, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::mapping, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Size {
    std::size_t values = 1;  // with everything below, aliases written out
    int height = 0;
  };
  struct Anchored {
    Value value;
    Size size;
  };
  struct Frame {
    Kind kind;
    Position position;
    YAML::anchor_t anchor;
    std::size_t base;  // first of its own in members_ or elements_
    Size size;
    bool has_key = false;
    bool merging = false;  // the key is a plain "<<"
    std::string_view key;
    Position key_position;
    std::vector<Value> merged;
  };

  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (frames_.size() >= static_cast<std::size_t>(k_max_depth))
      throw Fault{position_of(mark), "nested deeper than " + std::to_string(k_max_depth) + " levels"};
    if (!frames_.empty() && frames_.back().kind == Kind::mapping && !frames_.back().has_key)
      throw Fault{position_of(mark), "a key must be a scalar"};
    frames_.push_back({.kind = kind,
                       .position = position_of(mark),
                       .anchor = anchor,
                       .base = kind == Kind::mapping ? members_.size() : elements_.size(),
                       .size = {},
                       .key = {},
                       .key_position = {},
                       .merged = {}});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.kind == Kind::sequence) {
      const Value value = builder_->sequence(frame.position, std::span<const Value>(elements_).subspan(frame.base));
      elements_.resize(frame.base);
      add(value, frame.size, frame.anchor);
      return;
    }
    if (!frame.merged.empty()) merge(frame);
    const Value value = builder_->mapping(frame.position, std::span<const Member>(members_).subspan(frame.base));
    members_.resize(frame.base);
    add(value, frame.size, frame.anchor);
  }

  /// Members of merged mappings come first and only where the mapping itself, or an earlier merged one, has no such
  /// key.
  void merge(const Frame& frame) {
    std::unordered_set<std::string_view> known;
    for (std::size_t i = frame.base; i < members_.size(); ++i) known.insert(members_[i].key);
    std::vector<Member> inherited;
    const auto inherit = [&](const Value& mapping) {
      if (!mapping.is_mapping()) throw Fault{mapping.position(), "'<<' takes a mapping or a list of mappings"};
      for (const Member& member : mapping.members())
        if (known.insert(member.key).second) inherited.push_back(member);
    };
    for (const Value& value : frame.merged) {
      if (!value.is_sequence()) inherit(value);
      for (const Value& element : value.elements()) inherit(element);
    }
    members_.insert(members_.begin() + static_cast<std::ptrdiff_t>(frame.base), inherited.begin(), inherited.end());
  }

  void add(const Value& value, Size size, YAML::anchor_t anchor) {
    if (frames_.size() + static_cast<std::size_t>(size.height) > static_cast<std::size_t>(k_max_depth))
      throw Fault{value.position(), "nested deeper than " + std::to_string(k_max_depth) + " levels"};
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {value, size};
    const bool merge_key = std::exchange(merge_key_, false);
    if (frames_.empty()) {
      root_ = value;
      return;
    }
    Frame& frame = frames_.back();
    frame.size.values += size.values;
    frame.size.height = std::max(frame.size.height, size.height + 1);
    if (frame.kind == Kind::sequence) {
      elements_.push_back(value);
    } else if (!frame.has_key) {
      if (value.is_mapping() || value.is_sequence()) throw Fault{value.position(), "a key must be a scalar"};
      frame.has_key = true;
      frame.merging = merge_key;
      frame.key = value.is_null() ? std::string_view("null") : value.text();
      frame.key_position = value.position();
    } else {
      frame.has_key = false;
      if (frame.merging) {
        frame.merged.push_back(value);
      } else {
        members_.push_back({frame.key, frame.key_position, value});
      }
    }
  }

  std::optional<Builder> builder_;
  std::optional<Value> root_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Frame> frames_;
  std::vector<Member> members_;   // of all open mappings
  std::vector<Value> elements_;   // of all open sequences
  std::size_t alias_values_ = 0;  // over the whole text
  int document_at_ = -1;          // where the last document started
  bool merge_key_ = false;        // the scalar being added is a plain "<<"
};

/// yaml-cpp takes byte 4 for the end of its input and passes other control characters on; YAML allows none of them.
std::optional<Fault> refuse_bytes(std::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return Fault{position_at(text, find_invalid_utf8(text)), "not UTF-8"};
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
  });
  if (bad == text.end()) return std::nullopt;
  return Fault{position_at(text, static_cast<std::size_t>(bad - text.begin())), "control character"};
}

/// yaml-cpp closes a quoted scalar that is still open at the end of the text when only spaces follow its last line, so
/// a truncated file would pass. A document end marker there makes it look.
std::string with_document_end(std::string_view text) {
  std::string out(text);
  const std::size_t newline = text.rfind('\n');
  if (newline == std::string_view::npos || text.find_first_not_of(" \t\r", newline + 1) != std::string_view::npos)
    return out;
  out += newline + 1 == text.size() ? "...\n" : "\n...\n";
  return out;
}

}  // namespace

std::vector<Document> parse_yaml(std::string_view text, std::string file, Diagnostics& diagnostics) {
  std::vector<Document> documents;
  const auto malformed = [&](Position position, const std::string& message) {
    diagnostics.add(file, position, {}, "malformed YAML: " + message);
  };
  if (const auto fault = refuse_bytes(text)) {
    malformed(fault->position, fault->message);
    return documents;
  }
  try {
    std::istringstream stream(with_document_end(text));
    YAML::Parser parser(stream);
    YamlTree tree;
    while (parser.HandleNextDocument(tree))
      if (auto document = tree.take(file)) documents.push_back(std::move(*document));
  } catch (const Fault& fault) {
    malformed(fault.position, fault.message);
  } catch (const YAML::Exception& error) {
    malformed(position_of(error.mark), error.msg);
  } catch (const std::exception& error) {
    malformed({}, error.what());
  }
  return documents;
}

}  // namespace berth::text
