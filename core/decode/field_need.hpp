// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/field_need.hpp"
#include "model/pod.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// Needs, split once so that judging a pod allocates nothing unless something is found.
class FieldNeeds {
 public:
  FieldNeeds() = default;
  explicit FieldNeeds(std::vector<model::FieldNeed> needs);
  /// At most one entry per plugin, in the order of the needs; `field` is the first test's path.
  std::vector<model::PodSpec::Unsupported> of(const text::Value& pod) const;
  bool empty() const noexcept { return needs_.empty(); }

 private:
  struct Step {
    std::string name;
    bool each = false;  // "name[]"
  };
  struct Test {
    std::vector<Step> steps;
    std::optional<std::string> equals;
  };
  struct Need {
    std::string plugin, field;
    std::vector<Test> all_of;
  };
  static bool holds(const text::Value& value, const Test& test, std::size_t step);
  std::vector<Need> needs_;
};

}  // namespace berth::decode
