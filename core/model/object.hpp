// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace berth::model {

/// Any API object that berth keeps only because a plugin watches its resource.
struct Object {
  std::string resource;  // "core/v1/services", "apps/v1/replicasets"
  std::string ns, name, uid, resource_version;
  std::string json;                       // compact, whole
  bool waits_for_first_consumer = false;  // a StorageClass whose volumes are made where the first pod is
};
using ObjectPtr = std::shared_ptr<const Object>;

}  // namespace berth::model
