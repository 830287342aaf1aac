// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

/// What Kubernetes accepts as a name. Internal to core/decode.
namespace berth::decode {

/// What is wrong with it in upstream's words, joined with "; ". Requires: !is_label_key(key), !is_label_value(value).
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/api/validate/content/kube.go.
std::string label_key_error(std::string_view key);
std::string label_value_error(std::string_view value);
bool is_label_key(std::string_view key) noexcept;
bool is_label_value(std::string_view value) noexcept;

/// Classes of resource names. Source: kubernetes v1.36 pkg/apis/core/v1/helper/helpers.go and
/// pkg/scheduler/util/utils.go.
bool is_extended_resource(std::string_view name) noexcept;
/// A resource other than cpu, memory, ephemeral-storage and pods that scheduling counts; other names are dropped.
bool is_scalar_resource(std::string_view name) noexcept;
/// A resource that may be given for the pod as a whole.
bool is_pod_level_resource(std::string_view name) noexcept;

}  // namespace berth::decode
