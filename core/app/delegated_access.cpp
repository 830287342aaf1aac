// SPDX-License-Identifier: Apache-2.0
#include "app/delegated_access.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <future>

#include "cluster/kube/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::int64_t k_kept_ns = 10'000'000'000;
constexpr std::size_t k_kept_max = 8192;
constexpr std::chrono::seconds k_limit{10};
constexpr std::array<std::string_view, 3> k_open = {"/healthz", "/livez", "/readyz"};

using cluster::kube::JsonObject;

/// The text of a review that the server filled in.
Result<std::string> review(cluster::kube::HttpClient& client, const char* target, std::string body) {
  cluster::kube::Request request;
  request.method = cluster::kube::Method::post;
  request.target = target;
  request.body = std::move(body);
  request.timeout = k_limit;
  const auto answered = std::make_shared<std::promise<Result<cluster::kube::Response>>>();
  auto answer = answered->get_future();
  client.send(std::move(request), [answered](Result<cluster::kube::Response> r) { answered->set_value(std::move(r)); });
  if (answer.wait_for(k_limit) != std::future_status::ready) return Error{"no answer within 10 s"};
  return cluster::kube::body_of(answer.get());
}

std::string text_of(const text::Value* value) {
  return value != nullptr && value->is_string() ? std::string(value->text()) : std::string();
}

bool is_true(const text::Value* value) { return value != nullptr && value->boolean(); }

std::string groups_json(const std::vector<std::string>& groups) {
  std::string out = "[";
  for (const std::string& group : groups) {
    if (out.size() > 1) out += ',';
    text::append_json_string(out, group);
  }
  return out + "]";
}

serving::Reply refusal(int code, std::string_view reason, std::string_view message) {
  JsonObject out;
  out.text("kind", "Status").text("apiVersion", "v1").json("metadata", "{}").text("status", "Failure");
  out.text("message", message).text("reason", reason);
  if (code == 403) out.json("details", "{}");
  return {code, out.number("code", code).done(), "application/json"};
}

}  // namespace

std::optional<DelegatedAccess::User> DelegatedAccess::authenticate(const std::string& token) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = users_.find(token);
    if (known != users_.end() && known->second.until_ns > clock_.monotonic_ns()) return known->second.value;
  }
  std::optional<User> out;
  if (authentication_ == nullptr) return out;
  JsonObject body;
  body.text("kind", "TokenReview").text("apiVersion", "authentication.k8s.io/v1");
  body.json("spec", JsonObject().text("token", token).done());
  const Result<std::string> answer =
      review(*authentication_, "/apis/authentication.k8s.io/v1/tokenreviews", body.done());
  if (!answer.ok()) {
    spdlog::warn("a token cannot be reviewed: {}", answer.error().message);
    return out;
  }
  text::Problems problems;
  const auto documents = text::parse_json(*answer, "token review", problems);
  if (!documents.empty() && is_true(documents.front().root().find_path("status.authenticated"))) {
    const text::Value& root = documents.front().root();
    out = User{text_of(root.find_path("status.user.username")), text_of(root.find_path("status.user.uid")), {}};
    if (const text::Value* groups = root.find_path("status.user.groups"))
      for (const text::Value& group : groups->elements()) out->groups.emplace_back(group.text());
  }
  const std::lock_guard lock(mutex_);
  if (users_.size() >= k_kept_max) users_.clear();
  users_[token] = {clock_.monotonic_ns() + k_kept_ns, out};
  return out;
}

bool DelegatedAccess::authorize(const User& user, const std::string& path, const std::string& verb) {
  if (std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end()) return true;
  const std::string key = fmt::format("{}\n{}\n{}\n{}", user.name, fmt::join(user.groups, ","), verb, path);
  {
    const std::lock_guard lock(mutex_);
    const auto known = allowed_.find(key);
    if (known != allowed_.end() && known->second.until_ns > clock_.monotonic_ns()) return known->second.value;
  }
  if (authorization_ == nullptr) return false;
  JsonObject spec, body;
  spec.text("user", user.name).json("groups", groups_json(user.groups));
  if (!user.uid.empty()) spec.text("uid", user.uid);
  spec.json("nonResourceAttributes", JsonObject().text("path", path).text("verb", verb).done());
  body.text("apiVersion", "authorization.k8s.io/v1").text("kind", "SubjectAccessReview").json("spec", spec.done());
  const Result<std::string> answer =
      review(*authorization_, "/apis/authorization.k8s.io/v1/subjectaccessreviews", body.done());
  if (!answer.ok()) {
    spdlog::warn("access cannot be reviewed: {}", answer.error().message);
    return false;
  }
  text::Problems problems;
  const auto documents = text::parse_json(*answer, "access review", problems);
  const bool allowed = !documents.empty() && is_true(documents.front().root().find_path("status.allowed")) &&
                       !is_true(documents.front().root().find_path("status.denied"));
  const std::lock_guard lock(mutex_);
  if (allowed_.size() >= k_kept_max) allowed_.clear();
  allowed_[key] = {clock_.monotonic_ns() + k_kept_ns, allowed};
  return allowed;
}

std::optional<serving::Reply> DelegatedAccess::check(const serving::Ask& ask) {
  User user{"system:anonymous", "", {"system:unauthenticated"}};
  constexpr std::string_view k_bearer = "Bearer ";
  if (!ask.authorization.empty()) {
    std::optional<User> known;
    if (ask.authorization.starts_with(k_bearer)) known = authenticate(ask.authorization.substr(k_bearer.size()));
    if (!known) return refusal(401, "Unauthorized", "Unauthorized");
    user = std::move(*known);
    user.groups.emplace_back("system:authenticated");
  }
  if (std::find(k_open.begin(), k_open.end(), ask.path) != k_open.end()) return std::nullopt;
  std::string verb = ask.method;
  std::transform(verb.begin(), verb.end(), verb.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (authorize(user, ask.path, verb)) return std::nullopt;
  return refusal(403, "Forbidden",
                 fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user.name, verb, ask.path));
}

}  // namespace berth::app
