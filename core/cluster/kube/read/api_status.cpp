// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/api_status.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/utf8.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

/// Reasons of a Status object that somewhere a caller acts on.
constexpr std::pair<std::string_view, ErrorCode> k_reasons[] = {
    {"AlreadyExists", ErrorCode::already_exists},
    {"Conflict", ErrorCode::conflict},
    {"Expired", ErrorCode::expired},
    {"Forbidden", ErrorCode::forbidden},
    {"Gone", ErrorCode::expired},
    {"InternalError", ErrorCode::internal_error},
    {"Invalid", ErrorCode::invalid},
    {"NotFound", ErrorCode::not_found},
    {"ServerTimeout", ErrorCode::timeout},
    {"ServiceUnavailable", ErrorCode::service_unavailable},
    {"Timeout", ErrorCode::timeout},
    {"TooManyRequests", ErrorCode::too_many_requests},
    {"Unauthorized", ErrorCode::unauthorized},
};

ErrorCode code_of(std::string_view reason) noexcept {
  for (const auto& [known, code] : k_reasons)
    if (known == reason) return code;
  return ErrorCode::other;
}

ErrorCode code_of(int status) noexcept {
  switch (status) {
    case 401:
      return ErrorCode::unauthorized;
    case 403:
      return ErrorCode::forbidden;
    case 404:
      return ErrorCode::not_found;
    case 409:
      return ErrorCode::conflict;
    case 410:
      return ErrorCode::expired;
    case 422:
      return ErrorCode::invalid;
    case 429:
      return ErrorCode::too_many_requests;
    case 503:
      return ErrorCode::service_unavailable;
    case 504:
      return ErrorCode::timeout;
    default:
      return status >= 500 ? ErrorCode::internal_error : ErrorCode::other;
  }
}

constexpr std::size_t k_quoted_bytes_max = 512;

}  // namespace

Error api_error(int http_status, std::string_view body) {
  Error out{{}, code_of(http_status)};
  text::Diagnostics ignored;
  const bool is_protobuf = body.starts_with(k_protobuf_magic);
  const auto documents =
      is_protobuf ? parse_protobuf_object(body, "answer", ignored) : text::parse_json(body, "answer", ignored);
  const text::Value* const root = documents.empty() ? nullptr : &documents.front().root();
  const auto field = [&](std::string_view name) -> std::string_view {
    return root == nullptr ? std::string_view() : root->text_at(name);
  };
  if (field("kind") == "Status") {
    out.message = excerpt(field("message"));
    if (!field("reason").empty()) out.code = code_of(field("reason"));
  }
  if (is_protobuf) body = {};  // nothing to quote
  if (out.message.empty())
    out.message = fmt::format("the server answered {}{}{}", http_status, body.empty() ? "" : ": ",
                              excerpt(body, k_quoted_bytes_max));
  return out;
}

bool is_expired(const Error& error) noexcept {
  return error.code == ErrorCode::expired || error.message.find("Too large resource version") != std::string::npos;
}

bool is_transient(const Error& error) noexcept {
  return error.code == ErrorCode::connection_broken || error.code == ErrorCode::unreachable ||
         error.code == ErrorCode::internal_error || error.code == ErrorCode::service_unavailable ||
         error.code == ErrorCode::too_many_requests || error.code == ErrorCode::timeout;
}

Result<std::string> body_of(Result<net::Response> response) {
  if (!response.ok()) return response.error();
  if (response->status < 200 || response->status > 299) return api_error(response->status, response->body);
  return std::move(response->body);
}

}  // namespace berth::cluster::kube
