// SPDX-License-Identifier: Apache-2.0
/// Quantities and semantic versions (k8s.io/apiserver/pkg/cel/library).
#include <algorithm>

#include "berth/cel/quantity.hpp"
#include "library/functions.hpp"
#include "values/semver.hpp"

namespace berth::cel {
namespace {

Value keep(const Call& call, const Quantity& value) {
  const Quantity* kept = call.arena.make(value);
  return kept == nullptr ? of_error(k_no_memory) : of_object(Kind::quantity, kept);
}
const Quantity& quantity_at(const Call& call, std::size_t i) { return *call.args[i].quantity; }
const Semver& version_at(const Call& call, std::size_t i) { return *call.args[i].semver; }

Value make_quantity(const Call& call) {
  const QuantityParsed parsed = parse_quantity(call.args[0].text());
  return parsed.error.empty() ? keep(call, parsed.value) : of_error(parsed.error);
}
Value is_quantity(const Call& call) { return of_bool(parse_quantity(call.args[0].text()).error.empty()); }
Value quantity_greater(const Call& call) { return of_bool(compare(quantity_at(call, 0), quantity_at(call, 1)) > 0); }
Value quantity_less(const Call& call) { return of_bool(compare(quantity_at(call, 0), quantity_at(call, 1)) < 0); }
Value quantity_compare(const Call& call) { return of_int(compare(quantity_at(call, 0), quantity_at(call, 1))); }

Value sum_of(const Call& call, const Quantity& right) {
  Quantity sum;
  return add(quantity_at(call, 0), right, sum) ? keep(call, sum) : of_error(k_quantity_too_long);
}
Value add_quantity(const Call& call) { return sum_of(call, quantity_at(call, 1)); }
Value add_integer(const Call& call) { return sum_of(call, quantity_of(call.args[1].integer)); }
Value subtract_quantity(const Call& call) { return sum_of(call, negated(quantity_at(call, 1))); }
Value subtract_integer(const Call& call) { return sum_of(call, negated(quantity_of(call.args[1].integer))); }

Value is_integer(const Call& call) {
  std::int64_t whole = 0;
  return of_bool(as_integer(quantity_at(call, 0), whole));
}
Value to_integer(const Call& call) {
  std::int64_t whole = 0;
  return as_integer(quantity_at(call, 0), whole) ? of_int(whole) : of_error("cannot convert value to integer");
}
Value to_double(const Call& call) { return of_real(as_approximate_double(quantity_at(call, 0))); }
Value sign_of(const Call& call) { return of_int(sign(quantity_at(call, 0))); }

Value make_version(const Call& call) {
  const bool normalize = call.count == 2 && call.args[1].is_true();
  const SemverParsed parsed = parse_semver(call.args[0].text(), normalize, call.arena);
  if (!parsed.error.empty()) return of_error(parsed.error);
  const Semver* kept = call.arena.make(parsed.value);
  return kept == nullptr ? of_error(k_no_memory) : of_object(Kind::semver, kept);
}
Value is_version(const Call& call) { return of_bool(!make_version(call).is_error()); }
int compared_versions(const Call& call) {
  // The shorter of two decides how far they are read.
  const std::uint64_t steps = std::min(comparison_steps(version_at(call, 0)), comparison_steps(version_at(call, 1)));
  return call.work.take(steps) ? compare(version_at(call, 0), version_at(call, 1)) : 0;
}
Value version_greater(const Call& call) { return of_bool(compared_versions(call) > 0); }
Value version_less(const Call& call) { return of_bool(compared_versions(call) < 0); }
Value version_compare(const Call& call) { return of_int(compared_versions(call)); }
Value major_of(const Call& call) { return of_int(static_cast<std::int64_t>(version_at(call, 0).major)); }
Value minor_of(const Call& call) { return of_int(static_cast<std::int64_t>(version_at(call, 0).minor)); }
Value patch_of(const Call& call) { return of_int(static_cast<std::int64_t>(version_at(call, 0).patch)); }

constexpr FunctionRow k_kubernetes_rows[] = {
    {"quantity", "(string) -> kubernetes.Quantity", k_traversal, make_quantity},
    {"isQuantity", "(string) -> bool", k_traversal, is_quantity},
    {"sign", "(kubernetes.Quantity) -> int", k_one, sign_of},
    {"isGreaterThan", "kubernetes.Quantity.(kubernetes.Quantity) -> bool", k_one, quantity_greater},
    {"isGreaterThan", "kubernetes.Semver.(kubernetes.Semver) -> bool", k_one, version_greater},
    {"isLessThan", "kubernetes.Quantity.(kubernetes.Quantity) -> bool", k_one, quantity_less},
    {"isLessThan", "kubernetes.Semver.(kubernetes.Semver) -> bool", k_one, version_less},
    {"compareTo", "kubernetes.Quantity.(kubernetes.Quantity) -> int", k_one, quantity_compare},
    {"compareTo", "kubernetes.Semver.(kubernetes.Semver) -> int", k_one, version_compare},
    {"add", "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity", k_one, add_quantity},
    {"add", "kubernetes.Quantity.(int) -> kubernetes.Quantity", k_one, add_integer},
    {"sub", "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity", k_one, subtract_quantity},
    {"sub", "kubernetes.Quantity.(int) -> kubernetes.Quantity", k_one, subtract_integer},
    {"isInteger", "kubernetes.Quantity.() -> bool", k_one, is_integer},
    {"asInteger", "kubernetes.Quantity.() -> int", k_one, to_integer},
    {"asApproximateFloat", "kubernetes.Quantity.() -> double", k_one, to_double},
    {"semver", "(string) -> kubernetes.Semver", k_traversal, make_version},
    {"semver", "(string, bool) -> kubernetes.Semver", k_traversal, make_version},
    {"isSemver", "(string) -> bool", k_traversal, is_version},
    {"isSemver", "(string, bool) -> bool", k_traversal, is_version},
    {"major", "kubernetes.Semver.() -> int", k_one, major_of},
    {"minor", "kubernetes.Semver.() -> int", k_one, minor_of},
    {"patch", "kubernetes.Semver.() -> int", k_one, patch_of},
};

}  // namespace

std::span<const FunctionRow> kubernetes_functions() { return k_kubernetes_rows; }

}  // namespace berth::cel
