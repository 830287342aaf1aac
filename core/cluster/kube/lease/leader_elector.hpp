// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cluster/kube/lease/lease.hpp"
#include "cluster/kube/lease/reign.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

struct LeaderElectorOptions {
  std::string ns = "kube-system", name = "kube-scheduler";
  std::string identity;  // unlike that of any other process
  std::int64_t lease_duration_ns = 15'000'000'000;
  std::int64_t renew_deadline_ns = 10'000'000'000;
  std::int64_t retry_period_ns = 2'000'000'000;
  std::string event_component = "default-scheduler";
  std::uint64_t seed = 1;  // of the jitter
  /// What writes are checked against; null: the elector makes one of its own. Requires: on the elector's clock.
  std::shared_ptr<Reign> reign = {};

  /// How long a confirmed lease holds: until then no other process may have it.
  std::int64_t reign_ns() const { return std::min(renew_deadline_ns, lease_duration_ns); }
};

/// Called on an I/O thread; quick: none of them may wait for code that is not ours, since nothing is renewed, and
/// nothing ends, meanwhile.
struct LeaderElectorCalls {
  std::function<void()> on_started;  // we lead
  /// We led, and lead no more: the reign is over.
  std::function<void()> on_lost;
  /// After on_lost: the lease is given back if it still was ours, or the server did not answer within the retry period.
  std::function<void()> on_ended;
  /// False keeps the lease from being renewed: a leader that does nothing must not stay one. May be empty.
  std::function<bool()> may_renew;
};

/// Leads when it holds a Lease, and holds it as long as it can renew it.
///
/// Place:    on I/O threads of its own: whatever hangs elsewhere, leases are renewed, deadlines kept, processes ended.
/// Lifetime: I/O threads outlive it; what the calls use outlives stop().
/// Threads:  start(), release() and stop() from one thread, not from inside a call.
/// Time:     only how long ago something was observed counts; clocks of other machines do not. A renewal counts from
///           when it was sent. With a clock that counts suspension a lease is lost in it. A standby watches the
///           lease, so that it observes renewals as they are written and tries the moment the last one runs out.
/// Failure:  attempts that fail are made again until the reign is over, answered or not, or until the lease is seen to
///           be another holder's; then on_lost, once, one line in the log, the lease is given back, on_ended, and
///           nothing more.
/// Source:   kubernetes v1.36 staging/src/k8s.io/client-go/tools/leaderelection. Departs: who releases looks whether
///           the lease is still its own; standbys watch instead of asking once in a while.
class LeaderElector {
 public:
  LeaderElector(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock,
                LeaderElectorOptions options, LeaderElectorCalls calls, const net::HttpClientOptions& client);
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void start();
  /// Ends the campaign; a lease that is ours is given back, so that another takes it at once. Waits for that, at most
  /// so long.
  void release(std::chrono::milliseconds limit);
  /// No call follows.
  void stop() noexcept;

  bool is_leading() const noexcept;
  const std::shared_ptr<Reign>& reign() const noexcept;
  /// When the request was sent that confirmed leadership last, in clock.monotonic_ns(); 0: never.
  std::int64_t last_renewed_ns() const noexcept;
  /// Renewals that had to read the lease first.
  std::uint64_t slow_renewals() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::cluster::kube
