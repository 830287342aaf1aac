// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace berth {

/// Something outside of us refused or is malformed. `message` is one sentence for people; `code` is stable and may be
/// empty.
struct Error {
  std::string message;
  std::string code = {};
};

/// A value or an Error, never both. For the world's failures; verdicts about pods are data, broken invariants are
/// BERTH_CHECK.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// Requires: ok().
  T& value() & {
    BERTH_CHECK(ok(), "value() of a failed result: {}", std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  const T& value() const& {
    BERTH_CHECK(ok(), "value() of a failed result: {}", std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  T&& value() && {
    BERTH_CHECK(ok(), "value() of a failed result: {}", std::get<1>(state_).message);
    return std::get<0>(std::move(state_));
  }
  /// Requires: !ok().
  const Error& error() const& {
    BERTH_CHECK(!ok(), "error() of a good result");
    return std::get<1>(state_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
struct Unit {};
using Status = Result<Unit>;

}  // namespace berth
