// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/placed_pods.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE void FakePods::install(FakeHost& host) {
  static const berth_pods_v1 table{sizeof table, 0, &on_node, &each, &nominated, &position, &changes};
  host.companions[k_id] = std::make_shared<FakePods>(host);
  host.extra_services[k_id] = &table;
}

BERTH_TESTKIT_INLINE void FakePods::put(berth_slot node, const PodSpec& pod, std::uint32_t flags) {
  take(pod.name);
  placed_.push_back({node, pod, flags});
  journal_.push_back({placed_.back(), 1});
}

BERTH_TESTKIT_INLINE void FakePods::take(const std::string& name) {
  const auto at = std::find_if(placed_.begin(), placed_.end(), [&](const Placed& p) { return p.pod.name == name; });
  if (at == placed_.end()) return;
  journal_.push_back({*at, -1});
  placed_.erase(at);
}

BERTH_TESTKIT_INLINE void FakePods::nominate(berth_slot node, const PodSpec& pod) {
  nominated_.push_back({node, pod, 0});
}

BERTH_TESTKIT_INLINE void FakePods::clear_nominations() { nominated_.clear(); }

BERTH_TESTKIT_INLINE void FakePods::forget_changes() { forgotten_ = journal_.size(); }

BERTH_TESTKIT_INLINE bool FakePods::show(const Placed& placed, std::int32_t by, Visit visit, void* arg) const {
  const PodRecord pod(host_, placed.pod,
                      BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT | BERTH_POD_PRIORITY | BERTH_POD_NAMESPACE);
  const berth_placed_pod_v1 raw{sizeof raw, placed.flags, placed.node, by, pod.raw()};
  return visit(arg, &raw) != 0;
}

BERTH_TESTKIT_INLINE void FakePods::show_all(const FakePods& pods, const std::vector<Placed>& list, berth_slot node,
                                             Visit visit, void* arg) {
  for (const Placed& placed : list)
    if ((node == BERTH_NO_SLOT || placed.node == node) && !pods.show(placed, 1, visit, arg)) return;
}

BERTH_TESTKIT_INLINE void FakePods::on_node(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg) {
  if (node != BERTH_NO_SLOT) show_all(self(ctx), self(ctx).placed_, node, visit, arg);
}

BERTH_TESTKIT_INLINE void FakePods::each(void* ctx, const berth_cycle_v1*, Visit visit, void* arg) {
  ++self(ctx).visits_of_all;
  show_all(self(ctx), self(ctx).placed_, BERTH_NO_SLOT, visit, arg);
}

BERTH_TESTKIT_INLINE void FakePods::nominated(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit,
                                              void* arg) {
  show_all(self(ctx), self(ctx).nominated_, node, visit, arg);
}

BERTH_TESTKIT_INLINE std::uint32_t FakePods::changes(void* ctx, const berth_cycle_v1*, std::uint64_t since, Visit visit,
                                                     void* arg) {
  const FakePods& pods = self(ctx);
  if (since < pods.forgotten_ + 1 || since > pods.journal_.size() + 1) return 0;
  for (std::size_t at = static_cast<std::size_t>(since) - 1; at < pods.journal_.size(); ++at)
    if (!pods.show(pods.journal_[at].placed, pods.journal_[at].by, visit, arg)) return 0;
  return 1;
}

BERTH_TESTKIT_INLINE FakePods::~FakePods() = default;

}  // namespace berth::testkit
