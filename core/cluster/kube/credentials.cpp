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

std::string bearer_of(const std::string& token) { return "Bearer " + token; }

}  // namespace

/// Nothing when it has expired.
std::optional<Credentials::Held> Credentials::held() const {
  const std::lock_guard lock(mutex_);
  if (!held_) return std::nullopt;
  const std::int64_t expires = held_->credential.expires_wall_ns;
  if (expires != 0 && clock_.wall_ns() >= expires) return std::nullopt;
  return held_;
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

std::string Credentials::token() {
  if (config_.auth.token_file.empty()) return config_.auth.token;
  const std::lock_guard lock(mutex_);
  read_token_file();
  return file_token_.empty() ? config_.auth.token : file_token_;
}

Result<Credentials::Held> Credentials::ask_exec() {
  if (std::optional<Held> known = held()) return std::move(*known);
  const std::lock_guard running(run_mutex_);
  if (std::optional<Held> known = held()) return std::move(*known);  // somebody else has asked meanwhile
  Result<ExecCredential> said = run_exec_plugin(config_, k_exec_limit);
  if (!said.ok()) return said.error();
  Held out{std::move(*said), 0};
  const std::lock_guard lock(mutex_);
  if (held_) {
    const ExecCredential& before = held_->credential;
    const bool changed = before.certificate != out.credential.certificate || before.key != out.credential.key;
    out.generation = held_->generation + (changed ? 1 : 0);
  }
  held_ = out;
  return out;
}

Identity Credentials::identity_of(const Held* exec) {
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
  if (exec != nullptr) {
    out.generation = exec->generation;
    if (!exec->credential.certificate.empty()) {
      out.certificate = {exec->credential.certificate, {}};
      out.key = {exec->credential.key, {}};
    }
  }
  const std::string bearer = exec != nullptr ? exec->credential.token : token();
  if (!bearer.empty())
    out.authorization = bearer_of(bearer);
  else
    log_in_by_password();
  return out;
}

Result<Identity> Credentials::current() {
  if (!needs_exec()) return identity_of(nullptr);
  const Result<Held> exec = ask_exec();
  if (!exec.ok()) return exec.error();
  return identity_of(&*exec);
}

std::optional<Identity> Credentials::at_once() {
  if (!needs_exec()) return identity_of(nullptr);
  const std::optional<Held> exec = held();
  if (!exec) return std::nullopt;
  return identity_of(&*exec);
}

void Credentials::refused(const Identity& identity) {
  const std::lock_guard lock(mutex_);
  file_read_ns_ = -1;
  if (!held_ || held_->generation != identity.generation) return;
  const std::string& token = held_->credential.token;
  // Kept for what it is compared with, and expired long ago.
  if (token.empty() || identity.authorization == bearer_of(token)) held_->credential.expires_wall_ns = 1;
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
