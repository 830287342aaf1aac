// SPDX-License-Identifier: Apache-2.0
#include "app/live_server.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "app/api_connection.hpp"
#include "app/feature_gates.hpp"
#include "app/log_format.hpp"
#include "app/read_file.hpp"

namespace berth::app {
namespace {

Result<serving::KeyPair> read_keys(const std::string& certificate, const std::string& key) {
  Result<std::string> certificate_pem = read_file(certificate);
  if (!certificate_pem.ok()) return certificate_pem.error();
  Result<std::string> key_pem = read_file(key);
  if (!key_pem.ok()) return key_pem.error();
  return serving::KeyPair{std::move(*certificate_pem), std::move(*key_pem), {}};
}

Status write_file(const std::string& path, const std::string& text, mode_t mode) {
  const mode_t before = ::umask(static_cast<mode_t>(0777 & ~mode));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  const bool good = static_cast<bool>(out.flush());
  ::umask(before);
  if (good) return Unit{};
  return Error{fmt::format("cannot write {}", path)};
}

struct KeyFiles {
  std::string certificate, key;
};
KeyFiles files_of(const RunOptions& options) {
  if (!options.tls_cert_file.empty() || options.cert_dir.empty())
    return {options.tls_cert_file, options.tls_private_key_file};
  const std::string stem = options.cert_dir + "/kube-scheduler";
  return {stem + ".crt", stem + ".key"};
}

/// From the files that flags name, or made for this process; --cert-dir keeps what was made.
Result<serving::KeyPair> serving_keys(const RunOptions& options, const Clock& clock) {
  const KeyFiles files = files_of(options);
  const bool may_make = options.tls_cert_file.empty();
  std::error_code ignored;
  if (!files.certificate.empty() && (!may_make || std::filesystem::exists(files.certificate, ignored)))
    return read_keys(files.certificate, files.key);
  std::vector<std::string> hosts;
  if (options.bind_address != "0.0.0.0" && options.bind_address != "::") hosts.push_back(options.bind_address);
  Result<serving::KeyPair> made = serving::make_self_signed(hosts, clock.wall_ns());
  if (!made.ok() || files.certificate.empty()) return made;
  std::filesystem::create_directories(options.cert_dir, ignored);
  if (const Status written = write_file(files.key, made->key, 0600); !written.ok()) return written.error();
  if (const Status written = write_file(files.certificate, made->certificate, 0644); !written.ok())
    return written.error();
  return made;
}

/// As serving_keys() made or read them, read once more where there are files, with those for certain names.
Result<serving::ServingKeys> all_keys(const KeyFiles& files, const serving::KeyPair& made, const FlagValues& flags) {
  serving::ServingKeys out{made, {}};
  if (!files.certificate.empty()) {
    Result<serving::KeyPair> keys = read_keys(files.certificate, files.key);
    if (!keys.ok()) return keys.error();
    keys->authority = made.authority;
    out.any = std::move(*keys);
  }
  for (const FlagValues::NamedKeyFiles& named : flags.named_keys) {
    Result<serving::KeyPair> keys = read_keys(named.certificate, named.key);
    if (!keys.ok()) return Error{"--tls-sni-cert-key: " + keys.error().message};
    out.named.push_back({named.patterns, std::move(*keys)});
  }
  return out;
}

}  // namespace

std::unique_ptr<LiveServer> LiveServer::make(const RunOptions& options, const FlagValues& flags, LivePagesParts pages,
                                             cluster::kube::IoThreads& io, std::shared_ptr<cluster::kube::Endpoint> own,
                                             RestMetrics& requests, std::ostream& err) {
  std::unique_ptr<LiveServer> made(new LiveServer);
  const auto complain = [&err](const std::string& text) {
    err << "berth: " << text << '\n';
    return nullptr;
  };
  cluster::kube::HttpClientOptions client;
  client.qps = 200;
  client.burst = 400;
  client.user_agent = fmt::format("berth/{}", BERTH_PRODUCT_VERSION);
  client.on_call = requests.listener();
  for (const auto& [kubeconfig, reviewer] : {std::pair<const std::string&, std::unique_ptr<cluster::kube::HttpClient>&>(
                                                 options.authentication_kubeconfig, made->token_reviewer_),
                                             {options.authorization_kubeconfig, made->access_reviewer_}}) {
    const auto endpoint = kubeconfig.empty() ? own : connect(kubeconfig, "", pages.clock, err);
    if (endpoint == nullptr && !kubeconfig.empty()) return nullptr;
    if (endpoint != nullptr) reviewer = std::make_unique<cluster::kube::HttpClient>(io, endpoint, client);
  }
  auto authorities = AuthorityLookup::make(options.authorities, made->token_reviewer_.get(), pages.clock);
  if (!authorities.ok()) return complain(authorities.error().message);
  made->authorities_ = std::move(*authorities);
  made->access_ = std::make_unique<DelegatedAccess>(made->token_reviewer_.get(), made->access_reviewer_.get(),
                                                    *made->authorities_, pages.clock, flags.access);
  Result<serving::KeyPair> keys = serving_keys(options, pages.clock);
  if (!keys.ok()) return complain(keys.error().message);

  serving::HttpsServerOptions server;
  server.address = options.bind_address;
  server.port = options.secure_port;
  const KeyFiles files = files_of(options);
  Result<serving::ServingKeys> all = all_keys(files, *keys, flags);
  if (!all.ok()) return complain(all.error().message);
  server.keys = std::move(all->any);
  server.named_keys = std::move(all->named);
  server.shares_port = options.shares_port;
  server.min_version = options.tls_min_version;
  server.cipher_suites = options.tls_cipher_suites;
  server.curves = options.tls_curves;
  if (!files.certificate.empty() || !flags.named_keys.empty())
    server.reload_keys = [files, first = server.keys, flags] { return all_keys(files, first, flags); };
  server.on_answer = [](const serving::Ask& ask, const serving::Reply& reply, std::chrono::nanoseconds took) {
    if (verbosity() >= 3)
      spdlog::debug(R"(HTTP verb="{}" URI="{}" latency="{:.3f}ms" userAgent="{}" resp={})", ask.method, ask.path,
                    std::chrono::duration<double, std::milli>(took).count(), ask.header("user-agent"), reply.status);
  };
  DelegatedAccess* const gate = made->access_.get();
  server.may_wait = [gate](const serving::Ask& ask) { return gate->may_wait(ask); };
  pages.add_metrics = [gate, shown = &requests](observe::MetricPage& page) {
    gate->add_metrics(page);
    shown->add_to(page);
    page.add(observe::MetricKind::gauge, "kubernetes_feature_enabled",
             "[BETA] This metric records the data about the stage and enablement of a k8s feature.", feature_samples());
  };
  pages.clear_metrics = [gate, shown = &requests] {
    gate->clear_metrics();
    shown->clear();
  };
  auto listening = serving::HttpsServer::make(std::move(server), live_routes(pages),
                                              [gate](const serving::Ask& ask) { return gate->check(ask); });
  if (!listening.ok()) return complain(listening.error().message);
  made->server_ = std::move(*listening);
  spdlog::info("serving on {}:{}", options.bind_address, made->port());
  return made;
}

}  // namespace berth::app
