// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/auth/exec_plugin.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/base64.hpp"
#include "base/read_file.hpp"
#include "base/utf8.hpp"
#include "decode/selectors/labels.hpp"
#include "net/stop_event.hpp"
#include "text/parse.hpp"

extern char** environ;

namespace berth::cluster::kube {
namespace {

constexpr std::size_t k_output_bytes_max = 1 << 20;
constexpr std::size_t k_quoted_bytes_max = 128;

std::string string_at(const text::Value& value, std::string_view path) {
  const text::Value* found = value.find_path(path);
  return found != nullptr && found->is_string() ? std::string(found->text()) : std::string();
}

void append_field(std::string& out, std::string_view key, std::string_view value) {
  text::append_json_string(out, key);
  out += ':';
  text::append_json_string(out, value);
}

/// KUBERNETES_EXEC_INFO: what the plugin may know of the one who asks.
std::string exec_info(const ClientConfig& config) {
  const ExecPlugin& plugin = *config.auth.exec;
  std::string out = "{";
  append_field(out, "kind", "ExecCredential");
  out += ',';
  append_field(out, "apiVersion", plugin.api_version);
  out += ",\"spec\":{\"interactive\":false";
  if (plugin.provides_cluster_info) {
    out += ",\"cluster\":{";
    append_field(out, "server",
                 fmt::format("{}://{}{}", config.server.scheme, config.server.authority(), config.server.path));
    if (!config.tls.server_name.empty()) {
      out += ',';
      append_field(out, "tls-server-name", config.tls.server_name);
    }
    if (config.tls.insecure) out += ",\"insecure-skip-tls-verify\":true";
    std::string authority = config.tls.authority.data;
    // Where it cannot be read, the connection to the server says so.
    if (authority.empty() && !config.tls.authority.file.empty())
      if (Result<std::string> read = read_file_bytes(config.tls.authority.file); read.ok())
        authority = std::move(*read);
    if (!authority.empty()) {
      out += ',';
      append_field(out, "certificate-authority-data", encode_base64(authority));
    }
    out += '}';
  }
  return out + "}}";
}

std::vector<std::string> environment_of(const ClientConfig& config) {
  std::vector<std::string> out;
  const auto own = config.auth.exec->env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = name == "KUBERNETES_EXEC_INFO" ||
                          std::any_of(own.begin(), own.end(), [&](const auto& pair) { return pair.first == name; });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : own) out.push_back(fmt::format("{}={}", name, value));
  out.push_back("KUBERNETES_EXEC_INFO=" + exec_info(config));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

class Pipe {
 public:
  Pipe() : good_(::pipe2(ends_.data(), O_CLOEXEC) == 0) {}
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool good() const noexcept { return good_; }
  int read_end() const noexcept { return ends_[0]; }
  int write_end() const noexcept { return ends_[1]; }
  void close_end(std::size_t which) noexcept {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool good_;
};

enum class Waited : std::uint8_t { ready, too_late, stopped };

/// Waits until there is something to read from `fd`, or its end.
Waited wait_for_input(int fd, std::chrono::steady_clock::time_point deadline, const net::StopEvent* stop) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 2> waiting{{{fd, POLLIN, 0}, {stop == nullptr ? -1 : stop->fd(), POLLIN, 0}}};
    if (left.count() <= 0) return Waited::too_late;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 60'000))) <= 0)
      continue;
    return waiting[1].revents != 0 ? Waited::stopped : Waited::ready;
  }
}

enum class Ended : std::uint8_t { well, too_late, stopped, too_much };

/// False also when that cannot be learned.
bool has_ended(pid_t child) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == child;
}

/// Everything until the other side closes. What the child has started may hold its output open for as long as it likes:
/// once the child has ended and nothing more comes, that was all.
Ended read_until_closed(int fd, pid_t child, std::chrono::steady_clock::time_point deadline, const net::StopEvent* stop,
                        std::string& out) {
  constexpr std::chrono::milliseconds k_pause{200};
  std::array<char, 4096> chunk;
  for (;;) {
    if (out.size() > k_output_bytes_max) return Ended::too_much;
    const auto now = std::chrono::steady_clock::now();
    const Waited waited = wait_for_input(fd, std::min(deadline, now + k_pause), stop);
    if (waited == Waited::stopped) return Ended::stopped;
    if (waited == Waited::too_late) {
      if (has_ended(child)) return Ended::well;
      if (now >= deadline) return Ended::too_late;
      continue;
    }
    const ssize_t size = ::read(fd, chunk.data(), chunk.size());
    if (size == 0) return Ended::well;
    if (size < 0 && errno != EINTR) return Ended::too_late;
    if (size > 0) out.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

/// It may have closed its output and go on.
Ended wait_for_end(pid_t child, std::chrono::steady_clock::time_point deadline, const net::StopEvent* stop) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  // Where the system forbids that, the child is looked at again and again.
  for (constexpr std::chrono::milliseconds k_pause{20}; fd < 0;) {
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == child)
      return Ended::well;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return Ended::too_late;
    if (wait_for_input(-1, std::min(deadline, now + k_pause), stop) == Waited::stopped) return Ended::stopped;
  }
  const Waited waited = wait_for_input(fd, deadline, stop);
  ::close(fd);
  if (waited == Waited::ready) return Ended::well;
  return waited == Waited::stopped ? Ended::stopped : Ended::too_late;
}

/// In a process group of its own, so that whatever it starts can be killed with it, and with the signals of a fresh
/// process: ours are blocked for a thread that waits for them.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&value_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&value_, &none);
    posix_spawnattr_setpgroup(&value_, 0);
    posix_spawnattr_setflags(&value_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const noexcept { return &value_; }

 private:
  posix_spawnattr_t value_;
};

}  // namespace

Result<ExecCredential> read_exec_credential(const std::string& text, const std::string& api_version) {
  text::Diagnostics diagnostics;
  const std::vector<text::Document> documents = text::parse_json(text, "exec plugin", diagnostics);
  if (documents.empty())
    return Error{"the exec plugin did not print an ExecCredential: " + excerpt(diagnostics.render())};
  const text::Value& root = documents.front().root();
  if (string_at(root, "kind") != "ExecCredential")
    return Error{fmt::format("the exec plugin printed kind \"{}\", not ExecCredential",
                             excerpt(string_at(root, "kind"), k_quoted_bytes_max))};
  if (string_at(root, "apiVersion") != api_version)
    return Error{fmt::format("the exec plugin printed apiVersion \"{}\", not {}",
                             excerpt(string_at(root, "apiVersion"), k_quoted_bytes_max), api_version)};
  ExecCredential out;
  out.token = string_at(root, "status.token");
  out.certificate = string_at(root, "status.clientCertificateData");
  out.key = string_at(root, "status.clientKeyData");
  if (out.certificate.empty() != out.key.empty())
    return Error{"the exec plugin gave one of clientCertificateData and clientKeyData without the other"};
  if (out.token.empty() && out.certificate.empty())
    return Error{"the exec plugin gave neither a token nor a client certificate"};
  if (const std::string expires = string_at(root, "status.expirationTimestamp"); !expires.empty()) {
    const std::optional<std::int64_t> ns = decode::parse_time_ns(expires);
    if (!ns)
      return Error{fmt::format("the exec plugin gave expirationTimestamp \"{}\", which is no time",
                               excerpt(expires, k_quoted_bytes_max))};
    out.expires_wall_ns = *ns;
  }
  return out;
}

Result<ExecCredential> run_exec_plugin(const ClientConfig& config, std::chrono::milliseconds limit,
                                       const net::StopEvent* stop) {
  if (stop != nullptr && stop->is_set())
    return Error{fmt::format("exec plugin {} was not run: berth is stopping", config.auth.exec->command)};
  const ExecPlugin& plugin = *config.auth.exec;
  Pipe output;
  if (!output.good()) return Error{fmt::format("exec plugin {}: {}", plugin.command, std::strerror(errno))};
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = environment_of(config);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = 0;
  const SpawnAttributes attributes;
  const int refused = ::posix_spawnp(&child, plugin.command.c_str(), &actions, attributes.get(), pointers(args).data(),
                                     pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0)
    return Error{fmt::format("exec plugin {}: {}{}{}", plugin.command, std::strerror(refused),
                             plugin.install_hint.empty() ? "" : "\n", plugin.install_hint)};
  output.close_end(1);

  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  Ended ended = read_until_closed(output.read_end(), child, deadline, stop, text);
  if (ended == Ended::well) ended = wait_for_end(child, deadline, stop);
  if (ended != Ended::well) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  switch (ended) {
    case Ended::well:
      break;
    case Ended::too_late:
      return Error{fmt::format("exec plugin {} did not finish within {} ms", plugin.command, limit.count())};
    case Ended::stopped:
      return Error{fmt::format("exec plugin {} was killed: berth is stopping", plugin.command)};
    case Ended::too_much:
      return Error{fmt::format("exec plugin {} printed more than {} bytes; an ExecCredential is wanted", plugin.command,
                               k_output_bytes_max)};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{fmt::format("exec plugin {} failed with {} {}", plugin.command,
                             WIFEXITED(status) ? "exit code" : "signal",
                             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))};
  return read_exec_credential(text, plugin.api_version);
}

}  // namespace berth::cluster::kube
