// SPDX-License-Identifier: Apache-2.0
/// What keeps requests from devices, in words.
#pragma once
#include <string>

#include "../inventory.hpp"
#include "../prepared_claim.hpp"

namespace berth::dra {

/// Of an expression, at most so much, and never half of a character.
inline std::string excerpt(std::string_view expression) {
  constexpr std::size_t k_expression_bytes = 160;
  std::string text(expression.substr(0, k_expression_bytes));
  if (text.size() < expression.size()) {
    while (!text.empty() && (static_cast<unsigned char>(expression[text.size()]) & 0xc0) == 0x80) text.pop_back();
    text += "…";
  }
  return text;
}

/// `selector`: among those of the class, and then of the request.
inline std::string refused_by_selector(const Query& query, std::size_t selector) {
  const auto& of_class = query.device_class->selectors;
  const bool is_class = selector < of_class.size();
  const std::size_t number = is_class ? selector : selector - of_class.size();
  const PreparedSelector& refusing = is_class ? of_class[number] : query.selectors[number];
  const std::string whose = is_class ? "of class " + query.device_class->name : "of the request";
  return "refused by selector #" + std::to_string(number) + ' ' + whose + ": " +
         (refusing.program == nullptr ? "it does not compile" : excerpt(refusing.program->text()));
}

inline std::string refused_by_constraint(const PreparedClaim& claim, std::uint32_t number) {
  const PreparedConstraint& constraint = claim.constraints()[number];
  return "refused by constraint #" + std::to_string(number) +
         (constraint.is_distinct ? ": distinctAttribute " : ": matchAttribute ") + std::string(constraint.attribute);
}

inline std::string tainted(const DeviceTaint& taint) {
  return "tainted " + taint.key + (taint.value.empty() ? "" : '=' + taint.value) + ':' + taint.effect;
}

/// Requires: it is not usable.
inline std::string unusable(const Pool& pool) {
  return "resource pool " + std::string(pool.driver) + '/' + std::string(pool.name) +
         (pool.condition == Pool::Condition::invalid ? " is invalid" : " is being updated");
}

}  // namespace berth::dra
