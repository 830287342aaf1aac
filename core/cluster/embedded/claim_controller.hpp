// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/object.hpp"
#include "model/pod.hpp"

namespace berth::cluster {

/// Stands in for the controller of resource claims, where there is no API server: claims are made from templates for the pods that
/// name these, and what a pod that goes has reserved is free again.
///
/// It does not: fail, take time, or reserve claims for pods that another scheduler has bound.
///
/// Place:   inside the embedded cluster, and where manifests are read. Pure functions: any thread.
/// Source:  kubernetes v1.36 pkg/controller/resourceclaim/controller.go (handleClaim, syncClaim).
class ClaimController {
 public:
  using Find = std::function<model::ObjectPtr(std::string_view resource, std::string_view ns, std::string_view name)>;
  struct Made {
    std::vector<model::Object> claims;  // to be stored; without version
    model::PodPtr pod;                  // with a status that names them; null: nothing was made
  };
  struct Released {
    std::vector<model::Object> changed;  // with another status
    std::vector<model::ObjectPtr> gone;
  };

  /// `next_number` gives what tells names apart: five characters of each name are made of it.
  static Made instantiate(const model::Pod& pod, const Find& find, const std::function<std::uint64_t()>& next_number);
  /// What becomes of `claims`, those of the pod's namespace, when the pod is gone.
  static Released release(const model::Pod& pod, const std::vector<model::ObjectPtr>& claims);
};

inline constexpr std::string_view k_resource_claims = "resource.k8s.io/v1/resourceclaims";
inline constexpr std::string_view k_claim_templates = "resource.k8s.io/v1/resourceclaimtemplates";

/// Five characters, as a server appends them to generated names, but the same in every run.
std::string name_suffix(std::uint64_t number);

}  // namespace berth::cluster
