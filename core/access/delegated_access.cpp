// SPDX-License-Identifier: Apache-2.0
#include "access/delegated_access.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/guarded.hpp"
#include "base/url_text.hpp"
#include "base/utf8.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "observe/log.hpp"
#include "serving/peer_identity.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::access {
namespace {

constexpr std::chrono::seconds k_limit{10};
constexpr const char* k_authenticated = "system:authenticated";

using text::JsonObject;
using text::list_json;
using Extra = std::map<std::string, std::vector<std::string>>;

bool is_true(const text::Value* value) { return value != nullptr && value->boolean(); }

std::vector<std::string> texts_of(const text::Value* list) {
  std::vector<std::string> out;
  if (list != nullptr && list->is_sequence())
    for (const text::Value& value : list->elements())
      out.emplace_back(value.is_string() ? value.text() : std::string_view());
  return out;
}

serving::HttpResponse refusal(int code, std::string_view reason, std::string_view message) {
  JsonObject out;
  out.text("kind", "Status").text("apiVersion", "v1").json("metadata", "{}").text("status", "Failure");
  out.text("message", message).text("reason", reason);
  if (code == 403) out.json("details", "{}");
  return {code, out.number("code", code).done(), "application/json"};
}

/// One review on behalf of a stranger, which ends with it; null: the caller is known.
class StrangersTurn {
 public:
  StrangersTurn(Mutex& mutex, StrangerReviews* reviews) : mutex_(mutex), reviews_(reviews) {}
  ~StrangersTurn() {
    if (reviews_ == nullptr) return;
    const Lock lock(mutex_);
    reviews_->end();
  }
  StrangersTurn(const StrangersTurn&) = delete;
  StrangersTurn& operator=(const StrangersTurn&) = delete;

 private:
  Mutex& mutex_;
  StrangerReviews* const reviews_ PT_GUARDED_BY(mutex_);
};

/// Whether a refusal is worth keeping: there is no end of paths that are not there, nor of made-up verbs.
bool is_asked_again(const serving::HttpRequest& ask) {
  constexpr std::array k_methods = {"GET", "HEAD", "PUT", "POST", "DELETE"};
  return ask.has_route && std::find(k_methods.begin(), k_methods.end(), ask.method) != k_methods.end();
}

/// The answer to a stranger while too many others are reviewed.
serving::HttpResponse come_again() {
  serving::HttpResponse out = refusal(429, "TooManyRequests", "too many requests, please try again later");
  out.headers.emplace_back("Retry-After", "1");
  return out;
}

/// The token of an Authorization header; empty: it has none.
std::string bearer_token(std::string_view header) {
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  const std::size_t space = header.find(' ');
  if (space == std::string_view::npos || lower_case(header.substr(0, space)) != "bearer") return {};
  header.remove_prefix(space + 1);
  return std::string(header.substr(0, header.find(' ')));
}

/// All values of the first of these headers that has any.
std::vector<std::string> values_of(const serving::HttpRequest& ask, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string wanted = lower_case(name);
    for (const auto& [header, value] : ask.headers)
      if (header == wanted && !value.empty()) out.push_back(value);
  }
  return out;
}

Extra extra_of(const serving::HttpRequest& ask, const std::vector<std::string>& prefixes) {
  Extra out;
  for (const std::string& prefix : prefixes) {
    const std::string wanted = lower_case(prefix);
    for (const auto& [header, value] : ask.headers)
      if (header.size() > wanted.size() && header.starts_with(wanted))
        out[percent_decode(header.substr(wanted.size()))].push_back(value);
  }
  return out;
}

/// A name as a metric may show it: there would be no end of them.
std::string shown_name(const std::string& user) {
  for (const char* known : {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})
    if (user == known) return user;
  return user.find('@') != std::string::npos ? "email_id" : "other";
}

template <std::size_t Bounds>
double total(const observe::BucketCounts<Bounds>& ended) {
  return static_cast<double>(std::accumulate(ended.counts.begin(), ended.counts.end(), std::uint64_t{0}));
}

}  // namespace

/// The text of a review that the server filled in.
Result<std::string> DelegatedAccess::review(net::HttpClient& client, const char* target, std::string body,
                                            Reviews DelegatedAccess::*reviews) {
  net::Request request;
  request.method = net::Method::post;
  request.target = target;
  request.body = std::move(body);
  request.retry = {4, std::chrono::milliseconds(500), 1.5};
  const std::int64_t began_ns = clock_.monotonic_ns();
  Result<net::Response> answer = cluster::kube::exchange_with_server(client, std::move(request), k_limit);
  const double seconds = static_cast<double>(clock_.monotonic_ns() - began_ns) * 1e-9;
  const Lock lock(mutex_);
  (this->*reviews).by_code[answer.ok() ? std::to_string(answer->status) : "<error>"].add(Reviews::k_bounds_s, seconds);
  return cluster::kube::body_of(std::move(answer));
}

std::optional<DelegatedAccess::User> DelegatedAccess::by_proxy(const serving::HttpRequest& ask,
                                                               const CallerAuthorities& trusted) const {
  if (trusted.request_header_ca.empty() || ask.peer_chain.empty()) return std::nullopt;
  const Result<serving::PeerIdentity> proxy = serving::verify_peer(ask.peer_chain, trusted.request_header_ca);
  if (!proxy.ok()) return std::nullopt;
  const auto& names = trusted.allowed_names;
  if (!names.empty() && std::find(names.begin(), names.end(), proxy->common_name) == names.end()) return std::nullopt;
  const std::vector<std::string> users = values_of(ask, trusted.username_headers);
  if (users.empty()) return std::nullopt;
  const std::vector<std::string> uids = values_of(ask, trusted.uid_headers);
  return User{users.front(), uids.empty() ? "" : uids.front(), values_of(ask, trusted.group_headers),
              extra_of(ask, trusted.extra_header_prefixes)};
}

std::size_t DelegatedAccess::bytes_of(const std::optional<User>& user) {
  constexpr std::size_t k_text = sizeof(std::string) + 32;  // and what the allocator adds
  if (!user) return 0;
  std::size_t out = user->name.size() + user->uid.size() + 2 * k_text;
  for (const std::string& group : user->groups) out += group.size() + k_text;
  for (const auto& [name, values] : user->extra) {
    out += name.size() + 3 * k_text;
    for (const std::string& value : values) out += value.size() + k_text;
  }
  return out;
}

Result<std::optional<DelegatedAccess::User>> DelegatedAccess::by_token(const std::string& token) {
  // RFC 6750 names fewer; what else there is could not be asked about in JSON.
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
    observe::V(2).info("A token is refused: it has bytes that no token has", {{"bytes", token.size()}});
    return std::optional<User>();
  }
  const std::optional<Users::Key> key = [&] {
    const Lock lock(mutex_);
    return users_.key_of(token);
  }();
  if (!key) {
    observe::V(2).info("A token is refused: it is too long", {{"bytes", token.size()}});
    return std::optional<User>();
  }
  bool is_stranger = true;
  {
    const Lock lock(mutex_);
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (const Users::Entry* known = users_.find(*key)) {
      if (known->until_ns > now_ns) return known->value;
      is_stranger = !known->value;
    }
    if (is_stranger && !token_strangers_.begin(now_ns))
      return Error{"too many tokens are unknown here", ErrorCode::too_many_requests};
  }
  const StrangersTurn turn(mutex_, is_stranger ? &token_strangers_ : nullptr);
  std::optional<User> out;
  JsonObject body;
  body.text("kind", "TokenReview").text("apiVersion", "authentication.k8s.io/v1");
  body.json("spec", JsonObject().text("token", token).done());
  const Result<std::string> answer = review(*authentication_, "/apis/authentication.k8s.io/v1/tokenreviews",
                                            body.done(), &DelegatedAccess::token_reviews_);
  if (!answer.ok()) {
    observe::warning("A token cannot be reviewed", {{"err", answer.error().message}});
    return out;
  }
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*answer, "token review", diagnostics);
  if (!documents.empty() && is_true(documents.front().root().find_path("status.authenticated"))) {
    const text::Value& root = documents.front().root();
    out = User{std::string(root.text_at("status.user.username")),
               std::string(root.text_at("status.user.uid")),
               texts_of(root.find_path("status.user.groups")),
               {}};
    if (const text::Value* extra = root.find_path("status.user.extra"); extra != nullptr && extra->is_mapping())
      for (const text::Member& member : extra->members()) out->extra[std::string(member.key)] = texts_of(&member.value);
  }
  const Lock lock(mutex_);
  const std::int64_t now_ns = clock_.monotonic_ns();
  users_.keep(*key, out, bytes_of(out), now_ns + options_.token_kept_ns, now_ns);
  return out;
}

Result<std::optional<DelegatedAccess::User>> DelegatedAccess::identify(const serving::HttpRequest& ask) {
  const Error unauthorized{"Unauthorized"};
  std::optional<User> found;
  bool refused = false;  // counts when nothing else says who it is
  if (!ask.peer_chain.empty()) {
    const auto trusted = authorities_.current();
    found = by_proxy(ask, *trusted);
    if (!found && !trusted->client_ca.empty()) {
      Result<serving::PeerIdentity> peer = serving::verify_peer(ask.peer_chain, trusted->client_ca);
      if (!peer.ok() || peer->common_name.empty()) {
        observe::V(2).info("A client certificate is refused",
                           {{"err", peer.ok() ? std::string_view("it names no user") : peer.error().message}});
        refused = true;
      } else {
        found = User{std::move(peer->common_name), "", std::move(peer->organizations), {}};
      }
    }
  }
  const std::string token = bearer_token(ask.header("authorization"));
  if (!found && !token.empty() && authentication_ != nullptr) {
    Result<std::optional<User>> reviewed = by_token(token);
    if (!reviewed.ok()) return reviewed.error();
    found = std::move(*reviewed);
    refused = !found;
  }
  if (refused) return unauthorized;
  if (found && std::find(found->groups.begin(), found->groups.end(), k_authenticated) == found->groups.end())
    found->groups.emplace_back(k_authenticated);
  return found;
}

bool DelegatedAccess::is_always_allowed(std::string_view path) const {
  const auto trimmed = [](std::string_view text) { return text.starts_with('/') ? text.substr(1) : text; };
  return std::any_of(options_.always_allowed.begin(), options_.always_allowed.end(), [&](std::string_view allowed) {
    if (allowed.ends_with('*')) return trimmed(path).starts_with(trimmed(allowed.substr(0, allowed.size() - 1)));
    return trimmed(path) == trimmed(allowed);
  });
}

bool DelegatedAccess::may_wait(const serving::HttpRequest& ask) const {
  // Which authorities may sign a certificate is asked of the cluster now and then.
  return !ask.header("authorization").empty() || !ask.peer_chain.empty() || !is_always_allowed(ask.path);
}

const char* DelegatedAccess::result_of(Access access) {
  switch (access) {
    case Access::allowed:
      return "allowed";
    case Access::denied:
      return "denied";
    case Access::no_opinion:
      return "no-opinion";
    case Access::unknown:
    case Access::too_many:
      break;
  }
  return "error";
}

DelegatedAccess::Access DelegatedAccess::authorize(const User& user, const serving::HttpRequest& ask,
                                                   const std::string& verb) {
  if (std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end()) return Access::allowed;
  if (authorization_ == nullptr) return Access::no_opinion;
  JsonObject spec, body, extra;
  spec.text("user", user.name).json("groups", list_json(user.groups));
  if (!user.uid.empty()) spec.text("uid", user.uid);
  for (const auto& [name, values] : user.extra) extra.json(name, list_json(values));
  if (!user.extra.empty()) spec.json("extra", extra.done());
  spec.json("nonResourceAttributes", JsonObject().text("path", ask.path).text("verb", verb).done());
  const std::string asked = spec.done();
  const std::optional<Accesses::Key> key = [&] {
    const Lock lock(mutex_);
    return access_.key_of(asked);
  }();
  bool is_stranger = true;
  {
    const Lock lock(mutex_);
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (const Accesses::Entry* known = key ? access_.find(*key) : nullptr) {
      if (known->until_ns > now_ns) return known->value;
      is_stranger = known->value != Access::allowed;
    }
    if (is_stranger && !access_strangers_.begin(now_ns)) return Access::too_many;
  }
  const StrangersTurn turn(mutex_, is_stranger ? &access_strangers_ : nullptr);
  body.text("apiVersion", "authorization.k8s.io/v1").text("kind", "SubjectAccessReview").json("spec", asked);
  const Result<std::string> answer = review(*authorization_, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                            body.done(), &DelegatedAccess::access_reviews_);
  if (!answer.ok()) {
    observe::warning("Access cannot be reviewed", {{"err", answer.error().message}});
    return Access::unknown;
  }
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*answer, "access review", diagnostics);
  if (documents.empty()) return Access::unknown;
  const bool is_denied = is_true(documents.front().root().find_path("status.denied"));
  const bool is_allowed = is_true(documents.front().root().find_path("status.allowed"));
  const Access access = is_denied ? Access::denied : is_allowed ? Access::allowed : Access::no_opinion;
  if (!key || (access != Access::allowed && !is_asked_again(ask))) return access;
  const Lock lock(mutex_);
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::int64_t kept_ns = access == Access::allowed ? options_.allowed_kept_ns : options_.refused_kept_ns;
  access_.keep(*key, access, 0, now_ns + kept_ns, now_ns);
  return access;
}

serving::Admission DelegatedAccess::check(const serving::HttpRequest& ask) {
  const std::int64_t began_ns = clock_.monotonic_ns();
  Result<std::optional<User>> who = identify(ask);
  const bool is_known = who.ok() && who->has_value();
  const User user = is_known ? std::move(**who) : User{"system:anonymous", "", {"system:unauthenticated"}, {}};
  {
    const double seconds = seconds_since(began_ns);
    const Lock lock(mutex_);
    authentications_.add(who.ok() ? "success" : "error", seconds);
    if (who.ok()) ++users_seen_[shown_name(user.name)];
  }
  if (!who.ok() && who.error().code == ErrorCode::too_many_requests) return std::optional(come_again());
  if (!who.ok()) return std::optional(refusal(401, "Unauthorized", who.error().message));
  const std::int64_t known_ns = clock_.monotonic_ns();
  const std::string verb = lower_case(ask.method);
  const bool is_open = is_always_allowed(ask.path);
  const Access access = is_open ? Access::allowed : authorize(user, ask, verb);
  {
    const double seconds = seconds_since(known_ns);
    const Lock lock(mutex_);
    authorizations_.add(result_of(access), seconds);
  }
  if (access == Access::allowed) return {std::nullopt, is_known && !is_open};
  if (access == Access::too_many) return std::optional(come_again());
  return std::optional(refusal(403, "Forbidden",
                               fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user.name, verb, ask.path)));
}

void DelegatedAccess::clear_metrics() {
  const Lock lock(mutex_);
  token_reviews_.by_code.clear();
  access_reviews_.by_code.clear();
  authentications_.by_result.clear();
  authorizations_.by_result.clear();
  users_seen_.clear();
}

void DelegatedAccess::add_metrics(observe::MetricPage& page) const {
  using observe::MetricKind;
  const Lock lock(mutex_);
  const auto add_reviews = [&](const std::string& what, const Reviews& reviews) {
    std::vector<observe::MetricSample> counts;
    std::vector<observe::HistogramSample> durations;
    for (const auto& [code, ended] : reviews.by_code) {
      counts.push_back({{{"code", code}}, total(ended)});
      durations.push_back(ended.sample({{"code", code}}));
    }
    page.add(MetricKind::counter, "apiserver_delegated_" + what + "_request_total",
             "[ALPHA] Number of HTTP requests partitioned by status code.", std::move(counts));
    page.add_histogram("apiserver_delegated_" + what + "_request_duration_seconds",
                       "[ALPHA] Request latency in seconds. Broken down by status code.", Reviews::k_bounds_s,
                       std::move(durations));
  };
  add_reviews("authn", token_reviews_);
  add_reviews("authz", access_reviews_);
  const auto add_decisions = [&](const char* attempts, const char* durations, const char* of,
                                 const Decisions& decisions) {
    std::vector<observe::MetricSample> counts;
    std::vector<observe::HistogramSample> seconds;
    for (const auto& [result, ended] : decisions.by_result) {
      counts.push_back({{{"result", result}}, total(ended)});
      seconds.push_back(ended.sample({{"result", result}}));
    }
    page.add(MetricKind::counter, attempts, fmt::format("[ALPHA] Counter of {} attempts broken down by result.", of),
             std::move(counts));
    page.add_histogram(durations, fmt::format("[ALPHA] {} duration in seconds broken out by result.", of),
                       Decisions::k_bounds_s, std::move(seconds));
  };
  add_decisions("authentication_attempts", "authentication_duration_seconds", "authentication", authentications_);
  add_decisions("authorization_attempts_total", "authorization_duration_seconds", "authorization", authorizations_);
  std::vector<observe::MetricSample> users;
  for (const auto& [name, count] : users_seen_) users.push_back({{{"username", name}}, static_cast<double>(count)});
  page.add(MetricKind::counter, "authenticated_user_requests",
           "[ALPHA] Counter of authenticated requests broken out by username.", std::move(users));
}

void DelegatedAccess::add_cache_metrics(observe::MetricPage& page) const {
  using observe::MetricKind;
  const Lock lock(mutex_);
  const auto both = [](auto tokens, auto access) {
    return std::vector<observe::MetricSample>{{{{"review", "token"}}, static_cast<double>(tokens)},
                                              {{{"review", "access"}}, static_cast<double>(access)}};
  };
  page.add(MetricKind::gauge, "berth_review_cache_entries", "Answers of reviews that are kept, by what was reviewed.",
           both(users_.size(), access_.size()));
  page.add(MetricKind::gauge, "berth_review_cache_bytes", "Memory that they take; each cache has 4 MiB.",
           both(users_.bytes(), access_.bytes()));
  page.add(MetricKind::counter, "berth_review_cache_dropped_total",
           "Answers of reviews that were forgotten for room, or because they had expired.",
           both(users_.dropped(), access_.dropped()));
  page.add(MetricKind::counter, "berth_reviews_refused_total",
           "Requests that were answered with 429, as too many callers who are not known asked for reviews.",
           both(token_strangers_.refused(), access_strangers_.refused()));
}

}  // namespace berth::access
