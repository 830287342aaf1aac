// SPDX-License-Identifier: Apache-2.0
/// From a policy class to its descriptor: the static tables that the library's entry returns.
///
/// A point is offered when the class has a member of its name. A member with the right name and a wrong signature does
/// not compile; the message shows the signature that is expected.
#pragma once
#include <berth/entries.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

struct PointList {
  berth_point_v1 items[11] = {};
  std::uint32_t count = 0;
  constexpr void add(const char* id, const void* ops) {
    items[count] = {id, ops};
    ++count;
  }
};

template <class P>
constexpr PointList points_of() {
  PointList list;
  if constexpr (offers_queue<P>) list.add("berth.queue/1", &k_queue_ops<P>);
  if constexpr (offers_prepare<P>) list.add("berth.prepare/1", &k_prepare_ops<P>);
  if constexpr (offers_filter<P>) list.add("berth.filter/1", &k_filter_ops<P>);
  if constexpr (Has_post_filter<P>) list.add("berth.post_filter/1", &k_post_filter_ops<P>);
  if constexpr (offers_score<P>) list.add("berth.score/1", &k_score_ops<P>);
  if constexpr (offers_reserve<P>) list.add("berth.reserve/1", &k_reserve_ops<P>);
  if constexpr (Has_permit<P>) list.add("berth.permit/1", &k_permit_ops<P>);
  if constexpr (offers_bind<P>) list.add("berth.bind/1", &k_bind_ops<P>);
  if constexpr (Has_interests<P>) list.add("berth.requeue/1", &k_requeue_ops<P>);
  if constexpr (offers_groups<P>) list.add("berth.draft.groups/0", &k_group_ops<P>);
  if constexpr (offers_domains<P>) list.add("berth.draft.domains/0", &k_domain_ops<P>);
  return list;
}
template <class P>
inline constexpr PointList k_points = points_of<P>();

/// The table of the ABI starts with an unused entry; the class lists its reasons from 1.
template <class P>
constexpr auto reasons_of() {
  if constexpr (Has_reasons<P>) {
    std::array<berth_reason_text_v1, std::size(P::reasons) + 1> table{};
    table[0] = {"", ""};
    for (std::size_t i = 0; i < std::size(P::reasons); ++i) table[i + 1] = P::reasons[i];
    return table;
  } else {
    return std::array<berth_reason_text_v1, 1>{{{"", ""}}};
  }
}
template <class P>
inline constexpr auto k_reasons = reasons_of<P>();

template <class P>
constexpr berth_plugin_v1 describe() {
  static_assert(Has_identity<P>,
                "a policy has: static constexpr berth::Identity identity{.name = …, .version = …, …};");
  static_assert(points_of<P>().count != 0, "a policy offers at least one extension point");
  berth_plugin_v1 plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.flags = P::identity.flags;
  plugin.name = P::identity.name;
  plugin.version = P::identity.version;
  plugin.summary = P::identity.summary;
  plugin.deps = P::identity.deps;
  if constexpr (Has_args_schema<P>) plugin.args_schema = P::args_schema;
  plugin.points = k_points<P>.items;
  plugin.point_count = k_points<P>.count;
  plugin.reasons = k_reasons<P>.data();
  plugin.reason_count = static_cast<std::uint32_t>(k_reasons<P>.size());
  if constexpr (Has_services<P>) {
    plugin.services = std::data(P::services);
    plugin.service_count = static_cast<std::uint32_t>(std::size(P::services));
  }
  plugin.create = &create<P>;
  plugin.destroy = &destroy<P>;
  return plugin;
}
template <class P>
inline constexpr berth_plugin_v1 k_plugin = describe<P>();

template <class... P>
inline constexpr const berth_plugin_v1* k_plugins[] = {&k_plugin<P>...};
template <class... P>
inline constexpr berth_library_v1 k_library{sizeof(berth_library_v1), BERTH_ABI_MINOR, BERTH_ABI_MINOR, sizeof...(P), 0,
                                            k_plugins<P...>};

}  // namespace detail
}  // namespace sdk
}  // namespace berth
