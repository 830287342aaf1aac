// SPDX-License-Identifier: Apache-2.0
#include "loader/ops_completeness.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <optional>

#include "berth/ext/domains.h"
#include "berth/ext/groups.h"
#include "berth/plugin.h"

namespace berth::loader {
namespace {

using Sentences = std::vector<std::string>;

void check_queue(const berth_queue_ops_v1* ops, Sentences& missing) {
  const bool has_key = ops->key != nullptr;
  if (!has_key && ops->less == nullptr && ops->pre_enqueue == nullptr) {
    missing.emplace_back("one of key, less and pre_enqueue");
  }
  if (has_key && (ops->key_words == 0 || ops->key_words > 4)) {
    missing.push_back(fmt::format("key_words of 1..4 together with key, found {}", ops->key_words));
  }
  if (!has_key && ops->key_words != 0)
    missing.push_back(fmt::format("key, which key_words {} announces", ops->key_words));
}

void check_prepare(const berth_prepare_ops_v1* ops, Sentences& missing) {
  if (ops->pre_filter == nullptr && ops->pre_score == nullptr) missing.emplace_back("one of pre_filter and pre_score");
  const bool added = ops->pod_added != nullptr;
  const bool removed = ops->pod_removed != nullptr;
  if (added != removed)
    missing.emplace_back(added ? "pod_removed together with pod_added" : "pod_added together with pod_removed");
  if ((added || removed) && ops->state_clone == nullptr)
    missing.emplace_back("state_clone together with pod_added and pod_removed");
}

void check_filter(const berth_filter_ops_v1* ops, Sentences& missing) {
  if (ops->filter == nullptr) missing.emplace_back("filter");
}

void check_post_filter(const berth_post_filter_ops_v1* ops, Sentences& missing) {
  if (ops->post_filter == nullptr) missing.emplace_back("post_filter");
}

void check_score(const berth_score_ops_v1* ops, Sentences& missing) {
  if (ops->score == nullptr) missing.emplace_back("score");
  if (ops->normalize_kind > BERTH_NORM_MINMAX_INTEGER) {
    missing.push_back(fmt::format("a normalize_kind of 0..{}, found {}", static_cast<int>(BERTH_NORM_MINMAX_INTEGER),
                                  ops->normalize_kind));
  }
  if (ops->normalize_kind == BERTH_NORM_CUSTOM && ops->normalize == nullptr) {
    missing.emplace_back("normalize, which BERTH_NORM_CUSTOM announces");
  }
}

void check_reserve(const berth_reserve_ops_v1* ops, Sentences& missing) {
  if (ops->reserve == nullptr) missing.emplace_back("reserve");
  if (ops->unreserve == nullptr) missing.emplace_back("unreserve");
}

void check_permit(const berth_permit_ops_v1* ops, Sentences& missing) {
  if (ops->permit == nullptr) missing.emplace_back("permit");
}

void check_bind(const berth_bind_ops_v1* ops, Sentences& missing) {
  const bool pre_bind = ops->pre_bind != nullptr;
  if (!pre_bind && ops->bind == nullptr && ops->post_bind == nullptr) {
    missing.emplace_back("one of pre_bind, bind and post_bind");
  }
  if (ops->pre_bind_check != nullptr && !pre_bind) missing.emplace_back("pre_bind together with pre_bind_check");
}

void check_requeue(const berth_requeue_ops_v1* ops, Sentences& missing) {
  if (ops->interest_count != 0 && ops->interests == nullptr) missing.emplace_back("interests, of which there are some");
}

void check_groups(const berth_group_ops_v1* ops, Sentences& missing) {
  if (ops->group_of == nullptr) missing.emplace_back("group_of");
  if (ops->quorum == nullptr) missing.emplace_back("quorum");
}

void check_domains(const berth_domain_ops_v1* ops, Sentences& missing) {
  if ((ops->filter_columns == nullptr) != (ops->filter_groups == nullptr))
    missing.emplace_back("both of filter_columns and filter_groups, or neither");
  if ((ops->score_columns == nullptr) != (ops->score_groups == nullptr))
    missing.emplace_back("both of score_columns and score_groups, or neither");
}

/// Every table begins with its size and a second word. Where that word holds flags, `flags` are those that this berth knows;
/// where it is a number of its own (key_words, normalize_kind, interest_count), the point's check looks at it.
struct KnownPoint {
  std::string_view id;
  std::uint32_t first_bytes;  // of the table as the point came: every plugin has that much of it
  void (*check)(const void* ops, Sentences& missing);
  std::optional<std::uint32_t> flags;
  void (*look)(const void* ops, Sentences& unknown) = nullptr;  // at the rest
};

/// Of tables that end in deps and a reserved word.
template <typename Ops>
void look_at_deps(const void* table, Sentences& unknown) {
  const auto* const ops = static_cast<const Ops*>(table);
  if (ops->deps != BERTH_DEP_EVERYTHING && (ops->deps & ~k_known_deps) != 0)
    unknown.push_back(fmt::format("deps has unknown bits {:#x}", ops->deps & ~k_known_deps));
  if (ops->reserved != 0) unknown.push_back(fmt::format("the reserved field is {:#x}, expected 0", ops->reserved));
}

template <typename Ops, void (*Check)(const Ops*, Sentences&)>
void checked(const void* ops, Sentences& missing) {
  Check(static_cast<const Ops*>(ops), missing);
}

constexpr std::array k_known_points{
    KnownPoint{"berth.queue/1", 32, checked<berth_queue_ops_v1, check_queue>, {}},
    KnownPoint{"berth.prepare/1", 56, checked<berth_prepare_ops_v1, check_prepare>,
               BERTH_PREPARE_SKIP_SCORES_ZERO | BERTH_PREPARE_SCORE_WITHOUT_NODES},
    KnownPoint{"berth.filter/1", 32, checked<berth_filter_ops_v1, check_filter>, BERTH_FILTER_RECORDS,
               look_at_deps<berth_filter_ops_v1>},
    KnownPoint{"berth.post_filter/1", 16, checked<berth_post_filter_ops_v1, check_post_filter>, 0},
    KnownPoint{"berth.score/1", 32, checked<berth_score_ops_v1, check_score>, {}, look_at_deps<berth_score_ops_v1>},
    KnownPoint{"berth.reserve/1", 24, checked<berth_reserve_ops_v1, check_reserve>, 0},
    KnownPoint{"berth.permit/1", 16, checked<berth_permit_ops_v1, check_permit>, 0},
    KnownPoint{"berth.bind/1", 40, checked<berth_bind_ops_v1, check_bind>, 0},
    KnownPoint{"berth.requeue/1", 24, checked<berth_requeue_ops_v1, check_requeue>, {}},
    KnownPoint{"berth.groups/1", 24, checked<berth_group_ops_v1, check_groups>, 0},
    KnownPoint{"berth.domains/1", 40, checked<berth_domain_ops_v1, check_domains>, 0},
};

const KnownPoint* known_point(std::string_view id) {
  const auto* const found = std::find_if(k_known_points.begin(), k_known_points.end(),
                                         [&](const KnownPoint& point) { return point.id == id; });
  return found == k_known_points.end() ? nullptr : found;
}

}  // namespace

bool is_known_point(std::string_view id) { return known_point(id) != nullptr; }

std::uint32_t first_bytes(std::string_view id) {
  const KnownPoint* const point = known_point(id);
  return point == nullptr ? 0 : point->first_bytes;
}

std::vector<std::string> missing_functions(std::string_view id, const void* ops) {
  Sentences missing;
  if (const KnownPoint* const point = known_point(id)) point->check(ops, missing);
  return missing;
}

std::vector<std::string> unknown_values(std::string_view id, const void* ops) {
  Sentences unknown;
  const KnownPoint* const point = known_point(id);
  if (point == nullptr) return unknown;
  if (point->flags) {
    if (const std::uint32_t bits = static_cast<const std::uint32_t*>(ops)[1] & ~*point->flags; bits != 0)
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
