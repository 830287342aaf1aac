// SPDX-License-Identifier: Apache-2.0
/// What is written about claims once their pod has a node: finalizer, allocation and reservation, then the wait for devices that
/// have to be prepared.
///
/// A binding in progress lives until it has answered, and holds no thread while it waits.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreBind, bindClaim).
#pragma once
#include <berth/object_writes.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "../shared/guarded.hpp"
#include "claim_deletion.hpp"
#include "claim_metrics.hpp"
#include "cycle_state.hpp"

namespace devices {

/// Reservations that are being taken back: the server may carry that out at any moment, so what the watch says of them is
/// over. Bound: by the writes under way. Threads: any.
class Releases {
 public:
  /// A release lasts as long as this lives: the answer to its write holds it.
  class Turn {
   public:
    Turn(std::shared_ptr<Releases> releases, std::string claim_uid, std::string pod_uid)
        : releases_(std::move(releases)), uids_(std::move(claim_uid), std::move(pod_uid)) {
      const guarded::Lock lock(releases_->mutex_);
      releases_->under_way_.insert(uids_);
    }
    ~Turn() {
      const guarded::Lock lock(releases_->mutex_);
      releases_->under_way_.erase(releases_->under_way_.find(uids_));
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const std::shared_ptr<Releases> releases_;
    const std::pair<std::string, std::string> uids_;
  };

  bool is_under_way(const std::string& claim_uid, const std::string& pod_uid) const {
    const guarded::Lock lock(mutex_);
    return under_way_.contains({claim_uid, pod_uid});
  }

 private:
  mutable guarded::Mutex mutex_;
  std::multiset<std::pair<std::string, std::string>> under_way_ GUARDED_BY(mutex_);  // uids of claim and pod
};

/// What the writing points need.
struct BindingServices {
  DeviceCluster& cluster;
  berth::ObjectWrites writes;
  berth::Assume assume;
  berth::Clock clock;
  berth::Executor executor;
  berth::Events events;
  berth::Log log;
  ClaimMetrics metrics;
  std::int64_t binding_timeout_ns;
  std::shared_ptr<Releases> releases = std::make_shared<Releases>();
};

struct PodName {
  std::string ns, name, uid;
};

/// Answers `call` with the outcome, later. The state must live until then.
void bind_claims(const BindingServices& services, CycleState& state, PodName pod, berth::BindCall call);

/// Takes back what reserve and pre-bind did for the pod: allocations in flight at once, reservations in the cluster later.
void release_claims(const BindingServices& services, CycleState& state, const PodName& pod);

/// The status of a claim that is given up, as JSON.
std::string cleared_status(const ClaimObject& claim);

}  // namespace devices
