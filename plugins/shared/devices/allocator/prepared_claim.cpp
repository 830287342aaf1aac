// SPDX-License-Identifier: Apache-2.0
#include "prepared_claim.hpp"

#include <algorithm>

namespace berth::dra {
namespace {

std::vector<PreparedSelector> compiled(const std::vector<std::optional<std::string>>& selectors,
                                       cel::ProgramCache& programs, SelectorBudget& budget) {
  std::vector<PreparedSelector> made;
  for (const auto& selector : selectors)
    made.push_back(selector ? budget.prepare(*selector, programs)
                            : PreparedSelector{nullptr, "CEL expression empty (unsupported selector type?)"});
  return made;
}

bool is_about(const Constraint& constraint, const std::string& request, const std::string& result_name) {
  if (constraint.requests.empty()) return true;
  return std::any_of(constraint.requests.begin(), constraint.requests.end(),
                     [&](const std::string& each) { return each == request || each == result_name; });
}

}  // namespace

PreparedSelector SelectorBudget::prepare(const std::string& text, cel::ProgramCache& cache) {
  static const std::string k_too_slow =
      "too expensive: compiling the selectors of the pod takes more than " + std::to_string(k_steps_max) + " steps";
  static const std::string k_too_large =
      "too expensive: the selectors of the pod need more than " + std::to_string(k_bytes_max >> 20) + " MiB of memory";
  if (steps >= k_steps_max) return {nullptr, k_too_slow};
  if (bytes >= k_bytes_max) return {nullptr, k_too_large};
  if (const auto known = programs.find(text); known != programs.end()) return {known->second, {}};
  cel::Compiled result = cache.get(text);
  if (result.program == nullptr) {
    steps += result.steps;
    return {nullptr, result.error.text()};
  }
  steps += result.steps;
  bytes += result.program->bytes();
  if (bytes >= k_bytes_max) return {nullptr, k_too_large};
  programs.emplace(result.program->text(), result.program);
  return {std::move(result.program), {}};
}

PreparedClaim::PreparedClaim(std::shared_ptr<const Claim> claim, const ClassLookup& classes,
                             cel::ProgramCache& programs, SelectorBudget& budget)
    : claim_(std::move(claim)),
      name_(claim_->claim_namespace.empty() ? claim_->name : claim_->claim_namespace + '/' + claim_->name) {
  static const DeviceRequest k_none;
  std::size_t count = 0;
  for (const Request& request : claim_->requests) count += std::max<std::size_t>(1, request.first_available.size());
  if (count > k_queries_max) {
    error_ = "claim " + name_ + ": has " + std::to_string(count) + " requests and subrequests, at most " +
             std::to_string(k_queries_max) + " are supported";
    return;
  }
  queries_.reserve(count);
  for (std::uint32_t at = 0; at < claim_->requests.size(); ++at) {
    const Request& request = claim_->requests[at];
    const auto first = static_cast<std::uint32_t>(queries_.size());
    if (request.first_available.empty()) {
      const DeviceRequest& wanted = request.exactly ? *request.exactly : k_none;
      queries_.push_back(read_query(wanted, at, false, classes, programs, budget));
    }
    for (const DeviceRequest& sub : request.first_available)
      queries_.push_back(read_query(sub, at, true, classes, programs, budget));
    requests_.push_back({first, static_cast<std::uint32_t>(queries_.size()) - first, !request.first_available.empty()});
  }
  read_constraints();
}

std::string PreparedClaim::result_name(const Query& query) const {
  const std::string& request = claim_->requests[query.request].name;
  return query.is_sub ? request + '/' + query.object->name : request;
}

std::shared_ptr<const PreparedClass> PreparedClaim::class_of(const std::string& name, const ClassLookup& classes,
                                                             cel::ProgramCache& programs, SelectorBudget& budget) {
  for (const auto& known : classes_)
    if (known->name == name) return known;
  const std::shared_ptr<const DeviceClass> found = classes(name);
  if (found == nullptr) return nullptr;
  auto made = std::make_shared<PreparedClass>();
  made->name = name;
  made->config = found->config;
  made->selectors = compiled(found->selectors, programs, budget);
  classes_.push_back(made);
  return made;
}

Query PreparedClaim::read_query(const DeviceRequest& wanted, std::uint32_t request, bool is_sub,
                                const ClassLookup& classes, cel::ProgramCache& programs, SelectorBudget& budget) {
  Query query;
  query.object = &wanted;
  query.request = request;
  query.is_sub = is_sub;
  const std::string& called = is_sub ? wanted.name : claim_->requests[request].name;
  const std::string where = "claim " + name_ + ", request " + called;
  for (std::size_t i = 0; i < wanted.selectors.size(); ++i) {
    if (wanted.selectors[i]) continue;
    query.error = where + ", selector #" + std::to_string(i) + ": CEL expression empty (unsupported selector type?)";
    return query;
  }
  if (wanted.class_name.empty()) {
    query.error = where + ": missing device class name (unsupported request type?)";
    return query;
  }
  query.device_class = class_of(wanted.class_name, classes, programs, budget);
  if (query.device_class == nullptr) {
    query.error = where + ": could not retrieve device class " + wanted.class_name +
                  ": deviceclass.resource.k8s.io \"" + wanted.class_name + "\" not found";
    return query;
  }
  query.takes_all = wanted.allocation_mode == "All";
  if (!query.takes_all && wanted.allocation_mode != "ExactCount") {
    query.error = where + ": unsupported count mode " + wanted.allocation_mode;
    return query;
  }
  if (!query.takes_all && wanted.count < 0) {
    query.error = where + ": count " + std::to_string(wanted.count) + " is below zero";
    return query;
  }
  query.count = wanted.count;
  query.selectors = compiled(wanted.selectors, programs, budget);
  for (const NamedAmount& entry : wanted.capacity) {
    const AmountRead read = read_amount(entry.amount);
    if (!read.error.empty()) {
      query.error = where + ", capacity " + entry.name + ": " + std::string(read.error);
      return query;
    }
    query.capacity.push_back({entry.name, read.amount});
  }
  std::stable_sort(query.capacity.begin(), query.capacity.end(),
                   [](const WantedAmount& a, const WantedAmount& b) { return a.name < b.name; });
  return query;
}

void PreparedClaim::read_constraints() {
  for (std::size_t i = 0; i < claim_->constraints.size(); ++i) {
    const Constraint& constraint = claim_->constraints[i];
    PreparedConstraint made;
    made.is_distinct = !constraint.match_attribute;
    const auto& attribute = made.is_distinct ? constraint.distinct_attribute : constraint.match_attribute;
    if (!attribute) {
      error_ =
          "claim " + name_ + ", constraint #" + std::to_string(i) + ": empty constraint (unsupported constraint type?)";
      return;
    }
    made.attribute = *attribute;
    if (const std::size_t slash = made.attribute.find('/'); slash != std::string_view::npos) {
      made.domain = made.attribute.substr(0, slash);
      made.local_name = made.attribute.substr(slash + 1);
    }
    for (const Query& query : queries_)
      made.covers.push_back(is_about(constraint, claim_->requests[query.request].name, result_name(query)));
    constraints_.push_back(std::move(made));
  }
}

}  // namespace berth::dra
