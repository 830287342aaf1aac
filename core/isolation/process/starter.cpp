// SPDX-License-Identifier: Apache-2.0
#include "isolation/process/starter.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "isolation/process/starter_messages.hpp"
#include "isolation/region.hpp"
#include "isolation/shared_memory.hpp"
#include "isolation/turns.hpp"

namespace berth::isolation {
namespace {

constexpr const char* k_program = "/proc/self/exe";  // this very file, whatever stands under its name now

class Children {
 public:
  explicit Children(char* const* arguments) {
    for (char* const* at = arguments; *at != nullptr; ++at) arguments_.push_back(*at);
    child_word_ = "--child";
    arguments_.push_back(child_word_.data());
    arguments_.push_back(nullptr);
  }
  ~Children() {
    for (const auto& [id, child] : children_) ::kill(child.process, SIGKILL);
    for (const auto& [id, child] : children_) ::waitpid(child.process, nullptr, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void begin(std::uint64_t id) {
    Result<OwnedDescriptor> memory = sealed_memory(k_region_bytes);
    if (!memory.ok()) return say({static_cast<std::uint32_t>(StarterNotice::not_begun), errno, id});
    Result<SharedMemory> header = SharedMemory::map(memory->number(), sizeof(Header));
    if (!header.ok()) return say({static_cast<std::uint32_t>(StarterNotice::not_begun), errno, id});
    pid_t process = 0;
    if (const int error = spawn(memory->number(), process); error != 0)
      return say({static_cast<std::uint32_t>(StarterNotice::not_begun), error, id});
    children_.emplace(id, Child{process, std::move(*header)});
    say({static_cast<std::uint32_t>(StarterNotice::begun), process, id}, memory->number());
  }

  void end(std::uint64_t id) {
    if (const auto at = children_.find(id); at != children_.end()) ::kill(at->second.process, SIGKILL);
  }

  /// Says which have ended.
  void reap() {
    for (auto at = children_.begin(); at != children_.end();) {
      int status = 0;
      if (::waitpid(at->second.process, &status, WNOHANG) <= 0) {
        ++at;
        continue;
      }
      say({static_cast<std::uint32_t>(StarterNotice::ended), status, at->first});
      auto& header = *reinterpret_cast<Header*>(at->second.header.data());
      header.ended.store(1, std::memory_order_seq_cst);
      wake_all(header.to_host);
      at = children_.erase(at);
    }
  }

 private:
  struct Child {
    pid_t process;
    SharedMemory header;
  };

  int spawn(int memory, pid_t& process) const {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    // The descriptor is kept over exec although it may be number 3 already.
    const int copy = ::fcntl(memory, F_DUPFD_CLOEXEC, k_given_descriptor + 1);
    ::posix_spawn_file_actions_adddup2(&actions, copy, k_given_descriptor);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = ::posix_spawn(&process, k_program, &actions, &attributes,
                                    const_cast<char* const*>(arguments_.data()), environ);  // NOLINT: as C has it
    ::close(copy);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return error;
  }

  static void say(StarterMessage message, int descriptor = -1) {
    iovec bytes{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr packet{};
    packet.msg_iov = &bytes;
    packet.msg_iovlen = 1;
    if (descriptor >= 0) {
      packet.msg_control = control;
      packet.msg_controllen = sizeof control;
      cmsghdr* const header = CMSG_FIRSTHDR(&packet);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    while (::sendmsg(k_given_descriptor, &packet, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }

  std::string child_word_;
  std::vector<char*> arguments_;
  std::map<std::uint64_t, Child> children_;
};

/// Until the host's end is closed.
void serve(Children& children, int signals) {
  for (;;) {
    pollfd looks[] = {{k_given_descriptor, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(looks, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (looks[1].revents != 0) {
      signalfd_siginfo seen{};
      if (::read(signals, &seen, sizeof seen) < 0 && errno != EAGAIN && errno != EINTR) return;
      children.reap();
    }
    if (looks[0].revents == 0) continue;
    StarterMessage message;
    const ssize_t bytes = ::recv(k_given_descriptor, &message, sizeof message, 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != sizeof message) return;
    if (message.what == static_cast<std::uint32_t>(StarterRequest::begin)) children.begin(message.child);
    if (message.what == static_cast<std::uint32_t>(StarterRequest::end)) children.end(message.child);
  }
}

}  // namespace

int run_starter(char* const* arguments) {
  ::close_range(k_given_descriptor + 1, ~0U, 0);
  ::fcntl(k_given_descriptor, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NAME, "berth-starter");
  sigset_t children_end;
  ::sigemptyset(&children_end);
  ::sigaddset(&children_end, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &children_end, nullptr) != 0) return 1;
  // Ctrl-C is for the host, which closes its end when it ends.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  const OwnedDescriptor signals(::signalfd(-1, &children_end, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return 1;
  Children children(arguments);
  serve(children, signals.number());
  return 0;
}

}  // namespace berth::isolation
