// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/ext/pods.h"
#include "framework/arena.hpp"
#include "framework/view/class_key.hpp"
#include "model/pod.hpp"

namespace berth::framework {

/// What has been made of a pod for the plugin ABI.
struct PodParts {
  const model::Pod* pod = nullptr;
  Arena* arena = nullptr;
  berth_pod_v1 full{};
  // Of groups whose fields depend on the pod.
  std::span<const berth_volume_v1> node_volumes;  // the STORAGE group: volumes without those of kind OTHER
  bool names_claims = false;                      // the STORAGE group shows name and uid
  bool shows_claims = false;                      // the CLAIMS group says more than that there are none
};

/// Four or eight bytes of berth_pod_v1, and what they are where no group that fills them was asked for and a read of them
/// is to be found out.
struct PodFieldBytes {
  enum class Trap : std::uint8_t { none, address, one, number };
  std::uint16_t offset = 0;
  std::uint8_t bytes = 0;
  Trap trap = Trap::none;
};

/// A group of pod fields, BERTH_POD_*: all that the host does with it. Several groups may fill one field.
struct PodFieldGroup {
  std::uint64_t bit = 0;
  std::span<const PodFieldBytes> fields;
  void (*build)(PodParts& parts) = nullptr;  // the fields in `full`, once for a pod
  /// The values by which pods differ; null: each pod is a class of its own.
  void (*write_key)(const model::Pod& pod, ClassKey& key) = nullptr;
  /// Copies what the group shows of this pod to a view in which earlier groups are already; null: all of its fields.
  void (*show)(const PodParts& parts, berth_pod_v1& view) = nullptr;
};

/// In the order of their bits. Threads: any.
std::span<const PodFieldGroup> pod_field_groups() noexcept;

/// The bits of all of them.
inline constexpr std::uint64_t k_pod_groups = ((std::uint64_t{BERTH_POD_QOS} << 1) - 1) | BERTH_POD_JSON;

void copy_fields(std::span<const PodFieldBytes> fields, const berth_pod_v1& from, berth_pod_v1& to) noexcept;

const berth_label_v1* labels_view(const model::Labels& labels) noexcept;
/// Affinity terms in ABI shape, for pods that are known by their shape only.
const berth_affinity_v1* affinity_view(const model::PodAffinity& affinity, Arena& arena);

inline berth_str to_abi(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view from_abi(berth_str text) noexcept {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

}  // namespace berth::framework
