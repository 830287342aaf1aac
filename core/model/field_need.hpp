// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace berth::model {

/// One pod field. `path` descends by '.', and "[]" after a name means "in any element": "spec.volumes[].rbd".
/// Holds when the field is there and neither null, "" nor []; with `equals`, when its scalar text is that as well.
struct FieldCondition {
  std::string path;
  std::optional<std::string> equals = {};
};

/// A pod needs `plugin` when all conditions hold. Data of a configuration; the decoder judges it, and knows no plugin names.
struct FieldNeed {
  std::string plugin;
  std::vector<FieldCondition> all_of;
};

}  // namespace berth::model
