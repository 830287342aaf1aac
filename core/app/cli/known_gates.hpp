// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace berth::app {

/// How far a feature is. none: no such gate, or not yet in that version.
enum class Stage : std::uint8_t { none, alpha, beta, ga, deprecated };
/// "ALPHA", as kubernetes_feature_enabled has it; empty for GA.
std::string_view stage_name(Stage stage) noexcept;

/// A feature gate as a version of kube-scheduler knows it.
struct GateStage {
  int since_minor = 0;  // the minor version of Kubernetes 1 that began it; 0: 33 or an earlier one
  Stage stage = Stage::none;
  bool is_on = false;  // without a word about it
  bool is_locked = false;
};

/// True for the feature gates of kube-scheduler v1.36, most of which are about other programs of Kubernetes.
bool is_known_gate(std::string_view name) noexcept;
/// The gate as v1.MINOR has it. Requires: 33 <= minor <= 36.
GateStage gate_stage(std::string_view name, int minor) noexcept;

}  // namespace berth::app
