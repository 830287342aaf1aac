// SPDX-License-Identifier: Apache-2.0
#include "decode/selectors/label_query.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string>
#include <vector>

namespace berth::decode {
namespace {

using model::Operator;
constexpr std::string_view k_space = " \t\r\n";
constexpr std::string_view k_word_ends = " \t\r\n,()=!<>";

class LabelQuery {
 public:
  LabelQuery(std::string_view text, SymbolTable& symbols) : text_(text), symbols_(symbols) {}

  Result<model::Selector> read() {
    model::Selector selector;
    selector.kind = model::Selector::Kind::match;
    skip_space();
    if (at_ == text_.size()) return selector;
    for (;;) {
      model::Requirement requirement;
      if (Status read = read_requirement(requirement); !read.ok()) return read.error();
      selector.requirements.push_back(std::move(requirement));
      skip_space();
      if (at_ == text_.size()) return selector;
      if (!take(",")) return wanted("\",\"");
    }
  }

 private:
  Error wanted(std::string_view what) const {
    const std::string_view rest = text_.substr(at_);
    return {rest.empty() ? fmt::format("{} is missing at the end of \"{}\"", what, text_)
                         : fmt::format("{} is missing before \"{}\"", what, rest.substr(0, 60))};
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(k_space, at_), text_.size()); }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string_view word() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(k_word_ends, at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }

  Status read_requirement(model::Requirement& requirement) {
    const bool absent = take("!");
    const std::string_view key = word();
    if (key.empty()) return wanted("a label's key");
    requirement.key = symbols_.intern(key);
    requirement.op = absent ? Operator::does_not_exist : Operator::exists;
    skip_space();
    if (absent || at_ == text_.size() || text_[at_] == ',') return Unit{};
    if (take("!=")) return read_value(requirement, Operator::not_in);
    if (take("==") || take("=")) return read_value(requirement, Operator::in);
    const std::size_t before = at_;
    const std::string_view name = word();
    if (name == "in") return read_values(requirement, Operator::in);
    if (name == "notin") return read_values(requirement, Operator::not_in);
    at_ = before;
    return wanted("=, !=, in or notin");
  }
  Status read_value(model::Requirement& requirement, Operator op) {
    requirement.op = op;
    requirement.values.push_back(symbols_.intern(word()));
    return Unit{};
  }
  Status read_values(model::Requirement& requirement, Operator op) {
    requirement.op = op;
    if (!take("(")) return wanted("\"(\"");
    for (;;) {
      requirement.values.push_back(symbols_.intern(word()));
      if (take(")")) return Unit{};
      if (!take(",")) return wanted("\",\" or \")\"");
    }
  }

  const std::string_view text_;
  SymbolTable& symbols_;
  std::size_t at_ = 0;
};

}  // namespace

Result<model::Selector> parse_label_query(std::string_view text, SymbolTable& symbols) {
  if (text.size() > k_label_query_bytes_max)
    return Error{fmt::format("{} bytes are too many: {} is the limit", text.size(), k_label_query_bytes_max)};
  return LabelQuery(text, symbols).read();
}

}  // namespace berth::decode
