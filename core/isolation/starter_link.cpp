// SPDX-License-Identifier: Apache-2.0
#include "isolation/starter_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/process/environment.hpp"
#include "isolation/turns.hpp"

namespace berth::isolation {
namespace {

constexpr std::int64_t k_begin_ns = 5'000'000'000;
constexpr std::int64_t k_millisecond_ns = 1'000'000;

/// What a stranger may see of the environment: how libraries are found, and how a sanitizer behaves. No paths of the
/// user's, and no secrets.
std::vector<std::string> bare_environment() {
  std::vector<std::string> out;
  for (const char* const name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "TZ"})
    if (const char* const value = std::getenv(name)) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

namespace {

std::atomic<bool> g_hosts_plugins{false};

}  // namespace

void say_that_this_program_hosts_plugins() noexcept { g_hosts_plugins.store(true); }
bool this_program_hosts_plugins() noexcept { return g_hosts_plugins.load(); }

std::vector<std::string> arguments_of(const PluginProgram& program) {
  std::vector<std::string> out{"berth",  "plugin-host", "--plugin-dir", program.directory,
                               "--file", program.file,  "--sha256",     program.sha256};
  for (const std::string& plugin : program.plugins) out.insert(out.end(), {"--plugin", plugin});
  for (const auto& [file, sha256] : program.companions) out.insert(out.end(), {"--companion", file + "=" + sha256});
  if (program.allow_draft_interfaces) out.emplace_back("--allow-draft-interfaces");
  return out;
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  if (!WIFSIGNALED(status)) return "no status";
  const int number = WTERMSIG(status);
  const char* const what = number == SIGSYS ? "a system call that it may not make" : ::strsignal(number);
  return fmt::format("signal {} ({})", number, what);
}

Result<std::shared_ptr<StarterLink>> StarterLink::start(const PluginProgram& program, const std::string& berth) {
  if (berth.empty() && !this_program_hosts_plugins())
    return Error{"this program runs plugins inside its own process only: berth itself can isolate them"};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{fmt::format("socketpair: {}", std::strerror(errno))};
  OwnedDescriptor ours(ends[0]), its(ends[1]);
  // Whatever numbers they got, the child's is k_given_descriptor.
  const OwnedDescriptor copy(::fcntl(its.number(), F_DUPFD_CLOEXEC, k_given_descriptor + 1));
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, copy.number(), k_given_descriptor);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: a Ctrl-C at the terminal is the host's to answer.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments = arguments_of(program), environment = bare_environment();
  pid_t process = 0;
  const int error = ::posix_spawn(&process, berth.empty() ? "/proc/self/exe" : berth.c_str(), &actions, &attributes,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return Error{fmt::format("berth plugin-host cannot be started: {}", std::strerror(error))};
  return std::shared_ptr<StarterLink>(new StarterLink(process, std::move(ours)));
}

StarterLink::~StarterLink() {
  socket_ = OwnedDescriptor();
  ::kill(process_, SIGKILL);  // its children die with it
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool StarterLink::send(StarterMessage message) {
  for (;;) {
    const ssize_t sent = ::send(socket_.number(), &message, sizeof message, MSG_NOSIGNAL);
    if (sent == sizeof message) return true;
    if (sent >= 0 || errno != EINTR) return false;
  }
}

bool StarterLink::receive(std::int64_t wait_ns) {
  if (is_gone_) return false;
  pollfd look{socket_.number(), POLLIN, 0};
  if (::poll(&look, 1, static_cast<int>(std::max<std::int64_t>(wait_ns, 0) / k_millisecond_ns)) <= 0) return false;
  StarterMessage message;
  iovec bytes{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr packet{};
  packet.msg_iov = &bytes;
  packet.msg_iovlen = 1;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket_.number(), &packet, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;  // asked again
  if (count != sizeof message) {
    is_gone_ = true;
    return false;
  }
  OwnedDescriptor given;
  for (cmsghdr* header = CMSG_FIRSTHDR(&packet); header != nullptr; header = CMSG_NXTHDR(&packet, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header), sizeof number);
      given = OwnedDescriptor(number);
    }
  switch (static_cast<StarterNotice>(message.what)) {
    case StarterNotice::begun:
      begun_[message.child] = Begun{message.child, message.value, std::move(given)};
      break;
    case StarterNotice::not_begun:
      not_begun_[message.child] = message.value;
      break;
    case StarterNotice::ended:
      ended_[message.child] = message.value;
      break;
  }
  return true;
}

Result<StarterLink::Begun> StarterLink::begin() {
  const Lock lock(mutex_);
  const std::uint64_t child = ++last_child_;
  if (is_gone_ || !send({static_cast<std::uint32_t>(StarterRequest::begin), 0, child}))
    return Error{"berth plugin-host, which starts it, is not there"};
  const std::int64_t until_ns = now_ns() + k_begin_ns;
  do {
    if (const auto at = begun_.find(child); at != begun_.end()) {
      Begun begun = std::move(at->second);
      begun_.erase(at);
      return begun;
    }
    if (const auto at = not_begun_.find(child); at != not_begun_.end()) {
      const int error = at->second;
      not_begun_.erase(at);
      return Error{fmt::format("its process cannot be started: {}", std::strerror(error))};
    }
    receive(until_ns - now_ns());
  } while (!is_gone_ && now_ns() < until_ns);
  if (!is_gone_) send({static_cast<std::uint32_t>(StarterRequest::end), 0, child});
  return Error{is_gone_ ? "berth plugin-host, which starts it, has ended" : "its process was not started in time"};
}

void StarterLink::end(std::uint64_t child) { send({static_cast<std::uint32_t>(StarterRequest::end), 0, child}); }

std::optional<int> StarterLink::ended(std::uint64_t child, std::int64_t wait_ns) {
  const Lock lock(mutex_);
  const std::int64_t until_ns = now_ns() + wait_ns;
  for (;;) {
    if (const auto at = ended_.find(child); at != ended_.end()) {
      const int status = at->second;
      ended_.erase(at);
      return status;
    }
    if (is_gone_) return SIGKILL;  // whose children die with it
    if (!receive(until_ns - now_ns()) && now_ns() >= until_ns) return std::nullopt;
  }
}

}  // namespace berth::isolation
