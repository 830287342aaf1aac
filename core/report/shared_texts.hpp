// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "model/shared.hpp"

namespace berth::report {

/// One copy of each text that many lines of a report say: names of nodes, and why pods have none.
/// Memory: that of the distinct texts, each held until this ends. Threads: one.
class SharedTexts {
 public:
  model::SharedText of(std::string_view text) {
    if (text.empty()) return {};
    const auto known = texts_.find(text);
    return known != texts_.end() ? *known : *texts_.insert(model::SharedText(text)).first;
  }
  model::SharedText shared(const model::SharedText& text) {
    return text.is_none() ? model::SharedText() : *texts_.insert(text).first;
  }
  std::size_t size() const noexcept { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  boost::unordered_flat_set<model::SharedText, Hash, Equal> texts_;
};

}  // namespace berth::report
