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
#include <unordered_map>

#include <berth/decoded_objects.hpp>
#include "../guarded.hpp"
#include "extended_resources.hpp"
#include "objects/api_objects.hpp"
#include "objects/random_ids.hpp"
#include "withheld.hpp"

namespace devices {

/// Claims, devices and their uses at one moment. Immutable.
struct DeviceSnapshot {
  std::shared_ptr<const dra::Inventory> inventory;
  std::shared_ptr<const dra::AllocatedState> state;
};

class DeviceCluster {
 public:
  explicit DeviceCluster(berth::Setup& setup);

  std::uint32_t claim_watch() const noexcept { return claim_watch_; }
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

  /// What berth.debug_pages/1 offers (debug_page.hpp).
  std::string debug_page();

  // Allocations that are decided and not written yet, by uid of the claim.
  struct Pending {
    std::shared_ptr<const AllocationObject> allocation;
    std::string json;   ///< of it
    std::string group;  ///< "namespace/name" of the pods that are placed together, if it was decided for one of them
  };
  std::optional<Pending> pending(std::string_view uid) const;
  /// Another pod shares an allocation that is in flight already; what is given is left out then.
  void signal(const std::string& uid, Pending pending);
  /// Whether the entry is gone now: the last sharer left, or `force`. Without an entry false.
  bool remove_in_flight(std::string_view uid, bool force);

 private:
  /// Null claim: it cannot be read whole, and `unread` is what devices it may have.
  struct ReadClaim {
    ClaimPtr claim;
    std::shared_ptr<const AllocationObject> unread;

    const AllocationObject* allocation() const noexcept {
      return claim != nullptr ? claim->allocation.get() : unread.get();
    }
    std::string_view uid() const noexcept {
      return claim != nullptr ? std::string_view(claim->uid) : std::string_view();
    }
  };
  struct InFlight : Pending {
    std::uint32_t sharers = 1;
  };

  template <class T, class OnChange>
  void refresh(berth::DecodedObjects<T>& objects, OnChange&& on_change);
  /// The same, but that what cannot be read is logged, and null.
  template <class Read>
  auto readable(Read read) const;
  std::shared_ptr<const ReadClaim> read(const berth_object_v1& object) const;
  void change_claim(const std::string& key, const ReadClaim* before, const ReadClaim* now) REQUIRES(mutex_);
  void count(const std::string& key, const AllocationObject& allocation) REQUIRES(mutex_);
  void uncount(const std::string& key, const AllocationObject& allocation) REQUIRES(mutex_);
  dra::AllocatedState& change_combined() REQUIRES(mutex_);
  void recount(const AllocationObject& allocation) REQUIRES(mutex_);
  void recount_all() REQUIRES(mutex_);
  void withhold(dra::AllocatedState& state) const REQUIRES(mutex_);
  void log(const std::string& what) const;

  const berth::Objects objects_;
  const berth::Log log_;
  std::atomic<std::uint64_t> version_{1};
  const std::uint32_t claim_watch_;
  const std::shared_ptr<dra::DeviceIds> device_ids_;
  berth::cel::ProgramCache programs_;
  RandomIds random_ids_;

  // Those three are read for changes without the lock, which is held to take them over.
  berth::DecodedObjects<ReadClaim> claims_;
  std::size_t extended_by_pod_;  // index: claims made for extended resources, by uid of the pod
  berth::DecodedObjects<dra::PreparedSlice> slices_;
  berth::DecodedObjects<ClassObject> classes_;

  mutable guarded::Mutex mutex_;
  ExtendedClasses extended_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<Withheld>> withheld_ GUARDED_BY(mutex_);  // by key of the claim
  dra::AllocatedState state_ GUARDED_BY(mutex_);                              // of allocated claims
  std::map<std::string, InFlight, std::less<>> in_flight_ GUARDED_BY(mutex_);
  std::unordered_multimap<std::uint32_t, const ResultObject*> in_flight_devices_ GUARDED_BY(mutex_);  // by DeviceIds
  std::shared_ptr<const dra::Inventory> inventory_ GUARDED_BY(mutex_);  // null: slices have changed
  // state_ with what is in flight, changed a device at a time; copied first if a snapshot still reads it.
  std::shared_ptr<dra::AllocatedState> combined_ GUARDED_BY(mutex_);
  std::shared_ptr<std::atomic<int>> combined_readers_ GUARDED_BY(mutex_);
  // combined_ without what is withheld; null: something has changed
  std::shared_ptr<const dra::AllocatedState> restricted_ GUARDED_BY(mutex_);
};

}  // namespace devices
