// SPDX-License-Identifier: Apache-2.0
/// FakePods: "berth.pods/1" over pods that a test puts onto nodes, takes away and nominates.
///
///   Policy policy(tested_library(), args, FakePods::install);
///   FakePods& pods = FakePods::of(policy);
///   pods.put(0, {.name = "web-1", .ns = "shop"});
///   pods.take("web-1");
#pragma once
#include <berth/testkit/policy.hpp>

#include <algorithm>

namespace berth::testkit {

class FakePods {
 public:
  static constexpr const char* k_id = "berth.pods/1";
  /// For Policy's `prepare`; FakeCluster::install does it as well.
  static void install(FakeHost& host) {
    static const berth_pods_v1 table{sizeof table, 0, &on_node, &each, &nominated, &position, &changes};
    host.companions[k_id] = std::make_shared<FakePods>(host);
    host.extra_services[k_id] = &table;
  }
  static FakePods& of(FakeHost& host) { return *static_cast<FakePods*>(host.companions.at(k_id).get()); }
  static FakePods& of(Policy& policy) { return of(policy.host()); }

  explicit FakePods(FakeHost& host) : host_(host) {}

  /// flags: BERTH_PLACED_*. A pod of that name that is there goes first.
  void put(berth_slot node, const PodSpec& pod, std::uint32_t flags = 0) {
    take(pod.name);
    placed_.push_back({node, pod, flags});
    journal_.push_back({placed_.back(), 1});
  }
  void take(const std::string& name) {
    const auto at = std::find_if(placed_.begin(), placed_.end(), [&](const Placed& p) { return p.pod.name == name; });
    if (at == placed_.end()) return;
    journal_.push_back({*at, -1});
    placed_.erase(at);
  }
  void nominate(berth_slot node, const PodSpec& pod) { nominated_.push_back({node, pod, 0}); }
  void clear_nominations() { nominated_.clear(); }
  /// The host remembers no change any more: policies count all pods again.
  void forget_changes() { forgotten_ = journal_.size(); }

  /// How often all pods were visited.
  int visits_of_all = 0;

 private:
  struct Placed {
    berth_slot node;
    PodSpec pod;
    std::uint32_t flags;
  };
  struct Change {
    Placed placed;
    std::int32_t by;
  };
  using Visit = std::uint32_t (*)(void*, const berth_placed_pod_v1*);

  static FakePods& self(void* ctx) { return of(*static_cast<FakeHost*>(ctx)); }
  bool show(const Placed& placed, std::int32_t by, Visit visit, void* arg) const {
    const PodRecord pod(host_, placed.pod,
                        BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT | BERTH_POD_PRIORITY | BERTH_POD_NAMESPACE);
    const berth_placed_pod_v1 raw{sizeof raw, placed.flags, placed.node, by, pod.raw()};
    return visit(arg, &raw) != 0;
  }
  static void show_all(const FakePods& pods, const std::vector<Placed>& list, berth_slot node, Visit visit, void* arg) {
    for (const Placed& placed : list)
      if ((node == BERTH_NO_SLOT || placed.node == node) && !pods.show(placed, 1, visit, arg)) return;
  }
  static void on_node(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg) {
    if (node != BERTH_NO_SLOT) show_all(self(ctx), self(ctx).placed_, node, visit, arg);
  }
  static void each(void* ctx, const berth_cycle_v1*, Visit visit, void* arg) {
    ++self(ctx).visits_of_all;
    show_all(self(ctx), self(ctx).placed_, BERTH_NO_SLOT, visit, arg);
  }
  static void nominated(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg) {
    show_all(self(ctx), self(ctx).nominated_, node, visit, arg);
  }
  static std::uint64_t position(void* ctx, const berth_cycle_v1*) { return self(ctx).journal_.size() + 1; }
  static std::uint32_t changes(void* ctx, const berth_cycle_v1*, std::uint64_t since, Visit visit, void* arg) {
    const FakePods& pods = self(ctx);
    if (since < pods.forgotten_ + 1 || since > pods.journal_.size() + 1) return 0;
    for (std::size_t at = static_cast<std::size_t>(since) - 1; at < pods.journal_.size(); ++at)
      if (!pods.show(pods.journal_[at].placed, pods.journal_[at].by, visit, arg)) return 0;
    return 1;
  }

  FakeHost& host_;
  std::vector<Placed> placed_, nominated_;
  std::vector<Change> journal_;
  std::size_t forgotten_ = 0;
};

}  // namespace berth::testkit
