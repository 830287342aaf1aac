// SPDX-License-Identifier: Apache-2.0
/// The device allocator of Kubernetes' dynamic resource allocation: which devices of a node satisfy the claims of a pod, as
/// kube-scheduler v1.36.2 decides with its default feature gates. Same devices, same order, same errors.
///
/// A library of its own: it knows neither the host nor plugins. What is costly is done once per object:
///
///     PreparedSlice   once per version of a ResourceSlice       Inventory   once per change of any slice
///     NodePools       once per node and inventory               PreparedClaim   once per pod
///     AllocatedState  one change per allocation                 Allocator   once per scheduling cycle
///     ClaimShapes     keeps outcomes for claims that ask for the same
///
/// Allocator::allocate then judges one node. Exceptions: std::bad_alloc alone.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <berth/cel/cel.hpp>

#include "allocated_state.hpp"
#include "inventory.hpp"
#include "prepared_claim.hpp"

namespace berth::dra {

/// A claim has at most so many devices.
inline constexpr std::int64_t k_claim_devices_max = 32;
/// Of one call; what a pod could claim beyond that is refused.
inline constexpr std::size_t k_claims_max = 128;
inline constexpr std::size_t k_requests_max = 1024;

/// Of all nodes of an attempt together, as Limits::selector_steps_max counts: half a second.
inline constexpr std::uint64_t k_selector_steps_max = 75'000'000;

/// When to give up. The library has no clock: the caller is asked.
struct Limits {
  enum class Stop : std::uint8_t { go_on, deadline_exceeded, cancelled };
  /// Asked at the first step and every 16 steps of the search, and by selectors with loops. May be null.
  Stop (*stop)(void* context) = nullptr;
  void* context = nullptr;
  /// Looks at a device, attempts to place one, beginnings of a request; some ten nanoseconds each. Bounds a search where
  /// `stop` reads a clock that stands still, as in a simulation.
  std::uint64_t steps_max = 500'000'000;
  /// Of selectors that are evaluated, as cel::Limits::steps counts; one more evaluation may be under way in each thread. What is
  /// known of a device takes none.
  std::uint64_t selector_steps_max = k_selector_steps_max;
  /// Those that are spent, counted after each evaluation: of searches that share them, in several threads at once. Null: each
  /// search has its own.
  std::atomic<std::uint64_t>* selector_steps = nullptr;
};

/// A device for a request.
struct PlacedDevice {
  struct Consumed {
    std::string_view name;
    Amount amount;
  };
  const Query* query = nullptr;
  PooledDevice device;
  bool is_share = false;           ///< of a device that allows several allocations
  std::vector<Consumed> consumed;  ///< of a share: all capacities of the device
};

/// As `status.allocation` of a claim.
struct ClaimAllocation {
  struct Result {
    std::string request;
    std::string driver;
    std::string pool;
    std::string device;
    bool admin_access = false;
    std::vector<Toleration> tolerations;
    std::vector<std::string> binding_conditions;
    std::vector<std::string> binding_failure_conditions;
    std::optional<std::string> share_id;
    std::vector<NamedAmount> consumed_capacity;
    friend bool operator==(const Result&, const Result&) = default;
  };
  struct Config {
    bool is_from_class = false;
    std::vector<std::string> requests;
    std::string driver;
    std::string parameters;
    friend bool operator==(const Config&, const Config&) = default;
  };
  std::vector<Result> results;
  std::vector<Config> config;
  std::optional<NodeSelector> node_selector;  ///< nothing: usable on all nodes
  friend bool operator==(const ClaimAllocation&, const ClaimAllocation&) = default;
};

/// Devices for all claims of a call on one node. Immutable; keeps what it refers to, so it may outlive the cycle.
class Allocation {
 public:
  Allocation(std::shared_ptr<const NodePools> pools, std::vector<std::shared_ptr<const PreparedClaim>> claims,
             std::vector<std::vector<PlacedDevice>> placed, std::vector<std::vector<const Query*>> chosen)
      : pools_(std::move(pools)), claims_(std::move(claims)), placed_(std::move(placed)), chosen_(std::move(chosen)) {
    for (std::size_t claim = 0; claim < claims_.size(); ++claim) preference_ += preference_of(claim);
  }

  std::size_t claims() const { return claims_.size(); }
  /// In the order in which they were placed.
  const std::vector<PlacedDevice>& placed(std::size_t claim) const { return placed_[claim]; }
  /// By request; the subrequest that was chosen where there are several.
  const std::vector<const Query*>& chosen(std::size_t claim) const { return chosen_[claim]; }
  /// Of alternatives (`firstAvailable`) the earlier is better: 8 for the first, 7 for the second and so on, of all requests.
  std::int64_t preference() const { return preference_; }
  /// About how much memory it holds by itself.
  std::size_t bytes() const;
  /// What to write into the claim. `make_share_id` is called once per share, in order.
  ClaimAllocation describe(std::size_t claim, const std::function<std::string()>& make_share_id) const;

 private:
  std::int64_t preference_of(std::size_t claim) const;

  std::shared_ptr<const NodePools> pools_;
  std::vector<std::shared_ptr<const PreparedClaim>> claims_;
  std::vector<std::vector<PlacedDevice>> placed_;
  std::vector<std::vector<const Query*>> chosen_;
  std::int64_t preference_ = 0;
};

struct Outcome {
  enum class Kind : std::uint8_t {
    allocated,
    no_solution,        ///< the claims do not fit on this node
    invalid_pools,      ///< likewise, and a pool of the node is invalid; concerns this node alone
    failed,             ///< the pod's attempt ends, for all nodes
    deadline_exceeded,  ///< of Limits::stop
    cancelled,          ///< likewise
    gave_up,            ///< Limits::steps_max
  };
  Kind kind = Kind::no_solution;
  std::string error;  ///< unless allocated or no solution
  std::shared_ptr<const Allocation> allocation;
  std::uint64_t steps = 0;           ///< what it cost, as Limits::steps_max counts
  std::uint64_t selector_steps = 0;  ///< of this search, as Limits::selector_steps_max counts
};

/// Of how many devices of a node something is true, in words: "claim shop/c, request r: in use". 0: it is about the node.
struct Refusal {
  std::string what;
  std::uint64_t devices = 0;
};

/// Memory that calls keep between them. One thread at a time.
struct Workspace {
  cel::Evaluator evaluator;
};

struct CounterTables;

/// The allocator of one scheduling cycle. Threads: any number may allocate, each with a workspace of its own.
///
/// Shared counters are summed up at first need and kept for the allocator's lifetime, by the name of the pool alone, as upstream:
/// pools of two drivers that share a name share the table of the one that was asked for first.
class Allocator {
 public:
  /// `state` must not change from here on, and must use the ids of the slices.
  explicit Allocator(std::shared_ptr<const AllocatedState> state);
  ~Allocator();
  /// Judges the node of `pools`: devices for all claims, in their order, or why there are none. Claims are not null.
  Outcome allocate(const std::shared_ptr<const NodePools>& pools,
                   std::span<const std::shared_ptr<const PreparedClaim>> claims, const Limits& limits,
                   Workspace& workspace) const;
  /// Why there are no devices for the claims on the node, for people who ask: each device of the node is counted for each request
  /// by the first of use, selectors, capacity, taints, counters and constraints that keeps it from the request. Empty: there are.
  /// Far slower than allocate().
  std::vector<Refusal> diagnose(const std::shared_ptr<const NodePools>& pools,
                                std::span<const std::shared_ptr<const PreparedClaim>> claims, const Limits& limits,
                                Workspace& workspace) const;

 private:
  static std::string too_much(std::span<const std::shared_ptr<const PreparedClaim>> claims);
  std::shared_ptr<const AllocatedState> state_;
  std::unique_ptr<CounterTables> counters_;
};

}  // namespace berth::dra
