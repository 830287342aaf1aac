// SPDX-License-Identifier: Apache-2.0
#include "extender/http_extender.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/url_text.hpp"
#include "base/utf8.hpp"
#include "cluster/binding_gate.hpp"
#include "cluster/kube/auth/credentials.hpp"
#include "net/url.hpp"

namespace berth::extender {
namespace {

using cluster::kube::ClientConfig;
using net::Endpoint;
using net::HttpClient;
using net::Response;
using net::Url;

constexpr int k_ok = 200, k_moved_first = 301, k_moved_last = 303, k_temporary = 307, k_permanent = 308;
constexpr int k_requests_max = 10;  // the tenth redirection is one too many
// The scheduling thread asks for one thing at a time; bindings come in crowds.
constexpr std::size_t k_cycle_connections = 4, k_bind_connections = 32;

std::string without_slashes(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

ClientConfig client_config(const config::Extender& extender, Url server) {
  ClientConfig out;
  out.auth.password_in_plain = true;
  out.auth.username = std::move(server.user);
  out.auth.password = std::move(server.password);
  server.user.clear();
  server.password.clear();
  out.server = std::move(server);
  if (extender.tls) {
    const config::ExtenderTls& tls = *extender.tls;
    out.tls.insecure = tls.insecure;
    out.tls.server_name = tls.server_name;
    out.tls.authority = {tls.ca_data, tls.ca_file};
    out.tls.certificate = {tls.cert_data, tls.cert_file};
    out.tls.key = {tls.key_data, tls.key_file};
  }
  if (extender.enable_https && out.tls.authority.empty()) out.tls.insecure = true;
  return out;
}

net::HttpClientOptions client_options(const std::string& user_agent, std::size_t connections) {
  net::HttpClientOptions out;
  out.qps = -1;
  out.user_agent = user_agent;
  out.accept_gzip = true;
  out.connections_max = connections;
  return out;
}

/// What an answer may have: room for the names and objects it was asked about, for a name and a reason of 1 KiB for each
/// of so many nodes or victims, and for 4 MiB of whatever else.
std::uint64_t answer_bytes_max(std::size_t request_bytes, std::size_t asked_about) {
  constexpr std::uint64_t k_room_bytes = 4 * 1024 * 1024, k_of_each = 1024;
  return k_room_bytes + 2 * request_bytes + k_of_each * asked_about;
}

/// The gate withheld it: it was not sent.
bool is_ours(const Error& error) noexcept {
  return error.code == ErrorCode::withheld || error.code == ErrorCode::nodes_unknown;
}

/// A verb becomes a part of a URL as it is.
Status check_verb(std::string_view verb) {
  const bool fits = std::all_of(verb.begin(), verb.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (fits) return Unit{};
  return Error{fmt::format("\"{}\" cannot be a verb: it becomes a part of a URL", verb)};
}

}  // namespace

Result<std::unique_ptr<HttpExtender>> HttpExtender::make(config::Extender configuration, const Parts& parts) {
  for (const std::string* const verb : {&configuration.filter_verb, &configuration.prioritize_verb,
                                        &configuration.preempt_verb, &configuration.bind_verb})
    if (Status good = check_verb(*verb); !good.ok()) return good.error();
  Result<Url> url = net::parse_url(without_slashes(configuration.url_prefix), "http");
  if (!url.ok()) return url.error();
  std::string path = std::exchange(url->path, {});
  Result<std::shared_ptr<Endpoint>> endpoint =
      cluster::kube::make_endpoint(client_config(configuration, *url), parts.clock, parts.environment);
  if (!endpoint.ok()) return endpoint.error();
  return std::unique_ptr<HttpExtender>(new HttpExtender(std::move(configuration), parts, std::move(*endpoint),
                                                        Address{std::move(*url), std::move(path)}));
}

HttpExtender::HttpExtender(config::Extender configuration, const Parts& parts, std::shared_ptr<Endpoint> endpoint,
                           Address base)
    : configuration_(std::move(configuration)),
      name_(url_without_password(configuration_.url_prefix)),
      base_url_(without_slashes(name_)),
      base_(std::move(base)),
      bodies_(configuration_.node_cache_capable ? nullptr : parts.bodies),
      victim_form_(configuration_.node_cache_capable ? VictimForm::uids
                   : parts.as_v1_16                  ? VictimForm::pods_and_old_name
                                                     : VictimForm::pods),
      redirects_([this, parts](const Url& server) -> Result<std::unique_ptr<HttpClient>> {
        Result<std::shared_ptr<Endpoint>> there =
            cluster::kube::make_endpoint(client_config(configuration_, server), parts.clock, parts.environment);
        if (!there.ok()) return there.error();
        return std::make_unique<HttpClient>(parts.io, std::move(*there),
                                            client_options(parts.user_agent, k_bind_connections));
      }),
      cycle_client_(parts.io, endpoint, client_options(parts.user_agent, k_cycle_connections)),
      bind_client_(parts.io, endpoint, client_options(parts.user_agent, k_bind_connections)) {
  for (const config::ManagedResource& resource : configuration_.managed_resources)
    managed_.push_back(parts.symbols.intern(resource.name));
}

bool HttpExtender::is_interested(const model::Pod& pod) const noexcept {
  if (managed_.empty()) return true;
  return std::any_of(pod.spec->managed_resources.begin(), pod.spec->managed_resources.end(), [&](Symbol resource) {
    return std::find(managed_.begin(), managed_.end(), resource) != managed_.end();
  });
}

void HttpExtender::post(HttpClient& client, Address to, std::string body, Terms terms, int redirects,
                        HttpClient::Done done) {
  net::Request request;
  request.method = net::Method::post;
  request.target = to.target;
  request.body = std::move(body);
  request.answer_bytes_max = terms.answer_bytes_max;
  request.timeout =
      std::max(std::chrono::duration_cast<std::chrono::milliseconds>(terms.end - std::chrono::steady_clock::now()),
               std::chrono::milliseconds(1));
  request.timeout_of_all = true;
  request.retry.when_told = false;
  request.written_once = true;
  if (terms.may_go) request.may_go = [may_go = terms.may_go](bool /*may_be_done*/) { return may_go(); };
  client.send(std::move(request), [this, to = std::move(to), terms = std::move(terms), redirects,
                                   done = std::move(done)](Result<Response> answer) {
    const bool elsewhere = answer.ok() && (answer->status == k_temporary || answer->status == k_permanent);
    if (!elsewhere || answer->location.empty()) return done(std::move(answer));
    if (redirects + 1 == k_requests_max) return done(Error{fmt::format("stopped after {} redirects", k_requests_max)});
    Result<Address> next = resolve_location(to, answer->location);
    if (!next.ok()) return done(next.error());
    const Result<HttpClient*> its = redirects_.client_of(next->server);
    if (!its.ok()) return done(its.error());
    post(**its, std::move(*next), std::move(answer->question), terms, redirects + 1, done);
  });
}

template <typename T, typename Read>
void HttpExtender::call(HttpClient& client, const std::string& verb, Result<std::string> body, std::size_t asked_about,
                        Read read, Done<T> done, MayGo may_go) {
  if (!body.ok()) return done(body.error());
  Terms terms{answer_bytes_max(body->size(), asked_about), std::chrono::steady_clock::now() + limit(),
              std::move(may_go)};
  auto answered = [url = base_url_ + "/" + verb, verb, read, done = std::move(done)](Result<Response> answer) {
    if (!answer.ok() && is_ours(answer.error())) return done(answer.error());
    if (!answer.ok()) return done(Error{fmt::format("Post \"{}\": {}", url, excerpt(answer.error().message))});
    if (answer->status == k_ok) {
      Result<T> said = read(answer->body);
      if (said.ok()) return done(std::move(said));
      return done(Error{excerpt(said.error().message), said.error().code});
    }
    // A POST that followed one of these would be a GET.
    const bool turns = answer->status >= k_moved_first && answer->status <= k_moved_last && !answer->location.empty();
    done(Error{fmt::format("failed {} with extender at URL {}, code {}{}", verb, url, answer->status,
                           turns ? ", Location: " + excerpt(url_without_password(answer->location)) : std::string())});
  };
  post(client, {base_.server, base_.target + "/" + verb}, std::move(*body), std::move(terms), 0, std::move(answered));
}

void HttpExtender::filter(const model::Pod& pod, Nodes nodes, Done<Filtered> done) {
  const bool names_only = configuration_.node_cache_capable;
  call<Filtered>(
      cycle_client_, configuration_.filter_verb, nodes_request(pod, nodes, bodies_.get()), nodes.size(),
      [names_only](std::string_view body) { return filter_answer(body, names_only); }, std::move(done));
}

void HttpExtender::prioritize(const model::Pod& pod, Nodes nodes, Done<std::vector<HostScore>> done) {
  call<std::vector<HostScore>>(cycle_client_, configuration_.prioritize_verb, nodes_request(pod, nodes, bodies_.get()),
                               nodes.size(), prioritize_answer, std::move(done));
}

void HttpExtender::preempt(const model::Pod& pod, const ByNode<Victims>& victims, Done<ByNode<MetaVictims>> done) {
  call<ByNode<MetaVictims>>(cycle_client_, configuration_.preempt_verb, preempt_request(pod, victims, victim_form_),
                            victims.size(), preempt_answer, std::move(done));
}

void HttpExtender::bind(const model::Pod& pod, std::string_view node_name, MayGo may_go, Done<Unit> done) {
  call<Unit>(bind_client_, configuration_.bind_verb, bind_request(pod, node_name), 1, bind_answer, std::move(done),
             std::move(may_go));
}

}  // namespace berth::extender
