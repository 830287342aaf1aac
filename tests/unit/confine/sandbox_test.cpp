// SPDX-License-Identifier: Apache-2.0
// What a confined process can do and what not, each tried by a child that is confined for it.
#include "confine/sandbox.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "confine/landlock.hpp"
#include "support/child_process.hpp"
#include "support/sandbox_kernel.hpp"

extern char** environ;

namespace berth::confine {
namespace {

constexpr int k_multipath_tcp = 262;  // IPPROTO_MPTCP, absent from older headers

/// What `action` says in a child, and "ended otherwise" when it did not come to its end.
std::string in_a_child(const std::function<std::string()>& action) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = action();
    const ssize_t written = ::write(ends[1], said.data(), said.size());
    ::_exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> chunk{};
  for (ssize_t size = 0; (size = ::read(ends[0], chunk.data(), chunk.size())) > 0;)
    out.append(chunk.data(), static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out : out + "ended otherwise";
}

/// "" when it was done, else the name of errno. Of calls that answer -1.
template <typename T>
std::string outcome(T answer) {
  return answer == -1 ? ::strerrorname_np(errno) : "";
}

std::string opened(const std::string& path, int flags = O_RDONLY) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  const std::string out = outcome(file);
  if (file >= 0) ::close(file);
  return out;
}

std::string connected(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return "no socket";
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string out = outcome(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  ::close(socket);
  return out;
}

/// Listens on a port that the system chose, until the end of the test.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::uint16_t port() const noexcept { return port_; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

/// The exit code of a program, or the name of errno when it did not start.
std::string run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int error = ::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ); error != 0)
    return ::strerrorname_np(error);
  int status = 0;
  if (::waitpid(child, &status, 0) < 0) return "no waitpid";
  return WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "ended by a signal";
}

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* const why = tests::why_no_system_call_filter()) GTEST_SKIP() << "not looked at: " << why;
    needs.read = system_files();
    needs.connect.emplace();
  }
  /// In a child that is confined: what `action` says. Whatever was to hold holds, unless the kernel has no Landlock.
  std::string confined(const std::function<std::string()>& action, Sandbox how = Sandbox::enforce) const {
    return in_a_child([&]() -> std::string {
      const Confinement holds = confine(needs, how);
      std::string out;
      for (const std::string& missing : holds.missing)
        if (has_landlock || missing.find("no Landlock") == std::string::npos) out += missing + "\n";
      return out + action();
    });
  }
  void skip_without_landlock(int version = 1) const {
    if (landlock_version() < version)
      GTEST_SKIP() << "not looked at: this kernel has Landlock " << landlock_version() << ", not " << version;
  }

  const bool has_landlock = landlock_version() > 0;
  Needs needs;
  const tests::TemporaryDirectory directory, foreign;
};

TEST_F(SandboxTest, SystemCallsThatAreNotNeededFail) {
  const pid_t parent = ::getpid();
  const struct {
    const char* name;
    std::function<long()> call;
  } calls[] = {
      {"execve",
       [] {
         std::array<char*, 1> none{nullptr};
         return ::execve("/bin/true", none.data(), none.data());
       }},
      {"execveat", [] { return ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0); }},
      {"fork", [] { return ::fork(); }},
      {"unshare", [] { return ::unshare(CLONE_NEWUSER); }},
      {"clone with a namespace",
       [] { return ::syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_NEWNET, 0, 0, 0, 0); }},
      {"ptrace", [&] { return ::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr); }},
      {"process_vm_readv", [&] { return ::syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0); }},
      {"mount", [] { return ::mount("none", "/mnt", "tmpfs", 0, nullptr); }},
      {"io_uring_setup", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
      {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
      {"perf_event_open", [] { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
      {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 0); }},
      {"keyctl", [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
      {"memfd_create", [] { return ::syscall(SYS_memfd_create, "x", 0); }},
      {"seccomp", [] { return ::syscall(SYS_seccomp, 0, 0, nullptr); }},
      {"setuid", [] { return ::syscall(SYS_setuid, 0); }},
      {"kill", [&] { return ::kill(parent, 0); }},
      {"tgkill of another", [&] { return ::syscall(SYS_tgkill, parent, parent, 0); }},
      {"raising a limit",
       [] {
         const rlimit limit{1, 1};
         return ::setrlimit(RLIMIT_NOFILE, &limit);
       }},
      {"a raw packet socket", [] { return ::socket(AF_PACKET, SOCK_RAW, 0); }},
      {"a socket of the kernel's cryptography", [] { return ::socket(AF_ALG, SOCK_SEQPACKET, 0); }},
      {"a socket of this machine", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }},
      {"a socket of Multipath TCP", [] { return ::socket(AF_INET, SOCK_STREAM, k_multipath_tcp); }},
      {"a socket of SCTP", [] { return ::socket(AF_INET6, SOCK_SEQPACKET, 0); }},
      {"signals of the kernel's to another",
       [&] { return ::fcntl(::socket(AF_INET, SOCK_STREAM, 0), F_SETOWN, parent); }},
      {"a socket of the audit system", [] { return ::socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT); }},
      {"pushing keys into a terminal", [] { return ::ioctl(0, TIOCSTI, "x"); }},
      {"being dumpable again", [] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }},
      {"opening a file to write", [&] { return ::open((directory.path() + "/x").c_str(), O_WRONLY | O_CREAT, 0600); }},
      {"opening a device to write", [&] { return ::open("/dev/null", O_RDWR); }},
      {"mkdir", [&] { return ::mkdir((directory.path() + "/y").c_str(), 0700); }},
      {"unlink", [&] { return ::unlink(directory.path().c_str()); }},
      {"truncate", [] { return ::truncate("/dev/null", 0); }},
  };
  for (const auto& [name, call] : calls)
    EXPECT_EQ(confined([&, &call = call] { return outcome(call()); }), "EPERM") << name;
}

TEST_F(SandboxTest, FilesThatAreNotNamedCannotBeRead) {
  skip_without_landlock();
  needs.read.push_back(directory.path());
  const std::string own = directory.write("own", "1"), other = foreign.write("other", "2");
  EXPECT_EQ(confined([&] { return opened(own); }), "");
  EXPECT_EQ(confined([&] { return opened(directory.path(), O_RDONLY | O_DIRECTORY); }), "");
  for (const std::string& path : {other, std::string("/etc/passwd"), std::string("/proc/1/status")})
    EXPECT_EQ(confined([&] { return opened(path); }), "EACCES") << path;
  EXPECT_EQ(confined([&] { return opened(foreign.path(), O_RDONLY | O_DIRECTORY); }), "EACCES");
}

TEST_F(SandboxTest, AFileThatIsReplacedIsReadAgain) {
  const auto at = [&](const char* name) { return directory.path() + "/" + name; };
  std::filesystem::create_directories(at("..v1"));
  std::filesystem::create_directories(at("..v2"));
  directory.write("..v1/token", "old");
  directory.write("..v2/token", "new");
  directory.write("next", "new");
  ASSERT_EQ(::symlink("..v1", at("..data").c_str()), 0);
  ASSERT_EQ(::symlink("..data/token", at("token").c_str()), 0);
  for (const std::string& folder : folders_of(at("token"))) needs.read.push_back(folder);
  // kubelet is another process, which turns the link when the confined one asks for that through a pipe.
  std::array<int, 2> ask{}, answer{};
  ASSERT_EQ(::pipe(ask.data()), 0);
  ASSERT_EQ(::pipe(answer.data()), 0);
  const pid_t kubelet = ::fork();
  if (kubelet == 0) {
    char byte = 0;
    const bool asked = ::read(ask[0], &byte, 1) == 1;
    const bool turned = ::symlink("..v2", at("..data_tmp").c_str()) == 0 &&
                        ::rename(at("..data_tmp").c_str(), at("..data").c_str()) == 0;
    ::_exit(asked && turned && ::write(answer[1], &byte, 1) == 1 ? 0 : 1);
  }
  const std::string seen = confined([&]() -> std::string {
    const auto token = [&] {
      std::string text;
      std::ifstream(at("token")) >> text;
      return text;
    };
    const std::string before = token();
    char byte = 'x';
    if (::write(ask[1], &byte, 1) != 1 || ::read(answer[0], &byte, 1) != 1) return "no kubelet";
    return before + " " + token();
  });
  ::waitpid(kubelet, nullptr, 0);
  for (const int end : {ask[0], ask[1], answer[0], answer[1]}) ::close(end);
  EXPECT_EQ(seen, "old new");
}

TEST_F(SandboxTest, FilesNamesAndThreadsThatBerthNeedsWork) {
  const std::string seen = confined([&]() -> std::string {
    std::string out;
    const auto check = [&](const char* name, bool works) {
      if (!works) out += std::string(name) + " does not work: " + ::strerrorname_np(errno) + "\n";
    };
    for (const char* file : {"/proc/self/stat", "/proc/self/maps", "/proc/self/status", "/proc/stat", "/dev/null",
                             "/dev/urandom", "/etc/nsswitch.conf", "/etc/hosts"})
      check(file, opened(file).empty() || errno == ENOENT);
    check("/proc/self/fd", opened("/proc/self/fd", O_RDONLY | O_DIRECTORY).empty());
    std::atomic<bool> ran{false};
    std::thread([&] { ran = opened("/proc/self/stat").empty(); }).join();
    check("a thread", ran);
    const addrinfo wanted{};
    addrinfo* found = nullptr;
    check("the name localhost", ::getaddrinfo("localhost", "443", &wanted, &found) == 0);
    check("a limit", [] {
      rlimit limit{};
      return ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    }());
    check("the name of a thread", ::prctl(PR_SET_NAME, "berth", 0, 0, 0) == 0);
    return out;
  });
  EXPECT_EQ(seen, "");
}

TEST_F(SandboxTest, EveryThreadIsConfined) {
  skip_without_landlock();
  const std::string other = foreign.write("other", "2");
  const std::string seen = confined([&]() -> std::string {
    std::string of_thread;
    ThreadsSeen threads;
    std::thread([&] {
      threads = look_at_threads();
      of_thread = opened(other) + " " + outcome(::syscall(SYS_bpf, 0, nullptr, 0));
    }).join();
    return fmt::format("{} of {}: {}", threads.unfiltered, threads.all, of_thread);
  });
  EXPECT_EQ(seen, "0 of 2: EACCES EPERM");
}

TEST_F(SandboxTest, AThreadThatIsThereAlreadyIsNamed) {
  skip_without_landlock();
  const std::string seen = in_a_child([&]() -> std::string {
    std::atomic<bool> over{false};
    std::string filtered;
    std::thread before([&] {
      over.wait(false);
      filtered = outcome(::syscall(SYS_bpf, 0, nullptr, 0));
    });
    const Confinement holds = confine(needs, Sandbox::enforce);
    over = true;
    over.notify_all();
    before.join();
    return holds.missing.at(0) + "; bpf: " + filtered;
  });
  EXPECT_EQ(seen,
            "files and ports are not limited for 1 threads that a plugin started while it was loaded; bpf: EPERM");
}

TEST_F(SandboxTest, ConnectionsGoToTheNamedPortsAlone) {
  skip_without_landlock(4);
  const Listener named, other;
  needs.connect = {{named.port()}};
  EXPECT_EQ(confined([&] { return connected(named.port()); }), "");
  EXPECT_EQ(confined([&] { return connected(other.port()); }), "EACCES");
  needs.connect.reset();
  EXPECT_EQ(confined([&] { return connected(other.port()); }), "");
}

TEST_F(SandboxTest, NoDataGoesAlongWithTheFirstPacketOfAConnection) {
  const Listener other;
  const std::string seen = confined([&]() -> std::string {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(other.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    iovec piece{const_cast<char*>("x"), 1};
    mmsghdr message{};
    message.msg_hdr = {&to, sizeof to, &piece, 1, nullptr, 0, 0};
    const auto socket = [] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); };
    return outcome(::sendto(socket(), "x", 1, MSG_FASTOPEN, reinterpret_cast<const sockaddr*>(&to), sizeof to)) + " " +
           outcome(::sendmsg(socket(), &message.msg_hdr, MSG_FASTOPEN)) + " " +
           outcome(::sendmmsg(socket(), &message, 1, MSG_FASTOPEN));
  });
  EXPECT_EQ(seen, "EPERM EPERM EPERM");
}

TEST_F(SandboxTest, NoPortIsListenedOnButTheNamedOnes) {
  skip_without_landlock(4);
  const auto bound = [](std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return outcome(::bind(::socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  };
  const Listener taken;
  needs.listen = {taken.port()};
  EXPECT_EQ(confined([&] { return bound(taken.port()); }), "EADDRINUSE") << "it came as far as that";
  EXPECT_EQ(confined([&] { return bound(0); }), "EACCES");
}

TEST_F(SandboxTest, WritersWriteWhereTheyMay) {
  needs.write = {directory.path()};
  const auto at = [&](const char* name) { return directory.path() + "/" + name; };
  const std::string seen = confined([&] {
    std::string out = opened(at("a"), O_WRONLY | O_CREAT | O_TRUNC);
    out += outcome(::rename(at("a").c_str(), at("b").c_str()));
    out += outcome(::mkdir(at("c").c_str(), 0700));
    out += opened(at("b"));
    return out + outcome(::unlink(at("b").c_str()));
  });
  EXPECT_EQ(seen, "");
  EXPECT_EQ(confined([&] { return run({"/bin/true"}); }), "EPERM");
  skip_without_landlock();
  EXPECT_EQ(confined([&] { return opened(foreign.path() + "/a", O_WRONLY | O_CREAT); }), "EACCES");
}

TEST_F(SandboxTest, ProgramsRunAndWriteNothing) {
  needs.programs = true;
  EXPECT_EQ(confined([&] { return run({"/bin/true"}); }), "0");
  EXPECT_EQ(confined([&] { return run({"/bin/sh", "-c", "x=$(cat /etc/hosts) && echo $x > /dev/null"}); }), "0");
  EXPECT_EQ(confined([&] { return outcome(::unshare(CLONE_NEWUSER)); }), "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::syscall(SYS_bpf, 0, nullptr, 0)); }), "EPERM");
  skip_without_landlock();
  EXPECT_NE(confined([&] {
              return run({"/bin/sh", "-c", "exec 2>/dev/null; echo x > " + foreign.path() + "/a"});
            }),
            "0");
  EXPECT_FALSE(std::filesystem::exists(foreign.path() + "/a"));
}

TEST_F(SandboxTest, AWarningRefusesNothing) {
  const std::string seen = confined(
      [&]() -> std::string {
        const ThreadsSeen threads = look_at_threads();
        return fmt::format("{} of {} ", threads.unfiltered, threads.all) +
               opened(directory.path() + "/a", O_WRONLY | O_CREAT) + outcome(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) +
               run({"/bin/true"});
      },
      Sandbox::warn);
  EXPECT_EQ(seen, "0 of 1 0");
}

TEST_F(SandboxTest, OffChangesNothing) {
  EXPECT_EQ(confined([] { return fmt::format("{}", look_at_threads().unfiltered); }, Sandbox::off), "1");
}

TEST_F(SandboxTest, AKernelWithoutLandlockIsNamedAndTheRestHolds) {
  const std::string seen = in_a_child([&]() -> std::string {
    const scmp_filter_ctx old_kernel = seccomp_init(SCMP_ACT_ALLOW);
    if (seccomp_rule_add(old_kernel, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0) != 0 ||
        seccomp_load(old_kernel) != 0)
      return "no filter";
    const Confinement holds = confine(needs, Sandbox::enforce);
    return fmt::format("{}; {} {}; bpf: {}; write: {}", holds.missing.at(0), holds.missing.size(), holds.filters_calls,
                       outcome(::syscall(SYS_bpf, 0, nullptr, 0)), opened("/dev/null", O_WRONLY));
  });
  EXPECT_EQ(seen,
            "files and ports are not limited: this kernel has no Landlock, or it may not be used; 1 true; bpf: EPERM; "
            "write: EPERM");
}

TEST_F(SandboxTest, WhatAnOlderKernelLeavesOpenIsSaid) {
  EXPECT_TRUE(left_open_by_landlock(7, needs).empty());
  EXPECT_EQ(left_open_by_landlock(1, needs).size(), 3u);
  needs.programs = true;
  EXPECT_EQ(left_open_by_landlock(7, needs).size(), 1u);
}

}  // namespace
}  // namespace berth::confine
