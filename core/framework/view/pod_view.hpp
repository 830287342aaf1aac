// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "berth/ext/pods.h"
#include "framework/arena.hpp"
#include "model/pod.hpp"

namespace berth::framework {

/// Which parts of a pod one plugin instance asked for. Constant after create().
struct PodFields {
  std::uint64_t groups = 0;      // BERTH_POD_*
  std::vector<Symbol> labels;    // single labels, sorted; used when the LABELS group is not requested
  std::vector<Symbol> requests;  // resources by name, in the order of berth_pod_v1::requests
  bool is_trapped = false;       // what was not asked for are traps: see pods.h
};

/// The groups that PodView shows.
inline constexpr std::uint64_t k_pod_groups = ((std::uint64_t{BERTH_POD_QOS} << 1) - 1) | BERTH_POD_JSON;

/// Where the traps of fields that were not asked for point: pages that cannot be read. A signal with such an address is of a
/// plugin that reads them.
struct PodTrap {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};
/// Made at the first call. Threads: any.
PodTrap pod_trap();

/// A pod in the shapes of the plugin ABI.
///
/// Made from a model::Pod into an arena, group by group on demand, so that a plain pod costs little; view() then gives
/// each instance exactly the groups it asked for. Lifetime: pod and arena must outlive it. Threads: one at a time.
class PodView {
 public:
  void reset(const model::Pod& pod, Arena& arena) noexcept {
    pod_ = &pod;
    arena_ = &arena;
    built_ = 0;
    full_ = {};
  }
  const model::Pod& pod() const noexcept { return *pod_; }
  /// The pod restricted to `fields`, in the arena.
  const berth_pod_v1* view(const PodFields& fields);
  /// All resources of the pod in view order.
  std::span<const berth_resource_v1> resources();

 private:
  void build(std::uint64_t groups);
  static void trap(const PodFields& fields, berth_pod_v1& view);
  void build_selection();
  void build_affinity();
  void build_spread();
  void build_storage();
  void build_claims();
  void build_containers();
  void build_uid();
  void build_json();

  const model::Pod* pod_ = nullptr;
  Arena* arena_ = nullptr;
  std::uint64_t built_ = 0;
  berth_pod_v1 full_{};
  // The STORAGE group: volumes again, without those of kind OTHER.
  std::span<const berth_volume_v1> storage_;
  bool names_claims_ = false;
  bool shows_claims_ = false;  // the CLAIMS group says more than that there are none
  berth_str uid_{};
  berth_str json_{};  // the pod's body as a whole object; empty: bodies are not kept
};

/// Affinity terms in ABI shape, for pods that are known by their shape only.
const berth_affinity_v1* affinity_view(const model::PodAffinity& affinity, Arena& arena);

inline berth_str to_abi(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view from_abi(berth_str text) noexcept {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

}  // namespace berth::framework
