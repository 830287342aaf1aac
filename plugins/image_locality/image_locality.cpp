// SPDX-License-Identifier: Apache-2.0
// ImageLocality: prefers nodes that already have the pod's images.
//
// Assumes: an image that few nodes have should not gather all its pods there, so sizes are scaled by the share of nodes
//          that have the image.
// Decides: the scaled sizes are added up per node and mapped linearly from [23 MiB, 1000 MiB per container] to [0,
//          100].
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/imagelocality.
#include <berth/plugin.hpp>

namespace {

constexpr std::int64_t k_mebibyte = 1024 * 1024;
constexpr std::int64_t k_min_threshold = 23 * k_mebibyte;
constexpr std::int64_t k_max_threshold_per_container = 1000 * k_mebibyte;

class ImageLocality {
 public:
  static constexpr berth::Identity identity{.name = "ImageLocality",
                                            .version = "1.0.0",
                                            .summary = "Prefers nodes that already have the pod's images.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC};
  static constexpr const char* services[] = {berth::Sets::id};
  /// Rejects nothing, so no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit ImageLocality(berth::Setup& setup) : sets_(setup.service<berth::Sets>()), images_(setup.image_set()) {
    setup.pod_fields(BERTH_POD_IMAGES);
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& nodes) const {
    const berth::Pod pod = cycle.pod();
    berth::SetMemo<std::int64_t> scores;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      each_distinct(nodes.word(w)[images_], berth::Mask(nodes.candidates(w)), [&](berth::Id set, berth::Mask rows) {
        nodes.set(w, rows, scores.get(set, [&](std::uint32_t s) { return score_of(pod, s, cycle.node_count()); }));
      });
    }
  }

 private:
  std::int64_t score_of(berth::Pod pod, std::uint32_t set, std::uint32_t total_nodes) const {
    const auto present = sets_.images(set);
    std::int64_t sum = 0;
    for (const berth_image_ref_v1& image : pod.images()) {
      const auto at = std::lower_bound(present.begin(), present.end(), image.name,
                                       [](const berth_image_v1& i, berth::Id name) { return i.name < name; });
      if (at == present.end() || at->name != image.name) continue;
      const double spread = static_cast<double>(at->node_count) / static_cast<double>(total_nodes);
      sum += static_cast<std::int64_t>(static_cast<double>(at->size_bytes) * spread);
    }
    const std::int64_t max_threshold = k_max_threshold_per_container * pod.container_count();
    // Not std::clamp, whose bounds must be ordered: without containers these are not.
    if (sum < k_min_threshold) {
      sum = k_min_threshold;
    } else if (sum > max_threshold) {
      sum = max_threshold;
    }
    return berth::scaled_quotient(sum - k_min_threshold, BERTH_SCORE_MAX, max_threshold - k_min_threshold);
  }

  berth::Sets sets_;
  berth::IdColumn images_;
};

}  // namespace

BERTH_PLUGIN(ImageLocality)
