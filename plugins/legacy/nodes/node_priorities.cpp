// SPDX-License-Identifier: Apache-2.0
// Priorities about one node and one pod: affinity, taints, images, the annotation of nodes that want to be avoided.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/{node_affinity,taint_toleration,image_locality,
// node_prefer_avoid_pods}.go.
#include <berth/plugin.hpp>

#include "../../node_affinity/label_rows.hpp"
#include "../v1_16_args.hpp"
#include "../v1_16_scores.hpp"

namespace berth::legacy {
namespace {

/// Weights of preferred terms by their expressions alone: fields are not looked at, and a term without expressions
/// matches nothing.
class NodeAffinityPriority {
 public:
  static constexpr Identity identity =
      identity_of("NodeAffinityPriority", "Prefers the nodes that the pod's node affinity prefers.", k_static_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Intern::id, Sets::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit NodeAffinityPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())),
        matcher_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        labels_(setup.label_set()),
        name_(setup.name()) {
    setup.pod_fields(BERTH_POD_NODE_SELECTION);
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Mask wanted(block.candidates(w));
      if (!wanted.any()) continue;
      node_affinity::LabelRows rows(block.word(w), wanted, sets_, labels_, name_);
      block.set(w, wanted, 0);
      for (NodeTerm term : span_of(selection.preferred, selection.preferred_count)) {
        if (term.weight == 0) continue;
        if (term.invalid != 0) throw Failure(std::string(view(term.error)));
        term.field_count = 0;
        node_affinity::ColumnCursor no_columns({});
        const Mask matching = node_affinity::matches(term, rows, no_columns, matcher_);
        each_bit(matching.bits(), [&](std::uint32_t bit) { block(w * 64 + bit) += term.weight; });
      }
    }
  }
  void normalize(const Cycle&, std::span<const Slot>, std::span<std::int64_t> scores) const {
    reduce(scores, max_score_, false);
  }

 private:
  std::int64_t max_score_;
  NodeMatcher matcher_;
  Sets sets_;
  IdColumn labels_;
  IdColumn name_;
};

/// Fewer untolerated taints of the effect PreferNoSchedule are better.
class TaintTolerationPriority {
 public:
  static constexpr Identity identity = identity_of(
      "TaintTolerationPriority", "Prefers nodes with fewer taints that the pod does not tolerate.", k_static_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Sets::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit TaintTolerationPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())), sets_(setup.service<Sets>()), taints_(setup.taint_set()) {
    setup.pod_fields(BERTH_POD_TOLERATIONS);
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const auto tolerations = cycle.pod().tolerations();
    SetMemo<std::int64_t> counts;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      each_distinct(block.word(w)[taints_], Mask(block.candidates(w)), [&](Id set, Mask rows) {
        block.set(w, rows, counts.get(set, [&](std::uint32_t s) { return untolerated(s, tolerations); }));
      });
    }
  }
  void normalize(const Cycle&, std::span<const Slot>, std::span<std::int64_t> scores) const {
    reduce(scores, max_score_, true);
  }

 private:
  std::int64_t untolerated(std::uint32_t set, std::span<const Toleration> tolerations) const {
    const auto taints = sets_.taints(set);
    return std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
      // A toleration of another effect does not match in any case.
      return taint.effect == BERTH_EFFECT_PREFER_NO_SCHEDULE && !tolerated(taint, tolerations);
    });
  }

  std::int64_t max_score_;
  Sets sets_;
  IdColumn taints_;
};

/// Bytes of the containers' images that a node has, scaled by the share of nodes that have them, between two thresholds
/// that do not depend on the number of containers.
class ImageLocalityPriority {
 public:
  static constexpr Identity identity = identity_of(
      "ImageLocalityPriority", "Prefers nodes that already have the images of the pod's containers.", k_static_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr const char* services[] = {Sets::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit ImageLocalityPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())), sets_(setup.service<Sets>()), images_(setup.image_set()) {
    setup.pod_fields(BERTH_POD_IMAGES);
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    SetMemo<std::int64_t> scores;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      each_distinct(block.word(w)[images_], Mask(block.candidates(w)), [&](Id set, Mask rows) {
        block.set(w, rows,
                  scores.get(set, [&](std::uint32_t s) { return score_of(cycle.pod(), s, cycle.node_count()); }));
      });
    }
  }

 private:
  static constexpr std::int64_t k_mebibyte = 1024 * 1024;
  static constexpr std::int64_t k_least = 23 * k_mebibyte;
  static constexpr std::int64_t k_most = 1000 * k_mebibyte;

  std::int64_t score_of(Pod pod, std::uint32_t set, std::uint32_t nodes) const {
    const auto present = sets_.images(set);
    std::int64_t sum = 0;
    for (const berth_image_ref_v1& image : pod.images()) {
      if (image.kind != BERTH_IMAGE_CONTAINER) continue;
      const auto at = std::lower_bound(present.begin(), present.end(), image.name,
                                       [](const berth_image_v1& i, Id name) { return i.name < name; });
      if (at == present.end() || at->name != image.name) continue;
      const double spread = static_cast<double>(at->node_count) / static_cast<double>(nodes);
      sum += static_cast<std::int64_t>(static_cast<double>(at->size_bytes) * spread);
    }
    return max_score_ * (std::clamp(sum, k_least, k_most) - k_least) / (k_most - k_least);
  }

  std::int64_t max_score_;
  Sets sets_;
  IdColumn images_;
};

/// 0 on nodes whose annotation names the pod's controller, the highest score elsewhere. Its weight of 10000 makes it
/// decide before everything else.
class NodePreferAvoidPodsPriority {
 public:
  static constexpr Identity identity =
      identity_of("NodePreferAvoidPodsPriority",
                  "Avoids nodes whose annotation asks the pod's controller to stay away.", k_static_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr const char* services[] = {Intern::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit NodePreferAvoidPodsPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())),
        intern_(setup.service<Intern>()),
        annotation_(setup.annotation("scheduler.alpha.kubernetes.io/preferAvoidPods")) {
    setup.pod_fields(BERTH_POD_OWNER);
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const Pod::Owner owner = cycle.pod().owner();
    const bool concerned = owner.kind == "ReplicationController" || owner.kind == "ReplicaSet";
    SetMemo<bool> avoided;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      block.set(w, Mask::all(), max_score_);
      if (!concerned) continue;
      const Lane<Id> annotations = block.word(w)[annotation_];
      each_distinct(annotations, Mask(block.candidates(w)) && annotations != 0u, [&](Id text, Mask rows) {
        if (avoided.get(text, [&](Id id) { return names(intern_.text(id), owner); })) block.set(w, rows, 0);
      });
    }
  }

 private:
  /// Text that does not parse, or not as what it should be, names no controller.
  static bool names(std::string_view annotation, const Pod::Owner& owner) {
    try {
      const Json json = Json::parse(annotation);
      bool found = false;
      for (const Json& entry : json.object("annotation")["preferAvoidPods"].array("preferAvoidPods")) {
        const Json& controller = entry.object("entry")["podSignature"].object("podSignature")["podController"];
        found |= controller.object("podController")["kind"].string_or("kind", "") == owner.kind &&
                 controller["uid"].string_or("uid", "") == owner.uid;
      }
      return found;
    } catch (const JsonError&) {
      return false;
    }
  }

  std::int64_t max_score_;
  Intern intern_;
  IdColumn annotation_;
};

class NodePreferAvoidPods : public NodePreferAvoidPodsPriority {
 public:
  static constexpr Identity identity =
      identity_of("NodePreferAvoidPods", "NodePreferAvoidPodsPriority under its later name.", k_static_deps);
  using NodePreferAvoidPodsPriority::NodePreferAvoidPodsPriority;
};

/// What nodes got where no priority was configured.
class EqualPriority {
 public:
  static constexpr Identity identity =
      identity_of("EqualPriority", "Gives every node the score 1.", BERTH_DEP_NODE_STATIC);
  static constexpr const char* args_schema = k_score_args;
  static constexpr std::array<Interest, 0> interests{};

  void score(const Cycle&, ScoreBlock& block) const {
    for (std::uint32_t w = 0; w < block.words(); ++w) block.set(w, Mask::all(), 1);
  }
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_nodes, berth::legacy::NodeAffinityPriority, berth::legacy::TaintTolerationPriority,
                  berth::legacy::ImageLocalityPriority, berth::legacy::NodePreferAvoidPodsPriority,
                  berth::legacy::NodePreferAvoidPods, berth::legacy::EqualPriority)
