// SPDX-License-Identifier: Apache-2.0
/// The way from a claim to what is, or would be, behind it: its volume, else the provisioner of its class.
///
/// Threads: [any].
#pragma once
#include "objects.hpp"

namespace storage {

class ClaimWalk {
 public:
  explicit ClaimWalk(berth::Setup& setup)
      : objects_(setup.service<berth::Objects>()),
        claims_(objects_.watch(k_claims, k_claim_fields)),
        volumes_(objects_.watch(k_volumes, k_volume_fields)),
        classes_(objects_.watch(k_classes, k_class_fields)) {}

  /// Calls on_volume(object) for the claim's volume. Where it names none, or one that is not there, calls
  /// on_provisioner(name) if class_of(claim object) names a class that has one. A claim that is not there is nothing.
  /// Throws Failure for a claim without a name.
  template <class ClassOf, class OnVolume, class OnProvisioner>
  void walk(std::string_view ns, std::string_view name, ClassOf&& class_of, OnVolume&& on_volume,
            OnProvisioner&& on_provisioner) const {
    if (name.empty()) throw berth::Failure("PersistentVolumeClaim had no name");
    std::string volume, class_name, provisioner;
    if (!objects_.get(claims_, ns, name, [&](const berth_object_v1& claim) {
          volume = text(claim, claim_field::volume);
          class_name = class_of(claim);
        }))
      return;
    if (!volume.empty() && objects_.get(volumes_, {}, volume, on_volume)) return;
    if (class_name.empty()) return;
    objects_.get(classes_, {}, class_name,
                 [&](const berth_object_v1& object) { provisioner = text(object, class_field::provisioner); });
    if (!provisioner.empty()) on_provisioner(std::move(provisioner));
  }
  /// What a volume that is yet to be made is called: as no other is.
  static std::string unmade(std::string_view ns, std::string_view name) {
    return "\x01" + std::string(ns) + "/" + std::string(name);
  }
  /// Changes when an answer may have changed.
  std::uint64_t epoch() const noexcept {
    return objects_.epoch(claims_) + objects_.epoch(volumes_) + objects_.epoch(classes_);
  }

 private:
  berth::Objects objects_;
  std::uint32_t claims_, volumes_, classes_;
};

}  // namespace storage
