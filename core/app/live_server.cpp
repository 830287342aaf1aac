// SPDX-License-Identifier: Apache-2.0
#include "app/live_server.hpp"

#include "app/api_connection.hpp"
#include "app/feature_gates.hpp"
#include "app/key_source.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

Result<serving::HttpsServerOptions> server_options(const RunOptions& options, const FlagValues& flags,
                                                   const Clock& clock) {
  Result<KeySource> source = KeySource::make(options, flags, clock);
  if (!source.ok()) return source.error();
  Result<serving::ServingKeys> keys = source->read();
  if (!keys.ok()) return keys.error();
  serving::HttpsServerOptions server;
  server.address = options.bind_address;
  server.port = options.secure_port;
  server.keys = std::move(keys->any);
  server.named_keys = std::move(keys->named);
  if (source->has_files()) server.reload_keys = [source = std::move(*source)] { return source.read(); };
  server.shares_port = options.shares_port;
  server.min_version = options.tls_min_version;
  server.cipher_suites = options.tls_cipher_suites;
  server.curves = options.tls_curves;
  server.on_answer = [](const serving::Ask& ask, const serving::Reply& reply, std::chrono::nanoseconds took) {
    if (const observe::V v(3); v)
      v.info("HTTP", {{"verb", ask.method},
                      {"URI", ask.path},
                      {"latency", fmt::format("{:.3f}ms", std::chrono::duration<double, std::milli>(took).count())},
                      {"userAgent", ask.header("user-agent")},
                      {"resp", reply.status}});
  };
  return server;
}

/// Lets the pages show what gate and reviews count.
void show_counts(LivePagesParts& pages, DelegatedAccess& gate, RestMetrics& requests) {
  pages.add_metrics = [&gate, &requests](observe::MetricPage& page) {
    gate.add_metrics(page);
    requests.add_to(page);
    page.add(observe::MetricKind::gauge, "kubernetes_feature_enabled",
             "[BETA] This metric records the data about the stage and enablement of a k8s feature.", feature_samples());
  };
  pages.clear_metrics = [&gate, &requests] {
    gate.clear_metrics();
    requests.clear();
  };
}

}  // namespace

bool LiveServer::make_reviewers(const RunOptions& options, const Clock& clock, cluster::kube::IoThreads& io,
                                const std::shared_ptr<cluster::kube::Endpoint>& own, RestMetrics& requests,
                                std::ostream& err) {
  cluster::kube::HttpClientOptions client;
  client.qps = 200;
  client.burst = 400;
  client.user_agent = fmt::format("berth/{}", BERTH_PRODUCT_VERSION);
  client.on_call = requests.listener();
  for (const auto& [kubeconfig, reviewer] : {std::pair<const std::string&, std::unique_ptr<cluster::kube::HttpClient>&>(
                                                 options.authentication_kubeconfig, token_reviewer_),
                                             {options.authorization_kubeconfig, access_reviewer_}}) {
    const auto endpoint = kubeconfig.empty() ? Result(own) : connect(kubeconfig, "", clock);
    if (!endpoint.ok()) {
      err << endpoint.error().message << '\n';
      return false;
    }
    if (*endpoint != nullptr) reviewer = std::make_unique<cluster::kube::HttpClient>(io, *endpoint, client);
  }
  return true;
}

std::unique_ptr<LiveServer> LiveServer::make(const RunOptions& options, const FlagValues& flags, LivePagesParts pages,
                                             cluster::kube::IoThreads& io, std::shared_ptr<cluster::kube::Endpoint> own,
                                             RestMetrics& requests, std::ostream& err) {
  std::unique_ptr<LiveServer> made(new LiveServer);
  const auto complain = [&err](const Error& error) {
    err << error.message << '\n';
    return nullptr;
  };
  if (!made->make_reviewers(options, pages.clock, io, own, requests, err)) return nullptr;
  auto authorities = AuthorityLookup::make(options.authorities, made->token_reviewer_.get(), pages.clock);
  if (!authorities.ok()) return complain(authorities.error());
  made->authorities_ = std::move(*authorities);
  made->access_ = std::make_unique<DelegatedAccess>(made->token_reviewer_.get(), made->access_reviewer_.get(),
                                                    *made->authorities_, pages.clock, flags.access);
  DelegatedAccess* const gate = made->access_.get();
  show_counts(pages, *gate, requests);
  Result<serving::HttpsServerOptions> server = server_options(options, flags, pages.clock);
  if (!server.ok()) return complain(server.error());
  server->may_wait = [gate](const serving::Ask& ask) { return gate->may_wait(ask); };
  auto listening = serving::HttpsServer::make(std::move(*server), live_routes(pages),
                                              [gate](const serving::Ask& ask) { return gate->check(ask); });
  if (!listening.ok()) return complain(listening.error());
  made->server_ = std::move(*listening);
  observe::info("Serving securely", {{"address", options.bind_address}, {"port", made->port()}});
  return made;
}

}  // namespace berth::app
