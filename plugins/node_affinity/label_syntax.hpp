// SPDX-License-Identifier: Apache-2.0
/// What Kubernetes accepts as the key and value of a label, in its words.
/// Source: kubernetes v1.36 apimachinery/pkg/api/validate/content.
#pragma once
#include <string>
#include <string_view>

namespace node_affinity {

/// Empty when `key` is a label key, else what is wrong with it.
std::string label_key_error(std::string_view key);
/// Empty when `value` is a label value, else what is wrong with it.
std::string label_value_error(std::string_view value);

}  // namespace node_affinity
