// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/pod.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// One pod field. `path` descends by '.', and "[]" after a name means "in any element": "spec.volumes[].rbd".
/// Holds when the field is there and neither null, "" nor []; with `equals`, when its scalar text is that as well.
struct FieldTest {
  std::string path;
  std::optional<std::string> equals = {};
};

/// A pod needs `plugin` when all tests hold. Data of a configuration: the decoder knows no plugin names.
struct FieldNeed {
  std::string plugin;
  std::vector<FieldTest> all_of;
};

/// FieldNeeds, split once so that judging a pod allocates nothing unless something is found.
class FieldNeeds {
 public:
  FieldNeeds() = default;
  explicit FieldNeeds(std::vector<FieldNeed> needs);
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
