// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/auth/credentials.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/guarded.hpp"
#include "base/read_file.hpp"
#include "net/url.hpp"
#include "observe/log.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::int64_t k_token_age_ns_max = 50'000'000'000;  // a minute less ten seconds of leeway
constexpr std::chrono::milliseconds k_exec_limit{60'000};

constexpr std::size_t k_token_bytes_max = 1 << 20;
constexpr std::int64_t k_first_delay_ns = 1'000'000'000, k_longest_delay_ns = 60'000'000'000;

std::string bearer_of(const std::string& token) { return "Bearer " + token; }

/// Before the run that follows so many bad ones.
std::int64_t delay_ns(int bad_runs) {
  constexpr int k_doublings_max = 6;
  if (bad_runs == 0) return 0;
  return std::min(k_first_delay_ns << std::min(bad_runs - 1, k_doublings_max), k_longest_delay_ns);
}

// What is white beyond ASCII, in UTF-8.
constexpr std::array<std::string_view, 19> k_white = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
    "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

/// Without the white space around it, as Go's strings.TrimSpace() has it.
std::string_view without_space_around(std::string_view text) {
  const auto white_at = [](auto is_there) -> std::size_t {
    const auto found = std::find_if(k_white.begin(), k_white.end(), is_there);
    return found == k_white.end() ? 0 : found->size();
  };
  const auto is_ascii_white = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  for (std::size_t size = 1; !text.empty() && size > 0; text.remove_prefix(size))
    size = is_ascii_white(text.front()) ? 1 : white_at([&](std::string_view white) { return text.starts_with(white); });
  for (std::size_t size = 1; !text.empty() && size > 0; text.remove_suffix(size))
    size = is_ascii_white(text.back()) ? 1 : white_at([&](std::string_view white) { return text.ends_with(white); });
  return text;
}

}  // namespace

std::optional<Result<Credentials::Held>> Credentials::known() const {
  const Lock lock(mutex_);
  const std::int64_t expires = held_ ? held_->credential.expires_wall_ns : 0;
  const bool is_good = held_ && !held_->is_bad && (expires == 0 || clock_.wall_ns() < expires);
  if (is_good) return Result<Held>(*held_);
  if (clock_.monotonic_ns() >= runs_again_ns_) return std::nullopt;
  if (has_failed_) return Result<Held>(failure_);
  if (held_) return Result<Held>(*held_);
  return std::nullopt;
}

void Credentials::read_token_file() {
  const std::int64_t now = clock_.monotonic_ns();
  if (file_read_ns_ >= 0 && now - file_read_ns_ < k_token_age_ns_max) return;
  // Requests wait meanwhile: what is no regular file may never answer.
  const Result<std::string> bytes = read_file_bytes(config_.auth.token_file, {k_token_bytes_max, true});
  const std::string_view token = bytes.ok() ? without_space_around(*bytes) : std::string_view();
  file_read_ns_ = now;
  if (token.empty())
    observe::error(
        "The token file cannot be read or is empty",
        {{"file", config_.auth.token_file},
         {"err", bytes.ok() ? "it is empty" : bytes.error().message},
         {"instead", file_token_.empty() ? "requests go without a token" : "the token from before is kept"}});
  else
    file_token_ = token;
}

std::string Credentials::token(std::string& source) {
  source = "the token of the kubeconfig";
  if (config_.auth.token_file.empty()) return config_.auth.token;
  const Lock lock(mutex_);
  read_token_file();
  if (file_token_.empty()) return config_.auth.token;
  source = "the token file " + config_.auth.token_file;
  return file_token_;
}

Result<Credentials::Held> Credentials::ask_exec(const net::StopEvent* stop) {
  if (std::optional<Result<Held>> now = known()) return std::move(*now);
  const Lock running(run_mutex_);
  if (std::optional<Result<Held>> now = known()) return std::move(*now);  // another thread has asked meanwhile
  return keep(run_exec_plugin(config_, k_exec_limit, stop));
}

Result<Credentials::Held> Credentials::keep(Result<ExecCredential> said) {
  const Lock lock(mutex_);
  // One that came to its own end was good.
  if (held_ && !held_->is_bad && !has_failed_) bad_runs_ = 0;
  ran_ns_ = clock_.monotonic_ns();
  has_failed_ = !said.ok();
  if (has_failed_) {
    failure_ = said.error();
    runs_again_ns_ = ran_ns_ + delay_ns(++bad_runs_);
    return failure_;
  }
  Held out{std::move(*said), 0};
  const std::int64_t expires = out.credential.expires_wall_ns;
  out.is_bad = expires != 0 && expires - clock_.wall_ns() < k_first_delay_ns;
  if (out.is_bad) runs_again_ns_ = ran_ns_ + delay_ns(++bad_runs_);
  if (held_) {
    const ExecCredential& before = held_->credential;
    const bool changed = before.certificate != out.credential.certificate || before.key != out.credential.key;
    out.generation = held_->generation + (changed ? 1 : 0);
  }
  held_ = out;
  return out;
}

net::Identity Credentials::identity_of(const Held* exec) {
  net::Identity out;
  out.certificate = config_.tls.certificate;
  out.key = config_.tls.key;
  const auto log_in_by_password = [&] {
    if (config_.auth.username.empty() && config_.auth.password.empty()) return;
    out.authorization = net::basic_authorization(config_.auth.username, config_.auth.password);
    out.source = "the user's name and password";
  };
  // Secrets only go to servers that prove who they are, unless the kubeconfig wants it otherwise.
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
  out.source = "the token of the exec plugin";
  const std::string bearer = exec != nullptr ? exec->credential.token : token(out.source);
  if (!bearer.empty())
    out.authorization = bearer_of(bearer);
  else
    log_in_by_password();
  return out;
}

Result<net::Identity> Credentials::current(const net::StopEvent* stop) {
  if (!needs_exec()) return identity_of(nullptr);
  const Result<Held> exec = ask_exec(stop);
  if (!exec.ok()) return exec.error();
  return identity_of(&*exec);
}

std::optional<net::Identity> Credentials::at_once() {
  if (!needs_exec()) return identity_of(nullptr);
  const std::optional<Result<Held>> exec = known();
  if (!exec || !exec->ok()) return std::nullopt;
  return identity_of(&**exec);
}

void Credentials::refused(const net::Identity& identity) {
  const Lock lock(mutex_);
  file_read_ns_ = -1;
  if (!held_ || held_->is_bad || held_->generation != identity.generation) return;
  const std::string& token = held_->credential.token;
  if (!token.empty() && identity.authorization != bearer_of(token)) return;
  held_->is_bad = true;
  runs_again_ns_ = ran_ns_ + delay_ns(bad_runs_++);
}

std::vector<std::pair<std::string, std::string>> Credentials::headers() const {
  std::vector<std::pair<std::string, std::string>> out;
  const Impersonation& as = config_.impersonation;
  if (as.user.empty()) return out;
  out.emplace_back("Impersonate-User", as.user);
  if (!as.uid.empty()) out.emplace_back("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) out.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra)
    for (const std::string& value : values) out.emplace_back("Impersonate-Extra-" + net::percent_encode(key), value);
  return out;
}

Result<std::shared_ptr<net::Endpoint>> make_endpoint(ClientConfig config, const Clock& clock,
                                                     const Environment& environment) {
  net::EndpointOptions options{config.server, config.tls, config.proxy, !config.disable_compression};
  return net::Endpoint::make(std::move(options), std::make_unique<Credentials>(std::move(config), clock), clock,
                             environment);
}

}  // namespace berth::cluster::kube
