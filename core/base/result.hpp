// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace berth {

/// What kind of failure it is, for callers that act on it. Most failures are `other`: their message says it all.
enum class ErrorCode : std::uint8_t {
  other,
  // What an API server answers (kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go, StatusReason).
  already_exists,
  conflict,  // the object has changed, or is another of that name
  expired,   // of a version that is too old to list or watch from
  forbidden,
  internal_error,
  invalid,
  not_found,
  service_unavailable,
  timeout,
  too_many_requests,
  unauthorized,
  // No answer came.
  connection_broken,  // the request may or may not have been carried out
  unreachable,        // the request did not reach the server
  stopped,            // it was not sent: this process writes nothing any more, or the client was stopped
  // Bindings that were not sent.
  withheld,       // to a node that is not there, as far as is known
  nodes_unknown,  // it may be sent later: which nodes are there is not known at this moment
  // Local.
  bad_arguments,
  out_of_sync,  // of another version than the caller's
  unreadable,   // a file
};
/// The name of the enumerator, for logs and tests.
std::string_view error_name(ErrorCode code) noexcept;

/// Something outside of us refused or is malformed. `message` is one sentence for people.
struct Error {
  std::string message;
  ErrorCode code = ErrorCode::other;
};

/// One line about a failure, for BERTH_CHECK. Types of failure that collect several have their own, found by ADL.
inline const std::string& summary(const Error& error) noexcept { return error.message; }

/// A value or a failure, never both. For the world's failures; verdicts about pods are data, broken invariants are
/// BERTH_CHECK. `Failure` is an Error, or what collects several (text::Diagnostics).
template <typename T, typename Failure = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT: implicit by design
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// Requires: ok().
  T& value() & {
    BERTH_CHECK(ok(), "value() of a failed result: {}", summary(std::get<1>(state_)));
    return std::get<0>(state_);
  }
  const T& value() const& {
    BERTH_CHECK(ok(), "value() of a failed result: {}", summary(std::get<1>(state_)));
    return std::get<0>(state_);
  }
  T&& value() && {
    BERTH_CHECK(ok(), "value() of a failed result: {}", summary(std::get<1>(state_)));
    return std::get<0>(std::move(state_));
  }
  /// Requires: !ok().
  const Failure& error() const& {
    BERTH_CHECK(!ok(), "error() of a good result");
    return std::get<1>(state_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::variant<T, Failure> state_;
};

/// Success without a value, or an Error.
struct Unit {};
using Status = Result<Unit>;

}  // namespace berth
