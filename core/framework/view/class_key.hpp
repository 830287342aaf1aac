// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "model/pod.hpp"

namespace berth::framework {

/// Appends field values to the key of a class of pods so that different values never give equal bytes: every list and
/// text carries its length. Lifetime: `out` outlives it. Threads: one at a time.
class ClassKey {
 public:
  explicit ClassKey(std::string& out) : out_(out) {}
  template <typename T>
  void number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, sizeof(T));
  }
  template <typename... T>
  void numbers(T... values) {
    (number(values), ...);
  }
  /// Up to eight yes-or-no values in one byte.
  template <typename... Flags>
  void flags(Flags... values) {
    unsigned byte = 0;
    ((byte = byte << 1 | static_cast<unsigned>(static_cast<bool>(values))), ...);
    number(static_cast<std::uint8_t>(byte));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
  }
  template <typename List, typename Each>
  void list(const List& values, Each&& each) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) each(value);
  }
  template <typename List>
  void symbols(const List& values) {
    list(values, [&](Symbol value) { number(value); });
  }
  void labels(const model::Labels& values) {
    list(values, [&](const model::Label& l) { numbers(l.key, l.value); });
  }
  void requirements(const std::vector<model::Requirement>& values) {
    list(values, [&](const model::Requirement& r) {
      numbers(r.key, r.op, r.number);
      symbols(r.values);
    });
  }
  void selector(const model::Selector& s) {
    number(s.kind);
    requirements(s.requirements);
    text(s.error);
  }
  void terms(const std::vector<model::AffinityTerm>& values) {
    list(values, [&](const model::AffinityTerm& t) {
      selector(t.selector);
      selector(t.namespace_selector);
      symbols(t.namespaces);
      numbers(t.topology_key, t.weight);
    });
  }
  void node_terms(const std::vector<model::NodeTerm>& values) {
    list(values, [&](const model::NodeTerm& t) {
      requirements(t.expressions);
      requirements(t.fields);
      number(t.weight);
      text(t.error);
    });
  }

 private:
  std::string& out_;
};

}  // namespace berth::framework
