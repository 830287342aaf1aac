// SPDX-License-Identifier: Apache-2.0
#include "app/live_server.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/api_connection.hpp"
#include "app/feature_gates.hpp"

namespace berth::app {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty()) return Error{fmt::format("{} cannot be read or is empty", path)};
  return text;
}

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

}  // namespace

std::unique_ptr<LiveServer> LiveServer::make(const RunOptions& options, const DelegatedAccessOptions& access,
                                             LivePagesParts pages, cluster::kube::IoThreads& io,
                                             std::shared_ptr<cluster::kube::Endpoint> own, RestMetrics& requests,
                                             std::ostream& err) {
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
                                                    *made->authorities_, pages.clock, access);
  Result<serving::KeyPair> keys = serving_keys(options, pages.clock);
  if (!keys.ok()) return complain(keys.error().message);

  serving::HttpsServerOptions server;
  server.address = options.bind_address;
  server.port = options.secure_port;
  server.keys = std::move(*keys);
  server.shares_port = options.shares_port;
  server.min_version = options.tls_min_version;
  server.cipher_suites = options.tls_cipher_suites;
  server.curves = options.tls_curves;
  if (const KeyFiles files = files_of(options); !files.certificate.empty())
    server.reload_keys = [files] { return read_keys(files.certificate, files.key); };
  DelegatedAccess* const gate = made->access_.get();
  pages.add_metrics = [gate, shown = &requests](observe::MetricPage& page) {
    gate->add_metrics(page);
    shown->add_to(page);
    page.add(observe::MetricKind::gauge, "kubernetes_feature_enabled",
             "[BETA] This metric records the data about the stage and enablement of a k8s feature.", feature_samples());
  };
  auto listening = serving::HttpsServer::make(std::move(server), live_routes(pages),
                                              [gate](const serving::Ask& ask) { return gate->check(ask); });
  if (!listening.ok()) return complain(listening.error().message);
  made->server_ = std::move(*listening);
  spdlog::info("serving on {}:{}", options.bind_address, made->port());
  return made;
}

}  // namespace berth::app
