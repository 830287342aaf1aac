// SPDX-License-Identifier: Apache-2.0
/// From a policy class to its descriptor: which points it offers, their C functions, and the static tables.
///
/// A point is offered when the class has a member of its name. A member with the right name and a wrong signature does not
/// compile; the message shows the signature that is expected.
#pragma once
#include <berth/filter.hpp>
#include <berth/points.hpp>
#include <berth/score.hpp>
#include <berth/setup.hpp>

#include <array>
#include <concepts>
#include <iterator>

namespace berth {
inline namespace sdk {

/// What a plugin is. All strings are static.
struct Identity {
  const char* name;     ///< what a profile lists; bare CamelCase is for in-tree policies
  const char* version;  ///< semver
  const char* summary;  ///< one sentence
  std::uint32_t deps = BERTH_DEP_EVERYTHING;  ///< BERTH_DEP_*: never less than the truth
  std::uint32_t flags = BERTH_PLUGIN_REENTRANT;
  std::uint32_t filter_flags = 0;  ///< BERTH_FILTER_*
};

namespace detail {

// Does the class have a member of this name, whatever its type?
#define BERTH_DETAIL_HAS(member) \
  template <class P>             \
  concept Has_##member = requires { &P::member; }
BERTH_DETAIL_HAS(identity);
BERTH_DETAIL_HAS(args_schema);
BERTH_DETAIL_HAS(reasons);
BERTH_DETAIL_HAS(services);
BERTH_DETAIL_HAS(watches);
BERTH_DETAIL_HAS(rbac);
BERTH_DETAIL_HAS(rejection);
BERTH_DETAIL_HAS(normalization);
BERTH_DETAIL_HAS(interests);
BERTH_DETAIL_HAS(key);
BERTH_DETAIL_HAS(pre_enqueue);
BERTH_DETAIL_HAS(pre_filter);
BERTH_DETAIL_HAS(pre_score);
BERTH_DETAIL_HAS(pod_added);
BERTH_DETAIL_HAS(pod_removed);
BERTH_DETAIL_HAS(filter);
BERTH_DETAIL_HAS(filter_each);
BERTH_DETAIL_HAS(score);
BERTH_DETAIL_HAS(score_each);
BERTH_DETAIL_HAS(normalize);
BERTH_DETAIL_HAS(post_filter);
BERTH_DETAIL_HAS(reserve);
BERTH_DETAIL_HAS(unreserve);
BERTH_DETAIL_HAS(permit);
BERTH_DETAIL_HAS(pre_bind_check);
BERTH_DETAIL_HAS(pre_bind);
BERTH_DETAIL_HAS(bind);
BERTH_DETAIL_HAS(post_bind);
BERTH_DETAIL_HAS(hint);
#undef BERTH_DETAIL_HAS

template <class P>
struct StateOf {
  using type = NoState;
};
template <class P>
  requires requires { typename P::State; }
struct StateOf<P> {
  using type = typename P::State;
};
template <class P>
using State = typename StateOf<P>::type;

template <class P>
concept FiltersByMask = requires(const P& p, const Cycle& c, Rows r) {
  { p.filter(c, r) } -> std::same_as<Mask>;
};
template <class P>
concept FiltersByBlock = requires(const P& p, const Cycle& c, FilterBlock& b) {
  { p.filter(c, b) } -> std::same_as<void>;
};
template <class P>
concept Keys = requires(const P& p, const QueuedPod& q) { std::tuple_size<decltype(p.key(q))>::value; };

template <class P>
inline constexpr bool offers_queue = Has_key<P> || Has_pre_enqueue<P>;
template <class P>
inline constexpr bool offers_prepare = Has_pre_filter<P> || Has_pre_score<P>;
template <class P>
inline constexpr bool offers_filter = Has_filter<P> || Has_filter_each<P>;
template <class P>
inline constexpr bool offers_score = Has_score<P> || Has_score_each<P>;
template <class P>
inline constexpr bool offers_reserve = Has_reserve<P> || Has_unreserve<P>;
template <class P>
inline constexpr bool offers_bind = Has_pre_bind_check<P> || Has_pre_bind<P> || Has_bind<P> || Has_post_bind<P>;

/// An instance: the policy, and the host for what cannot be reported otherwise.
template <class P>
struct Instance {
  explicit Instance(const berth_host_v1* h, Setup& setup) : host(h), policy(make(setup)) {}
  static P make(Setup& setup) {
    if constexpr (std::constructible_from<P, Setup&>) {
      return P(setup);
    } else {
      static_assert(std::default_initializable<P>,
                    "a policy is constructed as P(berth::Setup&), or needs no set-up at all");
      return P();
    }
  }
  const berth_host_v1* host;
  P policy;
};

template <class P>
P& policy_of(void* self) noexcept {
  return static_cast<Instance<P>*>(self)->policy;
}

/// For functions that return nothing: what they throw is logged.
template <class P, class Body>
void guarded_void(void* self, const char* function, Body&& body) noexcept {
  char text[256];
  berth_note_v1 note{sizeof note, 0, text, sizeof text, 0};
  const berth_code code = guarded(&note, [&] {
    body();
    return static_cast<berth_code>(BERTH_OK);
  });
  if (code == BERTH_OK) return;
  const berth_host_v1* host = static_cast<Instance<P>*>(self)->host;
  const auto* log = static_cast<const berth_log_v1*>(host->service(host->ctx, Log::id));
  if (log == nullptr) return;
  const berth_kv_v1 fields[] = {{borrow("function"), borrow(function)},
                                {borrow("error"), berth_str{text, std::min<std::uint64_t>(note.text_len, sizeof text)}}};
  log->write(host->ctx, BERTH_LOG_ERROR, borrow("exception in a function that cannot fail"), fields, 2);
}

}  // namespace detail
}  // namespace sdk
}  // namespace berth

#include <berth/entries.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

struct PointList {
  berth_point_v1 items[9] = {};
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
  static_assert(Has_identity<P>, "a policy has: static constexpr berth::Identity identity{.name = …, .version = …, …};");
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
inline constexpr berth_library_v1 k_library{
    sizeof(berth_library_v1), BERTH_ABI_MINOR, BERTH_ABI_MINOR, sizeof...(P), 0, k_plugins<P...>};

}  // namespace detail
}  // namespace sdk
}  // namespace berth
