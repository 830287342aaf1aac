// SPDX-License-Identifier: Apache-2.0
#include "loader/ops_completeness.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <optional>

#include "berth/ext/draft/domains.h"
#include "berth/ext/groups.h"
#include "berth/plugin.h"

namespace berth::loader {
namespace {

using Sentences = std::vector<std::string>;

/// The plugin allocated the table: a field beyond its struct_size does not exist.
#define HAS_FUNCTION(ops, field) (BERTH_HAS(ops, field) && (ops)->field != nullptr)

void check_queue(const berth_queue_ops_v1* ops, Sentences& missing) {
  const bool has_key = HAS_FUNCTION(ops, key);
  if (!has_key && !HAS_FUNCTION(ops, less) && !HAS_FUNCTION(ops, pre_enqueue)) {
    missing.emplace_back("one of key, less and pre_enqueue");
  }
  if (has_key && (ops->key_words == 0 || ops->key_words > 4)) {
    missing.push_back(fmt::format("key_words of 1..4 together with key, found {}", ops->key_words));
  }
  if (!has_key && ops->key_words != 0)
    missing.push_back(fmt::format("key, which key_words {} announces", ops->key_words));
}

void check_prepare(const berth_prepare_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, pre_filter) && !HAS_FUNCTION(ops, pre_score))
    missing.emplace_back("one of pre_filter and pre_score");
  const bool added = HAS_FUNCTION(ops, pod_added);
  const bool removed = HAS_FUNCTION(ops, pod_removed);
  if (added != removed)
    missing.emplace_back(added ? "pod_removed together with pod_added" : "pod_added together with pod_removed");
  if ((added || removed) && !HAS_FUNCTION(ops, state_clone))
    missing.emplace_back("state_clone together with pod_added and pod_removed");
}

void check_filter(const berth_filter_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, filter)) missing.emplace_back("filter");
}

void check_post_filter(const berth_post_filter_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, post_filter)) missing.emplace_back("post_filter");
}

void check_score(const berth_score_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, score)) missing.emplace_back("score");
  if (ops->normalize_kind > BERTH_NORM_MINMAX_INTEGER) {
    missing.push_back(fmt::format("a normalize_kind of 0..{}, found {}", static_cast<int>(BERTH_NORM_MINMAX_INTEGER),
                                  ops->normalize_kind));
  }
  if (ops->normalize_kind == BERTH_NORM_CUSTOM && !HAS_FUNCTION(ops, normalize)) {
    missing.emplace_back("normalize, which BERTH_NORM_CUSTOM announces");
  }
}

void check_reserve(const berth_reserve_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, reserve)) missing.emplace_back("reserve");
  if (!HAS_FUNCTION(ops, unreserve)) missing.emplace_back("unreserve");
}

void check_permit(const berth_permit_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, permit)) missing.emplace_back("permit");
}

void check_bind(const berth_bind_ops_v1* ops, Sentences& missing) {
  const bool pre_bind = HAS_FUNCTION(ops, pre_bind);
  if (!pre_bind && !HAS_FUNCTION(ops, bind) && !HAS_FUNCTION(ops, post_bind)) {
    missing.emplace_back("one of pre_bind, bind and post_bind");
  }
  if (HAS_FUNCTION(ops, pre_bind_check) && !pre_bind) missing.emplace_back("pre_bind together with pre_bind_check");
}

void check_requeue(const berth_requeue_ops_v1* ops, Sentences& missing) {
  if (ops->interest_count != 0 && !HAS_FUNCTION(ops, interests))
    missing.emplace_back("interests, of which there are some");
}

void check_groups(const berth_group_ops_v1* ops, Sentences& missing) {
  if (!HAS_FUNCTION(ops, group_of)) missing.emplace_back("group_of");
  if (!HAS_FUNCTION(ops, quorum)) missing.emplace_back("quorum");
}

void check_domains(const berth_domain_ops_v0* ops, Sentences& missing) {
  if (HAS_FUNCTION(ops, filter_columns) != HAS_FUNCTION(ops, filter_groups))
    missing.emplace_back("both of filter_columns and filter_groups, or neither");
  if (HAS_FUNCTION(ops, score_columns) != HAS_FUNCTION(ops, score_groups))
    missing.emplace_back("both of score_columns and score_groups, or neither");
}

/// Every table begins with its size and a second word. Where that word holds flags, `flags` are those that this berth knows;
/// where it is a number of its own (key_words, normalize_kind, interest_count), the point's check looks at it.
struct KnownPoint {
  std::string_view id;
  void (*check)(const void* ops, Sentences& missing);
  std::optional<std::uint32_t> flags;
  std::uint32_t flags_gone = 0;                                 // that plugins built before 0.6 may have
  void (*look)(const void* ops, Sentences& unknown) = nullptr;  // at the rest
};

/// Of tables that end in deps and a reserved word.
template <typename Ops>
void look_at_deps(const void* table, Sentences& unknown) {
  const auto* const ops = static_cast<const Ops*>(table);
  if (BERTH_HAS(ops, deps) && ops->deps != BERTH_DEP_EVERYTHING && (ops->deps & ~k_known_deps) != 0)
    unknown.push_back(fmt::format("deps has unknown bits {:#x}", ops->deps & ~k_known_deps));
  if (BERTH_HAS(ops, reserved) && ops->reserved != 0)
    unknown.push_back(fmt::format("the reserved field is {:#x}, expected 0", ops->reserved));
}

template <typename Ops, void (*Check)(const Ops*, Sentences&)>
void checked(const void* ops, Sentences& missing) {
  Check(static_cast<const Ops*>(ops), missing);
}

constexpr std::array k_known_points{
    KnownPoint{"berth.queue/1", checked<berth_queue_ops_v1, check_queue>, {}},
    KnownPoint{"berth.prepare/1", checked<berth_prepare_ops_v1, check_prepare>,
               BERTH_PREPARE_SKIP_SCORES_ZERO | BERTH_PREPARE_SCORE_WITHOUT_NODES},
    KnownPoint{"berth.filter/1", checked<berth_filter_ops_v1, check_filter>, BERTH_FILTER_RECORDS, 1u,
               look_at_deps<berth_filter_ops_v1>},
    KnownPoint{"berth.post_filter/1", checked<berth_post_filter_ops_v1, check_post_filter>, 0},
    KnownPoint{"berth.score/1", checked<berth_score_ops_v1, check_score>, {}, 0, look_at_deps<berth_score_ops_v1>},
    KnownPoint{"berth.reserve/1", checked<berth_reserve_ops_v1, check_reserve>, 0},
    KnownPoint{"berth.permit/1", checked<berth_permit_ops_v1, check_permit>, 0},
    KnownPoint{"berth.bind/1", checked<berth_bind_ops_v1, check_bind>, 0},
    KnownPoint{"berth.requeue/1", checked<berth_requeue_ops_v1, check_requeue>, {}},
    KnownPoint{"berth.groups/1", checked<berth_group_ops_v1, check_groups>, 0},
    KnownPoint{"berth.draft.domains/0", checked<berth_domain_ops_v0, check_domains>, 0},
};

const KnownPoint* known_point(std::string_view id) {
  const auto* const found = std::find_if(k_known_points.begin(), k_known_points.end(),
                                         [&](const KnownPoint& point) { return point.id == id; });
  return found == k_known_points.end() ? nullptr : found;
}

}  // namespace

bool is_known_point(std::string_view id) { return known_point(id) != nullptr; }

std::vector<std::string> missing_functions(std::string_view id, const void* ops) {
  Sentences missing;
  if (const KnownPoint* const point = known_point(id)) point->check(ops, missing);
  return missing;
}

std::vector<std::string> unknown_values(std::string_view id, const void* ops, std::uint16_t minor_built) {
  Sentences unknown;
  const KnownPoint* const point = known_point(id);
  if (point == nullptr) return unknown;
  if (point->flags) {
    const std::uint32_t known = *point->flags | (minor_built < k_strict_since_minor ? point->flags_gone : 0);
    if (const std::uint32_t bits = static_cast<const std::uint32_t*>(ops)[1] & ~known; bits != 0)
      unknown.push_back(fmt::format("flags has unknown bits {:#x}", bits));
  }
  if (point->look != nullptr) point->look(ops, unknown);
  return unknown;
}

std::vector<std::string> unknown_values(const berth_interest_v1& interest) {
  Sentences unknown;
  const bool known = (interest.resource >= BERTH_KIND_POD && interest.resource <= BERTH_KIND_POD_GROUP) ||
                     interest.resource == BERTH_KIND_ANY || interest.resource >= BERTH_KIND_WATCH;
  if (!known) unknown.push_back(fmt::format("resource {} is no kind that interests may name", interest.resource));
  if (interest.actions == 0) unknown.emplace_back("no actions");
  if (const std::uint32_t bits = interest.actions & ~std::uint32_t{BERTH_ACTION_ALL}; bits != 0)
    unknown.push_back(fmt::format("actions has unknown bits {:#x}", bits));
  if (const std::uint32_t bits = interest.flags & ~std::uint32_t{BERTH_INTEREST_DERIVED}; bits != 0)
    unknown.push_back(fmt::format("flags has unknown bits {:#x}", bits));
  if (interest.hinted > 1) unknown.push_back(fmt::format("hinted is {}, expected 0 or 1", interest.hinted));
  return unknown;
}

}  // namespace berth::loader
