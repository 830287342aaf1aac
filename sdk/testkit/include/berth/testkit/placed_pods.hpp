// SPDX-License-Identifier: Apache-2.0
/// FakePods: "berth.pods/1" over pods that a test puts onto nodes, takes away and nominates.
///
///   Policy policy(tested_library(), args, FakePods::install);
///   FakePods& pods = FakePods::of(policy);
///   pods.put(0, {.name = "web-1", .ns = "shop"});
///   pods.take("web-1");
///
/// Place:   in FakeHost::companions, by the service's id. Threads: one. Lifetime: of the host.
/// Differs: the journal grows without end, from the start on, where the host keeps 16,384 changes from the first position() on.
/// Source:  berth_pods_v1 (ext/placed_pods.h).
#pragma once
#include <berth/testkit/policy.hpp>

#include <algorithm>

namespace berth::testkit {

/// Placed and nominated pods, and a journal of the placed ones. Pods are told apart by name, whatever their
/// namespace.
class FakePods {
 public:
  /// The service's id.
  static constexpr const char* k_id = "berth.pods/1";
  /// For Policy's `prepare`; FakeCluster::install does it as well. Replaces an earlier one of that host.
  static void install(FakeHost& host);
  /// Requires: install().
  static FakePods& of(FakeHost& host) { return *static_cast<FakePods*>(host.companions.at(k_id).get()); }
  /// The same of a policy's host. Lives as long as the policy.
  static FakePods& of(Policy& policy) { return of(policy.host()); }

  /// Borrows the host, which owns it.
  explicit FakePods(FakeHost& host) : host_(host) {}
  ~FakePods();

  /// Places a pod; flags: BERTH_PLACED_*. One of that name that is there goes first, which is a change of its own.
  void put(berth_slot node, const PodSpec& pod, std::uint32_t flags = 0);
  /// The pod goes. Nothing when it is not there.
  void take(const std::string& name);
  /// A pod that is nominated to the node, after those that were before. No change in the journal.
  void nominate(berth_slot node, const PodSpec& pod);
  /// All of them.
  void clear_nominations();
  /// The host remembers no change any more: policies count all pods again. Later changes are remembered.
  void forget_changes();

  /// How often all pods were visited, by each(): what a policy that follows changes should not need.
  int visits_of_all = 0;

 private:
  // As the test said it: a record in ABI shape is made for each visit.
  struct Placed {
    berth_slot node;
    PodSpec pod;
    std::uint32_t flags;
  };
  // by: 1 came, -1 went.
  struct Change {
    Placed placed;
    std::int32_t by;
  };
  using Visit = std::uint32_t (*)(void*, const berth_placed_pod_v1*);

  // What the C functions are called with is the host.
  static FakePods& self(void* ctx) { return of(*static_cast<FakeHost*>(ctx)); }
  // The requested groups, and those that the service shows always. False: the visit is over.
  bool show(const Placed& placed, std::int32_t by, Visit visit, void* arg) const;
  // BERTH_NO_SLOT: of all nodes.
  static void show_all(const FakePods& pods, const std::vector<Placed>& list, berth_slot node, Visit visit, void* arg);
  // The C functions of the service: what they visit is valid for the visit, as the host has it.
  static void on_node(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg);
  static void each(void* ctx, const berth_cycle_v1*, Visit visit, void* arg);
  static void nominated(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg);
  // Never 0: one more than there are changes.
  static std::uint64_t position(void* ctx, const berth_cycle_v1*) { return self(ctx).journal_.size() + 1; }
  // 0 for a position before what was forgotten, and for one that this fake never gave.
  static std::uint32_t changes(void* ctx, const berth_cycle_v1*, std::uint64_t since, Visit visit, void* arg);

  FakeHost& host_;
  std::vector<Placed> placed_, nominated_;  ///< in the order of the calls
  std::vector<Change> journal_;             ///< entry i has the number i + 1
  std::size_t forgotten_ = 0;               ///< entries that changes() refuses to start in
};

}  // namespace berth::testkit

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/placed_pods.ipp>
#endif
