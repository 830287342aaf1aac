// SPDX-License-Identifier: Apache-2.0
/// What is known of devices and claims, one for all profiles: slices, classes and claims read once per version, which devices are
/// taken, and which are about to be.
///
/// Follows the watches, assumptions of own writes included: refresh() before anything that must be up to date.
/// Threads: any. The lock is never held while the host is called.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/{dra_manager,allocateddevices}.go.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "api_objects.hpp"
#include "extended_resources.hpp"
#include "random_ids.hpp"
#include "withheld.hpp"

namespace dynamic_resources {

/// Claims, devices and their uses at one moment. Immutable.
struct DeviceSnapshot {
  std::shared_ptr<const dra::Inventory> inventory;
  std::shared_ptr<const dra::AllocatedState> state;
};

class DeviceCluster {
 public:
  explicit DeviceCluster(berth::Setup& setup);

  std::uint32_t claim_watch() const noexcept { return watches_[k_claim]; }
  /// Takes up what has changed. What cannot be read is logged, and counts as not there, but that devices which such a claim
  /// may have are not free (withheld.hpp).
  void refresh();

  /// Grows with every change that refresh() takes up.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  /// Null: there is none. As of the last refresh().
  ClaimPtr claim(std::string_view ns, std::string_view name) const;
  std::shared_ptr<const dra::DeviceClass> device_class(std::string_view name) const;
  /// The class that stands for an extended resource; null: none.
  ClassPtr extended_class(std::string_view resource) const;
  bool has_extended_classes() const;
  /// A claim that was made for the extended resources of that pod; null: there is none.
  ClaimPtr extended_claim(std::string_view ns, std::string_view pod_name, std::string_view pod_uid) const;
  /// Slices, and the devices of allocated claims and of those in flight.
  DeviceSnapshot snapshot();
  berth::cel::ProgramCache& programs() noexcept { return programs_; }
  RandomIds& ids() noexcept { return random_ids_; }

  // Allocations that are decided and not written yet, by uid of the claim.
  bool is_in_flight(std::string_view uid) const;
  void signal(const std::string& uid, std::shared_ptr<const AllocationObject> allocation);
  /// Whether the entry is gone now: the last sharer left, or `force`. Without an entry false.
  bool remove_in_flight(std::string_view uid, bool force);

 private:
  enum { k_claim, k_slice, k_class, k_watches };
  struct Change {
    std::string ns, name;
    bool starts_over = false;
    ClaimPtr claim;
    std::shared_ptr<const AllocationObject> unread;  ///< of a claim that cannot be read whole
    std::shared_ptr<const dra::PreparedSlice> slice;
    std::shared_ptr<const ClassObject> device_class;
  };
  struct InFlight {
    std::shared_ptr<const AllocationObject> allocation;
    std::uint32_t sharers = 1;
  };

  void refresh(std::size_t watch);
  void read_into(std::size_t watch, const berth_object_v1& object, Change& change);
  void apply(std::size_t watch, Change& change);
  void put_claim(const std::string& key, ClaimPtr now, std::shared_ptr<const AllocationObject> unread);
  void put_class(const std::string& name, ClassPtr now);
  void count(const std::string& key, const AllocationObject& allocation);
  void uncount(const std::string& key, const AllocationObject& allocation);
  dra::AllocatedState& change_combined();
  void recount(const AllocationObject& allocation);
  void recount_all();
  void withhold(dra::AllocatedState& state) const;
  void log(const std::string& what) const;

  const berth::Objects objects_;
  const berth::Log log_;
  std::atomic<std::uint64_t> version_{1};
  std::array<std::uint32_t, k_watches> watches_;
  const std::shared_ptr<dra::DeviceIds> device_ids_;
  berth::cel::ProgramCache programs_;
  RandomIds random_ids_;

  mutable std::mutex mutex_;  // guards everything below
  std::array<std::uint64_t, k_watches> seen_{};
  std::unordered_map<std::string, ClaimPtr> claims_;  // by "namespace/name"
  std::map<std::string, std::shared_ptr<const dra::PreparedSlice>, std::less<>> slices_;
  std::map<std::string, std::shared_ptr<const ClassObject>, std::less<>> classes_;
  ExtendedClasses extended_;
  std::map<std::string, ClaimPtr> extended_claims_;  // of claims_: those made for extended resources
  std::map<std::string, std::shared_ptr<const AllocationObject>> unread_;  // of claims that are left out, by key
  std::map<std::string, std::vector<Withheld>> withheld_;                  // by key of the claim
  dra::AllocatedState state_;                                              // of allocated claims
  std::map<std::string, InFlight, std::less<>> in_flight_;
  std::unordered_multimap<std::uint32_t, const ResultObject*> in_flight_devices_;  // by DeviceIds
  std::shared_ptr<const dra::Inventory> inventory_;                                // null: slices have changed
  // state_ with what is in flight, changed a device at a time; copied first if a snapshot still reads it.
  std::shared_ptr<dra::AllocatedState> combined_;
  std::shared_ptr<std::atomic<int>> combined_readers_;
  std::shared_ptr<const dra::AllocatedState>
      restricted_;  // combined_ without what is withheld; null: something has changed
};

}  // namespace dynamic_resources
