// SPDX-License-Identifier: Apache-2.0
#include "app/key_source.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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

}  // namespace

Result<KeySource> KeySource::make(const RunOptions& options, const FlagValues& flags, const Clock& clock) {
  KeySource source;
  source.named_ = flags.named_keys;
  source.certificate_ = options.tls_cert_file;
  source.key_ = options.tls_private_key_file;
  if (!options.tls_cert_file.empty()) return source;
  if (!options.cert_dir.empty()) {
    const std::string stem = options.cert_dir + "/kube-scheduler";
    source.certificate_ = stem + ".crt";
    source.key_ = stem + ".key";
    std::error_code ignored;
    if (std::filesystem::exists(source.certificate_, ignored)) return source;
  }
  std::vector<std::string> hosts;
  if (options.bind_address != "0.0.0.0" && options.bind_address != "::") hosts.push_back(options.bind_address);
  Result<serving::KeyPair> made = serving::make_self_signed(hosts, clock.wall_ns());
  if (!made.ok()) return made.error();
  source.made_ = std::move(*made);
  if (source.certificate_.empty()) return source;
  std::error_code ignored;
  std::filesystem::create_directories(options.cert_dir, ignored);
  if (const Status written = write_file(source.key_, source.made_.key, 0600); !written.ok()) return written.error();
  if (const Status written = write_file(source.certificate_, source.made_.certificate, 0644); !written.ok())
    return written.error();
  return source;
}

Result<serving::ServingKeys> KeySource::read() const {
  serving::ServingKeys out{made_, {}};
  if (!certificate_.empty()) {
    Result<serving::KeyPair> keys = read_keys(certificate_, key_);
    if (!keys.ok()) return keys.error();
    keys->authority = made_.authority;
    out.any = std::move(*keys);
  }
  for (const FlagValues::NamedKeyFiles& named : named_) {
    Result<serving::KeyPair> keys = read_keys(named.certificate, named.key);
    if (!keys.ok()) return Error{"--tls-sni-cert-key: " + keys.error().message};
    out.named.push_back({named.patterns, std::move(*keys)});
  }
  return out;
}

}  // namespace berth::app
