// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/result.hpp"
#include "berth/abi/status.h"

namespace berth::framework {

/// What a plugin is told of a write that failed.
inline berth_code write_code(const Error& error) noexcept {
  switch (error.code) {
    case ErrorCode::conflict:
      return BERTH_CONFLICT;
    case ErrorCode::not_found:
      return BERTH_NOT_FOUND;
    default:
      return BERTH_ERROR;
  }
}

}  // namespace berth::framework
