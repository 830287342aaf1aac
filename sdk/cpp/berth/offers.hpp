// SPDX-License-Identifier: Apache-2.0
/// What a policy class offers: its identity, and a compile-time answer to "does it have a member of this name?".
///
/// Place:   between the points' headers and the tables of entries.hpp. Everything in detail may change with any SDK.
/// Threads: none, but for Instance and guarded_void, which run on the thread of the call.
/// Source:  a member's name is the point's function of the C ABI: pre_filter is berth_prepare_ops_v1::pre_filter.
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

/// What a plugin is. All strings are static. deps is read by the host before it uses an answer again:
/// berth_plugin_v1::deps.
struct Identity {
  const char* name;                           ///< what a profile lists; bare CamelCase is for in-tree policies
  const char* version;                        ///< semver
  const char* summary;                        ///< one sentence
  std::uint32_t deps = BERTH_DEP_EVERYTHING;  ///< BERTH_DEP_*: never less than the truth
  std::uint32_t filter_flags = 0;             ///< BERTH_FILTER_*
  std::uint32_t prepare_flags = 0;            ///< BERTH_PREPARE_*
  std::uint32_t filter_deps = 0;              ///< of filter alone, where that is less; 0: deps
  std::uint32_t score_deps = 0;               ///< likewise, of score
};

namespace detail {

// Does the class have a member of this name, whatever its type?
// Overloads and templates have no single address, so they do not count: the points are plain members.
#define BERTH_DETAIL_HAS(member)    \
  template <class P>                \
  concept Has_##member = requires { \
    &P::member;                     \
  }
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
BERTH_DETAIL_HAS(less);
BERTH_DETAIL_HAS(pre_enqueue);
BERTH_DETAIL_HAS(pre_filter);
BERTH_DETAIL_HAS(pre_score);
BERTH_DETAIL_HAS(pod_added);
BERTH_DETAIL_HAS(pod_removed);
BERTH_DETAIL_HAS(filter);
BERTH_DETAIL_HAS(filter_each);
BERTH_DETAIL_HAS(filter_budget_ns);
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
BERTH_DETAIL_HAS(group_of);
BERTH_DETAIL_HAS(quorum);
BERTH_DETAIL_HAS(filter_columns);
BERTH_DETAIL_HAS(filter_groups);
BERTH_DETAIL_HAS(score_columns);
BERTH_DETAIL_HAS(score_groups);
// Names that are easily written for those above.
BERTH_DETAIL_HAS(prefilter);
BERTH_DETAIL_HAS(postfilter);
BERTH_DETAIL_HAS(prescore);
BERTH_DETAIL_HAS(prebind);
BERTH_DETAIL_HAS(postbind);
BERTH_DETAIL_HAS(preenqueue);
BERTH_DETAIL_HAS(preFilter);
BERTH_DETAIL_HAS(postFilter);
BERTH_DETAIL_HAS(preScore);
BERTH_DETAIL_HAS(preBind);
BERTH_DETAIL_HAS(postBind);
BERTH_DETAIL_HAS(preEnqueue);
BERTH_DETAIL_HAS(normalise);
#undef BERTH_DETAIL_HAS

/// A name as upstream or other SDKs write it: describe() refuses it, since the point would be left out in silence.
template <class P>
inline constexpr bool misspells_a_point =
    Has_prefilter<P> || Has_postfilter<P> || Has_prescore<P> || Has_prebind<P> || Has_postbind<P> ||
    Has_preenqueue<P> || Has_preFilter<P> || Has_postFilter<P> || Has_preScore<P> || Has_preBind<P> ||
    Has_postBind<P> || Has_preEnqueue<P> || Has_normalise<P>;

/// P::State, or NoState for a policy that declares none.
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

/// The forms of filter.hpp. A policy has one of them.
template <class P>
concept FiltersByMask = requires(const P& p, const Cycle& c, Rows r) {
  { p.filter(c, r) } -> std::same_as<Mask>;
};
template <class P>
concept FiltersByBlock = requires(const P& p, const Cycle& c, FilterBlock& b) {
  { p.filter(c, b) } -> std::same_as<void>;
};
/// key returns an array of one to four words, whose size is berth_queue_ops_v1::key_words.
template <class P>
concept Keys = requires(const P& p, const QueuedPod& q) {
  std::tuple_size<decltype(p.key(q))>::value;
};

/// Which points a policy has: one function of a point is enough.
template <class P>
inline constexpr bool offers_queue = Has_key<P> || Has_less<P> || Has_pre_enqueue<P>;
template <class P>
inline constexpr bool offers_prepare = Has_pre_filter<P> || Has_pre_score<P>;
template <class P>
inline constexpr bool offers_filter = Has_filter<P> || Has_filter_each<P>;
template <class P>
inline constexpr bool offers_score = Has_score<P> || Has_score_each<P>;
/// One of the two is enough to be asked for the other: a reservation that is never undone does not compile.
template <class P>
inline constexpr bool offers_reserve = Has_reserve<P> || Has_unreserve<P>;
template <class P>
inline constexpr bool offers_domains = Has_filter_columns<P> || Has_score_columns<P>;
template <class P>
inline constexpr bool offers_groups = Has_group_of<P> || Has_quorum<P>;
template <class P>
inline constexpr bool offers_bind = Has_pre_bind_check<P> || Has_pre_bind<P> || Has_bind<P> || Has_post_bind<P>;

/// An instance, what `self` points to in every C function: the policy, and the host for what cannot be reported
/// otherwise. Made by create(), deleted by destroy(); neither copied nor moved.
template <class P>
struct Instance {
  explicit Instance(const berth_host_v1* h, Setup& setup) : host(h), policy(make(setup)) {}
  /// Where P takes no Setup it is default-constructed. What the constructor throws goes to create().
  static P make(Setup& setup) {
    if constexpr (std::constructible_from<P, Setup&>) {
      return P(setup);
    } else {
      static_assert(std::default_initializable<P>,
                    "a policy is constructed as P(berth::Setup&), or needs no set-up at all");
      return P();
    }
  }
  /// Outlives the instance.
  const berth_host_v1* host;
  P policy;
};

/// Requires: self is what create() returned for P.
template <class P>
P& policy_of(void* self) noexcept {
  return static_cast<Instance<P>*>(self)->policy;
}

/// For functions that return nothing: what they throw is logged, with the function's name, as an error; the call
/// counts as done.
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
  const berth_kv_v1 fields[] = {
      {borrow("function"), borrow(function)},
      {borrow("error"), berth_str{text, std::min<std::uint64_t>(note.text_len, sizeof text)}}};
  log->write(host->ctx, BERTH_LOG_ERROR, borrow("exception in a function that cannot fail"), fields, 2);
}

}  // namespace detail
}  // namespace sdk
}  // namespace berth
