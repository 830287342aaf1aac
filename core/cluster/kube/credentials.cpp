// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/credentials.hpp"

#include <cctype>
#include <fstream>
#include <iterator>

#include "cluster/kube/url.hpp"
#include "observe/log.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::int64_t k_token_age_ns_max = 50'000'000'000;  // a minute less ten seconds of leeway
constexpr std::chrono::milliseconds k_exec_limit{60'000};

}  // namespace

bool Credentials::exec_expired() const {
  return !exec_ || (exec_->expires_wall_ns != 0 && clock_.wall_ns() >= exec_->expires_wall_ns);
}

bool Credentials::is_fresh() const {
  const std::lock_guard lock(mutex_);
  return !config_.auth.exec || !exec_expired();
}

void Credentials::read_token_file() {
  const std::int64_t now = clock_.monotonic_ns();
  if (file_read_ns_ >= 0 && now - file_read_ns_ < k_token_age_ns_max) return;
  std::ifstream in(config_.auth.token_file, std::ios::binary);
  std::string token(std::istreambuf_iterator<char>(in), {});
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) token.pop_back();
  file_read_ns_ = now;
  if (token.empty())
    observe::error(
        "The token file cannot be read or is empty",
        {{"file", config_.auth.token_file},
         {"instead", file_token_.empty() ? "requests go without a token" : "the token from before is kept"}});
  else
    file_token_ = std::move(token);
}

Status Credentials::run_exec() {
  if (!exec_expired()) return Unit{};
  Result<ExecCredential> credential = run_exec_plugin(config_, k_exec_limit);
  if (!credential.ok()) return credential.error();
  if (exec_ && (exec_->certificate != credential->certificate || exec_->key != credential->key)) ++generation_;
  exec_ = std::move(*credential);
  return Unit{};
}

Result<Identity> Credentials::current() {
  const std::lock_guard lock(mutex_);
  Identity out;
  out.certificate = config_.tls.certificate;
  out.key = config_.tls.key;
  const auto log_in_by_password = [&] {
    if (!config_.auth.username.empty() || !config_.auth.password.empty())
      out.authorization = basic_authorization(config_.auth.username, config_.auth.password);
  };
  // Secrets only go to servers that prove who they are, unless somebody wants it otherwise.
  if (!config_.server.secure()) {
    if (config_.auth.password_in_plain) log_in_by_password();
    return out;
  }
  std::string token = config_.auth.token;
  if (!config_.auth.token_file.empty()) {
    read_token_file();
    if (!file_token_.empty()) token = file_token_;
  }
  if (config_.auth.exec) {
    if (const Status ran = run_exec(); !ran.ok()) return ran.error();
    token = exec_->token;
    if (!exec_->certificate.empty()) {
      out.certificate = {exec_->certificate, {}};
      out.key = {exec_->key, {}};
    }
  }
  if (!token.empty())
    out.authorization = "Bearer " + token;
  else
    log_in_by_password();
  out.generation = generation_;
  return out;
}

void Credentials::refused() {
  const std::lock_guard lock(mutex_);
  // Kept for what it is compared with, and expired long ago.
  if (exec_) exec_->expires_wall_ns = 1;
  file_read_ns_ = -1;
}

std::vector<std::pair<std::string, std::string>> Credentials::impersonation_headers() const {
  std::vector<std::pair<std::string, std::string>> out;
  const Impersonation& as = config_.impersonation;
  if (as.user.empty()) return out;
  out.emplace_back("Impersonate-User", as.user);
  if (!as.uid.empty()) out.emplace_back("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) out.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra)
    for (const std::string& value : values) out.emplace_back("Impersonate-Extra-" + percent_encode(key), value);
  return out;
}

}  // namespace berth::cluster::kube
