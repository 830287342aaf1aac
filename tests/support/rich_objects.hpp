// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace berth::tests {

struct RichObject {
  std::string collection;  // "/api/v1/namespaces/NS/pods"
  std::string resource;    // "core/v1/pods"
  std::string text;        // JSON that an API server accepts
};

/// Objects of the kinds that scheduling reads, with something in many of their fields. `ns` exists; `name` starts all
/// names, those of objects without a namespace too.
std::vector<RichObject> rich_objects(const std::string& ns, const std::string& name);

}  // namespace berth::tests
