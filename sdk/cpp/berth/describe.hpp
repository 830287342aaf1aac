// SPDX-License-Identifier: Apache-2.0
/// From a policy class to its descriptor: the static tables that the library's entry returns.
///
/// A point is offered when the class has a member of its name. A member with the right name and a wrong signature does
/// not compile; the message shows the signature that is expected.
///
/// Place:    what BERTH_PLUGINS returns from the entry symbol. Lifetime: static, constant; the loader may read it at any time.
/// Threads:  none: all of it is done by the compiler. Errors: static_assert, with what to write instead.
/// Source:   abi/host.h: berth_library_v1, berth_plugin_v1, berth_point_v1. The note (note.hpp) is made from the same classes.
#pragma once
#include <berth/entries.hpp>
#include <berth/minors.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

/// The points of one policy. 11 are all there are; add() beyond that does not compile.
struct PointList {
  berth_point_v1 items[11] = {};
  std::uint32_t count = 0;
  constexpr void add(const char* id, const void* ops) {
    items[count] = {id, ops};
    ++count;
  }
};

/// In the order of an attempt, each with its ops table of entries.hpp.
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
  if constexpr (offers_groups<P>) list.add("berth.groups/1", &k_group_ops<P>);
  if constexpr (offers_domains<P>) list.add("berth.domains/1", &k_domain_ops<P>);
  return list;
}
template <class P>
inline constexpr PointList k_points = points_of<P>();

/// The table of the ABI starts with an unused entry; the class lists its reasons from 1. Reason n of a Rejection is
/// entry n.
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

// A member of any type.
template <class P>
concept Has_minor_required = requires {
  P::minor_required;
};

/// The oldest host minor that has all the class declares: points, services, interests, flags. Tables of minors.hpp.
///
/// `static constexpr berth::Minor minor_required` raises it, for what only the author knows: a column that is asked
/// for in the constructor under no condition, say. It never lowers it.
template <class P>
constexpr Minor minor_required_of() {
  Minor minor = 0;
  const auto needs = [&](Minor other) { minor = std::max(minor, other); };
  if constexpr (offers_groups<P>) needs(minor_of_id("berth.groups/1"));
  if constexpr (offers_domains<P>) needs(minor_of_id("berth.domains/1"));
  if constexpr (Has_services<P>)
    for (const char* service : P::services) needs(minor_of_id(service));
  if constexpr (Has_interests<P>)
    for (const Interest& interest : P::interests) needs(minor_of_kind(interest.resource));
  if constexpr (Has_normalization<P>) needs(minor_of_normalization(static_cast<std::uint32_t>(P::normalization)));
  needs(minor_of_deps(P::identity.deps));
  needs(minor_of_deps(P::identity.filter_deps));
  needs(minor_of_deps(P::identity.score_deps));
  needs(minor_of_filter_flags(P::identity.filter_flags));
  needs(minor_of_prepare_flags(P::identity.prepare_flags));
  if constexpr (Has_minor_required<P>) {
    static_assert(P::minor_required <= BERTH_ABI_MINOR, "minor_required is newer than the SDK");
    needs(P::minor_required);
  }
  return minor;
}

/// Of a library: the greatest of its policies, since a file is loaded or refused as one.
template <class... P>
constexpr Minor minor_required_of_all() {
  return std::max({minor_required_of<P>()...});
}

/// The descriptor of one policy. Borrows the static members of P. What is wrong with the class as a whole is said
/// here.
template <class P>
constexpr berth_plugin_v1 describe() {
  static_assert(Has_identity<P>,
                "a policy has: static constexpr berth::Identity identity{.name = …, .version = …, …};");
  static_assert(points_of<P>().count != 0, "a policy offers at least one extension point");
  static_assert(!misspells_a_point<P>,
                "a policy has a member whose name is a point's without its underscore: pre_filter");
  berth_plugin_v1 plugin{};
  plugin.struct_size = sizeof plugin;
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
/// The static data that the entry's pointers lead to, one per class and list of classes.
template <class P>
inline constexpr berth_plugin_v1 k_plugin = describe<P>();

template <class... P>
inline constexpr const berth_plugin_v1* k_plugins[] = {&k_plugin<P>...};
template <class... P>
inline constexpr berth_library_v1 k_library{
    sizeof(berth_library_v1), BERTH_ABI_MINOR, minor_required_of_all<P...>(), sizeof...(P), 0, k_plugins<P...>};

}  // namespace detail
}  // namespace sdk
}  // namespace berth
