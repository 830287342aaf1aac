// SPDX-License-Identifier: Apache-2.0
// Search::diagnose(): what keeps requests from the devices of a node, in words.
#include <algorithm>
#include <map>

#include "search.hpp"

namespace berth::dra {
namespace {

constexpr std::size_t k_expression_bytes = 160;

std::string excerpt(std::string_view expression) {
  std::string text(expression.substr(0, k_expression_bytes));
  // Never half of a character.
  if (text.size() < expression.size()) {
    while (!text.empty() && (static_cast<unsigned char>(expression[text.size()]) & 0xc0) == 0x80) text.pop_back();
    text += "…";
  }
  return text;
}

}  // namespace

/// The selector that judge() was refused by last.
std::string Search::selector_text(const QueryState& query) const {
  const auto& of_class = query.query->device_class->selectors;
  const bool is_class = refusing_selector_ < of_class.size();
  const std::size_t number = is_class ? refusing_selector_ : refusing_selector_ - of_class.size();
  const PreparedSelector& selector = is_class ? of_class[number] : query.query->selectors[number];
  const std::string whose = is_class ? "of class " + query.query->device_class->name : "of the request";
  return "refused by selector #" + std::to_string(number) + ' ' + whose + ": " +
         (selector.program == nullptr ? "it does not compile" : excerpt(selector.program->text()));
}

/// Empty: the device is not one of the node's.
std::string Search::obstacle_to(QueryState& query, std::uint32_t position, const Refused& refused) {
  if (!node_->reachable.empty() && !node_->reachable[position]) return {};
  const PreparedDevice& device = *at(position).device;
  if (!query.query->object->admin_access && state_.is_in_use(device.id)) return "in use";
  const std::optional<bool> selectable = judge(query, position);
  if (!selectable) return "selectors cannot be evaluated: " + outcome_.error;
  if (!*selectable) return selector_text(query);
  if (!fits(query, position, false)) return "too little capacity is left, or none that may be asked for";
  for (const DeviceTaint* taint : device.taints) {
    const auto& tolerations = query.query->object->tolerations;
    if (std::any_of(tolerations.begin(), tolerations.end(),
                    [&](const Toleration& each) { return is_tolerating(each, *taint); }))
      continue;
    return "tainted " + taint->key + (taint->value.empty() ? "" : '=' + taint->value) + ':' + taint->effect;
  }
  switch (refused.obstacle) {
    case Obstacle::counters:
      return "shared counters are used up";
    case Obstacle::capacity:
      return "other requests leave too little capacity";
    case Obstacle::constraint: {
      const PreparedConstraint& constraint = claims_[query.claim]->constraints()[refused.constraint];
      return "refused by constraint #" + std::to_string(refused.constraint) +
             (constraint.is_distinct ? ": distinctAttribute " : ": matchAttribute ") +
             std::string(constraint.attribute);
    }
    case Obstacle::none:
      break;
  }
  return "suitable, and not enough";
}

std::vector<Refusal> Search::diagnose() {
  for (std::size_t query = 0; query < queries_.size(); ++query) refused_.emplace_back(devices_.size());
  const Outcome outcome = search();
  if (outcome.kind == Outcome::Kind::allocated) return {};
  if (outcome.kind == Outcome::Kind::failed) return {{outcome.error, 0}};
  std::vector<Refusal> refusals;
  for (const auto& pool : node_->pools)
    if (pool->condition != Pool::Condition::usable)
      refusals.push_back({"resource pool " + std::string(pool->driver) + '/' + std::string(pool->name) +
                              (pool->condition == Pool::Condition::invalid ? " is invalid" : " is being updated"),
                          0});
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    QueryState& query = queries_[i];
    const PreparedClaim& claim = *claims_[query.claim];
    const std::string whose = "claim " + claim.name() + ", request " + claim.result_name(*query.query) + ": ";
    std::map<std::string, std::uint64_t> counts;
    for (std::uint32_t position = 0; position < devices_.size(); ++position) {
      if (position % 256 == 0 && limits_.stop != nullptr && limits_.stop(limits_.context) != Limits::Stop::go_on) break;
      if (std::string obstacle = obstacle_to(query, position, refused_[i][position]); !obstacle.empty())
        ++counts[std::move(obstacle)];
    }
    if (counts.empty()) refusals.push_back({whose + "the node has no devices", 0});
    for (const auto& [text, count] : counts) refusals.push_back({whose + text, count});
  }
  return refusals;
}

}  // namespace berth::dra
