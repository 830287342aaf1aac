// SPDX-License-Identifier: Apache-2.0
#include "withheld.hpp"

namespace dynamic_resources {
namespace {

using berth::Json;

/// Finds members and items by quotes and brackets alone, so that depth does not matter.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  /// Of an object: `use(key, value)` for each member, key without quotes. Of a list: `use("", value)` for each item. False: the
  /// text ends early, or is neither.
  template <class Use>
  bool each(Use&& use) {
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
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
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
  /// Empty: the text ends before the value does.
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
        ++open;
      } else if (c == '}' || c == ']') {
        if (open == 0) return text_.substr(begin, at_ - begin);
        if (--open == 0) return text_.substr(begin, ++at_ - begin);
      } else if (open == 0 && (c == ',' || c == ':')) {
        return text_.substr(begin, at_ - begin);
      }
      ++at_;
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Part {
  bool is_known = false;  ///< the text could be gone through
  std::string_view text;  ///< empty: no such member
};
/// As berth::Json: of a key that occurs twice the last.
Part member_of(std::string_view object, std::string_view key) {
  Part part;
  part.is_known = Scan(object).each([&](std::string_view name, std::string_view value) {
    if (name == key) part.text = value;
  });
  return part;
}

std::optional<Json> parsed_if_possible(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const berth::JsonError&) {
    return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<const AllocationObject> read_allocation_partly(std::string_view status) {
  auto made = std::make_shared<AllocationObject>();
  if (status.empty()) return nullptr;
  const Part allocation = member_of(status, "allocation");
  if (!allocation.is_known) {
    made->withheld.emplace_back();
    return made;
  }
  if (allocation.text.empty() || allocation.text == "null") return nullptr;
  const Part selector = member_of(allocation.text, "nodeSelector");
  std::optional<Json> nodes;
  if (selector.is_known) nodes = selector.text.empty() ? Json() : parsed_if_possible(selector.text);
  const Withheld unknown = nodes ? withheld_on(*nodes) : Withheld();
  const Part devices = member_of(allocation.text, "devices");
  const Part results = member_of(devices.text, "results");
  if (!devices.is_known || !results.is_known) {
    made->withheld.push_back(unknown);
    return made;
  }
  if (results.text.empty()) return made;
  const bool is_whole = Scan(results.text).each([&](std::string_view, std::string_view item) {
    const std::optional<Json> result = parsed_if_possible(item);
    if (result) return add_result(*result, unknown, *made);
    Withheld entry = unknown;
    const auto name = [&](std::string_view key) {
      const std::optional<Json> text = parsed_if_possible(member_of(item, key).text);
      return text && text->is_string() ? text->string(key) : std::string();
    };
    entry.driver = name("driver");
    entry.pool = name("pool");
    entry.device = name("device");
    made->withheld.push_back(std::move(entry));
  });
  if (!is_whole) made->withheld.push_back(unknown);
  return made;
}

bool withholds(const Withheld& entry, const dra::Slice& slice, std::string_view device) {
  const auto may_be = [](const std::string& known, std::string_view is) { return known.empty() || known == is; };
  if (!may_be(entry.driver, slice.driver) || !may_be(entry.pool, slice.pool) || !may_be(entry.device, device))
    return false;
  const std::string& at = slice.nodes.node_name;
  if (!entry.driver.empty() && !entry.pool.empty()) return true;  // a pool's name says more than nodes do
  return at.empty() || entry.nodes == Withheld::Nodes::any || (entry.nodes == Withheld::Nodes::one && entry.node == at);
}

std::string_view member_text(std::string_view object, std::string_view key) { return member_of(object, key).text; }

std::string with_member_text(std::string_view object, std::string_view key, std::string_view value) {
  std::string out = "{";
  const auto put = [&](std::string_view name, std::string_view text) {
    if (out.size() > 1) out += ',';
    out += '"';
    out += name;
    out += "\":";
    out += text;
  };
  Scan(object).each([&](std::string_view name, std::string_view text) {
    if (name != key) put(name, text);
  });
  put(key, value);
  return out += '}';
}

}  // namespace dynamic_resources
