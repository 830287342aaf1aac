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
#include "observe/log.hpp"
#include "text/parse.hpp"

extern char** environ;

namespace berth::cluster::kube {
namespace {

constexpr std::size_t k_output_bytes_max = 1 << 20;
constexpr std::size_t k_quoted_bytes_max = 128;
constexpr std::size_t k_errors_bytes_max = 2048;
constexpr std::chrono::seconds k_death_limit{5};  // from SIGKILL on

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
  Pipe() : good_(::pipe2(ends_.data(), O_CLOEXEC) == 0 && ::fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0) {}
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

/// Waits until there is something to read from one of `fds`, or its end; below 0: none.
Waited wait_for_input(std::array<int, 2> fds, std::chrono::steady_clock::time_point deadline,
                      const net::StopEvent* stop) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 3> waiting{
        {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}, {stop == nullptr ? -1 : stop->fd(), POLLIN, 0}}};
    if (left.count() <= 0) return Waited::too_late;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 60'000))) <= 0)
      continue;
    return waiting[2].revents != 0 ? Waited::stopped : Waited::ready;
  }
}

enum class Ended : std::uint8_t { well, too_late, stopped, too_much };

/// False also when that cannot be learned.
bool has_ended(pid_t child) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == child;
}

/// What a child prints, as far as it is wanted.
struct Printed {
  Pipe output, errors;
  std::string text, first_errors;  // of output, and the beginning of errors
  std::size_t bytes = 0;           // of both
  bool good() const noexcept { return output.good() && errors.good(); }
};

/// Takes a piece of what the pipe holds; closes it at its end.
void take_piece(Pipe& pipe, std::string& out, std::size_t out_bytes_max, std::size_t& bytes) {
  std::array<char, 4096> chunk;
  const ssize_t size = ::read(pipe.read_end(), chunk.data(), chunk.size());
  if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) pipe.close_end(0);
  if (size <= 0) return;
  bytes += static_cast<std::size_t>(size);
  out.append(chunk.data(),
             std::min(static_cast<std::size_t>(size), out_bytes_max - std::min(out.size(), out_bytes_max)));
}

/// Everything until the other side closes. What the child has started may hold its output open for as long as it likes:
/// once the child has ended and nothing more comes, that was all.
Ended read_until_closed(Printed& printed, pid_t child, std::chrono::steady_clock::time_point deadline,
                        const net::StopEvent* stop) {
  constexpr std::chrono::milliseconds k_pause{200};
  for (;;) {
    if (printed.bytes > k_output_bytes_max) return Ended::too_much;
    const int output = printed.output.read_end(), errors = printed.errors.read_end();
    if (output < 0 && (errors < 0 || has_ended(child))) return Ended::well;
    const auto now = std::chrono::steady_clock::now();
    const Waited waited = wait_for_input({output, errors}, std::min(deadline, now + k_pause), stop);
    if (waited == Waited::stopped) return Ended::stopped;
    if (waited == Waited::too_late) {
      if (has_ended(child)) return Ended::well;
      if (now >= deadline) return Ended::too_late;
      continue;
    }
    if (output >= 0) take_piece(printed.output, printed.text, k_output_bytes_max, printed.bytes);
    if (errors >= 0) take_piece(printed.errors, printed.first_errors, k_errors_bytes_max, printed.bytes);
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
    if (wait_for_input({-1, -1}, std::min(deadline, now + k_pause), stop) == Waited::stopped) return Ended::stopped;
  }
  const Waited waited = wait_for_input({fd, -1}, deadline, stop);
  ::close(fd);
  if (waited == Waited::ready) return Ended::well;
  return waited == Waited::stopped ? Ended::stopped : Ended::too_late;
}

/// It may have left its process group for another; it may be another user's by now, and not to be killed from here.
void kill_all(pid_t child) {
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
  wait_for_end(child, std::chrono::steady_clock::now() + k_death_limit, nullptr);
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
  if (root.text_at("kind") != "ExecCredential")
    return Error{fmt::format("the exec plugin printed kind \"{}\", not ExecCredential",
                             excerpt(root.text_at("kind"), k_quoted_bytes_max))};
  if (root.text_at("apiVersion") != api_version)
    return Error{fmt::format("the exec plugin printed apiVersion \"{}\", not {}",
                             excerpt(root.text_at("apiVersion"), k_quoted_bytes_max), api_version)};
  ExecCredential out;
  out.token = root.text_at("status.token");
  out.certificate = root.text_at("status.clientCertificateData");
  out.key = root.text_at("status.clientKeyData");
  if (out.certificate.empty() != out.key.empty())
    return Error{"the exec plugin gave one of clientCertificateData and clientKeyData without the other"};
  if (out.token.empty() && out.certificate.empty())
    return Error{"the exec plugin gave neither a token nor a client certificate"};
  if (const std::string expires(root.text_at("status.expirationTimestamp")); !expires.empty()) {
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
  Printed printed;
  if (!printed.good()) return Error{fmt::format("exec plugin {}: {}", plugin.command, std::strerror(errno))};
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = environment_of(config);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, printed.output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, printed.errors.write_end(), STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = 0;
  const SpawnAttributes attributes;
  const int refused = ::posix_spawnp(&child, plugin.command.c_str(), &actions, attributes.get(), pointers(args).data(),
                                     pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0)
    return Error{fmt::format("exec plugin {}: {}{}{}", plugin.command, std::strerror(refused),
                             plugin.install_hint.empty() ? "" : "\n", plugin.install_hint)};
  printed.output.close_end(1);
  printed.errors.close_end(1);

  const auto deadline = std::chrono::steady_clock::now() + limit;
  Ended ended = read_until_closed(printed, child, deadline, stop);
  if (ended == Ended::well) ended = wait_for_end(child, deadline, stop);
  if (ended != Ended::well) kill_all(child);
  int status = 0;
  // What has not ended is left: no thread may wait for it for ever.
  while (::waitpid(child, &status, ended == Ended::well ? 0 : WNOHANG) < 0 && errno == EINTR) {
  }
  if (!printed.first_errors.empty())
    observe::warning("The exec plugin wrote to its standard error",
                     {{"command", plugin.command}, {"text", excerpt(printed.first_errors, k_errors_bytes_max)}});
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
  return read_exec_credential(printed.text, plugin.api_version);
}

}  // namespace berth::cluster::kube
