// SPDX-License-Identifier: Apache-2.0
#include "app/live/live_server.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "app/cli/feature_gates.hpp"
#include "app/live/api_connection.hpp"
#include "base/product.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

/// A quarter of the files that may be open, for each of two servers: the rest is for the connections that binding needs.
std::size_t connections_max() {
  constexpr std::size_t k_servers_share = 4, k_least = 4;
  const std::size_t usual_max = serving::HttpsServerOptions().connections_max;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return usual_max;
  return std::clamp<std::size_t>(files.rlim_cur / k_servers_share, k_least, usual_max);
}

Result<serving::HttpsServerOptions> server_options(const RunOptions& options, KeySource source) {
  Result<serving::ServingKeys> keys = source.read();
  if (!keys.ok()) return keys.error();
  serving::HttpsServerOptions server;
  server.address = options.bind_address;
  server.port = options.secure_port;
  server.connections_max = connections_max();
  server.keys = std::move(keys->any);
  server.named_keys = std::move(keys->named);
  if (source.has_files()) server.reload_keys = [source = std::move(source)] { return source.read(); };
  server.shares_port = options.shares_port;
  server.min_version = options.tls_min_version;
  server.cipher_suites = options.tls_cipher_suites;
  server.curves = options.tls_curves;
  server.on_answer = [](const serving::HttpRequest& ask, const serving::HttpResponse& reply,
                        std::chrono::nanoseconds took) {
    if (const observe::V v(3); v)
      v.info("HTTP", {{"verb", ask.method},
                      {"URI", ask.path},
                      {"latency", fmt::format("{:.3f}ms", std::chrono::duration<double, std::milli>(took).count())},
                      {"userAgent", ask.header("user-agent")},
                      {"resp", reply.status}});
  };
  return server;
}

}  // namespace

Result<ServingBasis> ServingBasis::make(const RunOptions& options, const FlagValues& flags,
                                        const std::shared_ptr<net::Endpoint>& own, const Clock& clock) {
  ServingBasis out;
  for (const auto& [kubeconfig, reviews] : {std::pair<const std::string&, std::shared_ptr<net::Endpoint>&>(
                                                options.authentication_kubeconfig, out.token_reviews),
                                            {options.authorization_kubeconfig, out.access_reviews}}) {
    auto endpoint = kubeconfig.empty() ? Result(own) : connect(kubeconfig, "", clock);
    if (!endpoint.ok()) return endpoint.error();
    reviews = std::move(*endpoint);
  }
  if (options.secure_port == 0) return out;
  Result<KeySource> keys = KeySource::make(options, flags, clock);
  if (!keys.ok()) return keys.error();
  out.keys = std::move(*keys);
  return out;
}

void LiveServer::make_reviewers(const ServingBasis& basis, net::IoThreads& io, metrics::RestMetrics& requests) {
  net::HttpClientOptions client;
  client.qps = 200;
  client.burst = 400;
  client.user_agent = user_agent("access-review");
  client.on_call = requests.listener();
  if (basis.token_reviews) token_reviewer_ = std::make_unique<net::HttpClient>(io, basis.token_reviews, client);
  if (basis.access_reviews) access_reviewer_ = std::make_unique<net::HttpClient>(io, basis.access_reviews, client);
}

Result<std::unique_ptr<LiveServer>> LiveServer::make(const RunOptions& options, const FlagValues& flags,
                                                     LivePagesParts pages, net::IoThreads& io, ServingBasis basis,
                                                     metrics::RestMetrics& requests) {
  std::unique_ptr<LiveServer> made(new LiveServer);
  made->make_reviewers(basis, io, requests);
  auto authorities = access::AuthorityLookup::make(options.authorities, made->token_reviewer_.get(), pages.clock);
  if (!authorities.ok()) return authorities.error();
  made->authorities_ = std::move(*authorities);
  made->access_ = std::make_unique<access::DelegatedAccess>(made->token_reviewer_.get(), made->access_reviewer_.get(),
                                                            *made->authorities_, pages.clock, flags.access);
  made->show_counts(pages, requests);
  const std::vector<serving::Route> routes = live_routes(pages);
  if (basis.keys)
    if (const Status served = made->serve(options, std::move(*basis.keys), routes); !served.ok()) return served.error();
  if (flags.health)
    if (const Status served = made->serve_health(*flags.health, routes); !served.ok()) return served.error();
  return made;
}

Status LiveServer::serve(const RunOptions& options, KeySource keys, std::vector<serving::Route> routes) {
  Result<serving::HttpsServerOptions> server = server_options(options, std::move(keys));
  if (!server.ok()) return server.error();
  access::DelegatedAccess* const gate = access_.get();
  server->may_wait = [gate](const serving::HttpRequest& ask) { return gate->may_wait(ask); };
  server->counts = counts_;
  auto listening = serving::HttpsServer::make(std::move(*server), std::move(routes),
                                              [gate](const serving::HttpRequest& ask) { return gate->check(ask); });
  if (!listening.ok()) return listening.error();
  server_ = std::move(*listening);
  observe::info("Serving securely", {{"address", options.bind_address}, {"port", server_->port()}});
  return Unit{};
}

Status LiveServer::serve_health(const FlagValues::PlainAddress& at, const std::vector<serving::Route>& routes) {
  serving::HttpsServerOptions server;
  server.is_plain = true;
  server.address = at.address;
  server.port = at.port;
  server.connections_max = connections_max();
  server.counts = health_counts_;
  std::vector<serving::Route> health;
  for (const serving::Route& route : routes)
    if (route.path == "/healthz" || route.path == "/livez" || route.path == "/readyz") health.push_back(route);
  auto listening =
      serving::HttpsServer::make(std::move(server), std::move(health),
                                 [](const serving::HttpRequest& ask) -> std::optional<serving::HttpResponse> {
                                   if (ask.method == "GET" || ask.method == "HEAD") return std::nullopt;
                                   return serving::HttpResponse{405, "only GET and HEAD are answered here\n"};
                                 });
  if (!listening.ok()) return Error{"--health-bind-address: " + listening.error().message};
  health_ = std::move(*listening);
  observe::info("Serving health endpoints without TLS", {{"address", at.address}, {"port", health_->port()}});
  return Unit{};
}

void LiveServer::show_counts(LivePagesParts& pages, metrics::RestMetrics& requests) const {
  access::DelegatedAccess* const gate = access_.get();
  std::vector<std::pair<std::string, std::shared_ptr<serving::ServingCounts>>> servers = {{"https", counts_},
                                                                                          {"health", health_counts_}};
  std::vector<observe::MetricSample> features;
  for (const FeatureGates::State& gate_now : pages.gates.states())
    features.push_back(
        {{{"name", std::string(gate_now.name)}, {"stage", std::string(gate_now.stage)}}, gate_now.is_on ? 1.0 : 0.0});
  pages.add_metrics = [gate, &requests, servers = std::move(servers),
                       features = std::move(features)](observe::MetricPage& page) {
    gate->add_metrics(page);
    gate->add_cache_metrics(page);
    requests.add_to(page);
    std::vector<std::pair<std::string, const serving::ServingCounts*>> counts;
    for (const auto& [name, of] : servers) counts.emplace_back(name, of.get());
    serving::add_serving_metrics(page, counts);
    page.add(observe::MetricKind::gauge, "kubernetes_feature_enabled",
             "[BETA] This metric records the data about the stage and enablement of a k8s feature.", features);
  };
  pages.clear_metrics = [gate, &requests] {
    gate->clear_metrics();
    requests.clear();
  };
}

}  // namespace berth::app
