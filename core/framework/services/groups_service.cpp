// SPDX-License-Identifier: Apache-2.0
#include "berth/ext/groups.h"
#include "framework/plugin_call.hpp"
#include "framework/services/service_tables.hpp"

namespace berth::framework {
namespace {

std::vector<GroupsPort::Member> members_of(void* ctx, berth_id ns, berth_str group) {
  const Host& host = plugin_of(ctx).host();
  if (host.ports.groups == nullptr) return {};
  return host.ports.groups->members(host.symbols.text(ns), from_abi(group));
}

void count(void* ctx, berth_id ns, berth_str group, berth_group_count_v1* out) {
  *out = {out->struct_size, 0, 0, 0, 0, 0};
  for (const GroupsPort::Member& member : members_of(ctx, ns, group)) {
    ++out->all;
    if (member.pod->deleting) continue;
    if (member.node != k_no_symbol)
      ++out->assigned;
    else if (member.responsible)
      ++(member.pod->spec->gates.empty() ? out->ready : out->gated);
  }
}

void members(void* ctx, berth_id ns, berth_str group, std::uint32_t (*visit)(void*, const berth_pod_v1*), void* arg) {
  Arena arena;
  for (const GroupsPort::Member& member : members_of(ctx, ns, group)) {
    arena.reset();
    PodView view;
    view.reset(*member.pod, arena);
    berth_pod_v1 seen = *view.view(plugin_of(ctx).hint_fields());
    seen.node_name = member.node;
    if (visit(arg, &seen) == 0) return;
  }
}

void planned(void* ctx, berth_str* group) {
  const GroupsPort* const groups = plugin_of(ctx).host().ports.groups;
  *group = groups == nullptr ? berth_str{nullptr, 0} : to_abi(groups->planned());
}

constexpr berth_groups_v1 k_groups{sizeof(berth_groups_v1), 0, &count, &members, &planned};

}  // namespace

const void* groups_service() noexcept { return &k_groups; }

}  // namespace berth::framework
