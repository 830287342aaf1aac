// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/api_status.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/excerpt.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "cluster/stopped.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return reasons::forbidden;
    case 404:
      return reasons::not_found;
    case 409:
      return reasons::conflict;
    case 410:
      return "Gone";
    case 422:
      return reasons::invalid;
    case 429:
      return reasons::too_many_requests;
    case 503:
      return reasons::service_unavailable;
    case 504:
      return reasons::timeout;
    default:
      return status >= 500 ? reasons::internal_error : "Unknown";
  }
}

constexpr std::size_t k_quoted_bytes_max = 512, k_reason_bytes_max = 128;

}  // namespace

Error api_error(int http_status, std::string_view body) {
  Error out{{}, std::string(reason_of(http_status))};
  text::Problems ignored;
  const bool is_protobuf = body.starts_with(k_protobuf_magic);
  const auto documents =
      is_protobuf ? parse_protobuf_object(body, "answer", ignored) : text::parse_json(body, "answer", ignored);
  const text::Value* const root = documents.empty() ? nullptr : &documents.front().root();
  const auto field = [&](std::string_view name) -> std::string_view {
    const text::Value* value = root == nullptr ? nullptr : root->find(name);
    return value != nullptr && value->is_string() ? value->text() : std::string_view{};
  };
  if (field("kind") == "Status") {
    out.message = excerpt(field("message"));
    if (!field("reason").empty()) out.code = excerpt(field("reason"), k_reason_bytes_max);
  }
  if (is_protobuf) body = {};  // nothing to quote
  if (out.message.empty())
    out.message = fmt::format("the server answered {}{}{}", http_status, body.empty() ? "" : ": ",
                              excerpt(body, k_quoted_bytes_max));
  return out;
}

bool is_expired(const Error& error) noexcept {
  return error.code == "Expired" || error.code == "Gone" ||
         error.message.find("Too large resource version") != std::string::npos;
}

bool is_transient(const Error& error) noexcept {
  return error.code == failures::broken || error.code == failures::unreachable ||
         error.code == reasons::internal_error || error.code == reasons::service_unavailable ||
         error.code == reasons::too_many_requests || error.code == reasons::timeout || error.code == "ServerTimeout";
}

static_assert(failures::stopped == k_stopped, "a write that the client gave up is one that was stopped");

Result<std::string> body_of(Result<net::Response> response) {
  if (!response.ok()) return response.error();
  if (response->status < 200 || response->status > 299) return api_error(response->status, response->body);
  return std::move(response->body);
}

}  // namespace berth::cluster::kube
