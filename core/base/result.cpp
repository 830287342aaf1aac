// SPDX-License-Identifier: Apache-2.0
#include "base/result.hpp"

namespace berth {

std::string_view error_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::other:
      return "other";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::expired:
      return "expired";
    case ErrorCode::forbidden:
      return "forbidden";
    case ErrorCode::internal_error:
      return "internal_error";
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::service_unavailable:
      return "service_unavailable";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::too_many_requests:
      return "too_many_requests";
    case ErrorCode::unauthorized:
      return "unauthorized";
    case ErrorCode::connection_broken:
      return "connection_broken";
    case ErrorCode::unreachable:
      return "unreachable";
    case ErrorCode::stopped:
      return "stopped";
    case ErrorCode::withheld:
      return "withheld";
    case ErrorCode::nodes_unknown:
      return "nodes_unknown";
    case ErrorCode::bad_arguments:
      return "bad_arguments";
    case ErrorCode::out_of_sync:
      return "out_of_sync";
    case ErrorCode::unreadable:
      return "unreadable";
  }
  return "other";
}

}  // namespace berth
