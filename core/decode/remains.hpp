// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "model/pod.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// What an object is called; what is not there, or no text, is empty.
struct ObjectIdentity {
  std::string ns, name, uid;
};

/// What can be read of an object that is not decoded. An object whose name cannot be read can be anywhere.
struct Remains {
  ObjectIdentity identity;
  /// Of pods: false when the pod is known to be on no node.
  bool may_be_bound = false;
  std::string node;  // of pods: spec.nodeName; empty: it cannot be read
  /// A pod on a known node with a name, as far as it can be read, so that its node is charged; else null.
  model::PodPtr pod;
  /// All that its node is charged with was read.
  bool is_charge_known = false;
};

inline constexpr std::size_t k_name_bytes_max = 253;  // apimachinery/pkg/util/validation (DNS1123SubdomainMaxLength)

/// Of a pod (no matter what kind it says to be): "default" stands for no namespace, and no name is
/// longer than k_name_bytes_max.
ObjectIdentity identity_of(const text::Value& object, bool is_pod);

}  // namespace berth::decode
