// SPDX-License-Identifier: Apache-2.0
/// Extended resources (`vendor/name: 2` in a container) that devices of a class stand for: which class, which requests of a claim
/// they become on a node, and the claim itself.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go,
/// staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache.
#pragma once
#include <map>

#include "../guarded.hpp"
#include "objects/api_objects.hpp"

namespace devices {

inline constexpr std::string_view k_implied_prefix = "deviceclass.resource.kubernetes.io/";
/// The name of an extended claim that is not written yet.
inline constexpr std::string_view k_in_memory_name = "<extended-resources>";

using ClassPtr = std::shared_ptr<const ClassObject>;

/// Resource name to class, kept from the events of classes: of several that claim a name the newest has it, then the first by
/// name; after it is gone no other takes over, as upstream. Threads: the owner's lock.
class ExtendedClasses {
 public:
  void put(const ClassPtr& before, const ClassPtr& now);
  void remove(const ClassObject& gone);
  void clear() { by_resource_.clear(); }
  /// Null: no class stands for it.
  ClassPtr find(std::string_view resource) const;
  bool empty() const { return by_resource_.empty(); }

 private:
  std::map<std::string, ClassPtr, std::less<>> by_resource_;
};

/// What one container asks for by name, as far as it counts here.
struct AskedContainer {
  std::string name;
  bool is_short_lived = false;  ///< an init container that ends
  struct Amount {
    std::string resource;
    std::int64_t amount = 0;
    std::size_t place = 0;  ///< among the names that the container requests, sorted
  };
  std::vector<Amount> amounts;
};

/// One resource of the pod that devices may stand for.
struct AskedResource {
  std::string name;
  ClassPtr device_class;                   ///< null: none stands for it
  const std::int64_t* capacity = nullptr;  ///< by slot: the node's allocatable
  const std::int64_t* listed = nullptr;    ///< by slot: 1 where that names the resource
};

struct RequestMapping {
  std::string container, resource, request;
  friend bool operator==(const RequestMapping&, const RequestMapping&) = default;
};

/// The extended claim as it would be for nodes that need devices for the same resources.
struct ExtendedCopy {
  std::string spec;  ///< JSON
  bool has_requests = false;
  std::vector<RequestMapping> mappings;
  std::vector<std::shared_ptr<const dra::Claim>> wanted;  ///< the user's claims that are to be allocated, then this one
  std::shared_ptr<dra::ClaimShape> shape;                 ///< of them
};

/// Requests and mappings for resources that devices stand for. `needed` is sorted by name.
std::shared_ptr<ExtendedCopy> extended_copy(const std::vector<AskedContainer>& containers,
                                            const std::vector<const AskedResource*>& needed);

/// Of one pod and cycle. Threads: copies are found by any.
struct ExtendedState {
  std::vector<AskedContainer> containers;
  std::vector<AskedResource> resources;  ///< with an amount above 0, sorted by name
  guarded::Mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<const ExtendedCopy>> copies
      GUARDED_BY(mutex);                     ///< by bits of `resources` that are needed
  std::vector<const ExtendedCopy*> by_slot;  ///< what filter used
};

/// A claim that exists in memory only.
ClaimPtr new_extended_claim(std::string_view ns, std::string_view pod_name, std::string_view pod_uid, std::string uid);
/// What is created: the claim with the copy's requests.
std::string extended_claim_json(const ClaimObject& claim, const ExtendedCopy& copy);
/// `{"extendedResourceClaimStatus": …}` as a patch of the pod's status.
std::string extended_status_patch(std::string_view pod_uid, const ExtendedCopy& copy, std::string_view claim_name);

}  // namespace devices
