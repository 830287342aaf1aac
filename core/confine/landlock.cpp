// SPDX-License-Identifier: Apache-2.0
#include "confine/landlock.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace berth::confine {
namespace {

// Spelt out: <linux/landlock.h> of the machine that builds knows less than the kernel of the machine that runs.
namespace access {
constexpr std::uint64_t k_execute = 1u << 0, k_write_file = 1u << 1, k_read_file = 1u << 2, k_read_folder = 1u << 3,
                        k_remove_folder = 1u << 4, k_remove_file = 1u << 5, k_make_folder = 1u << 7,
                        k_make_file = 1u << 8, k_refer = 1u << 13, k_truncate = 1u << 14, k_control_device = 1u << 15;
constexpr std::uint64_t k_first_version = (1u << 13) - 1;
constexpr std::uint64_t k_of_files = k_execute | k_write_file | k_read_file | k_truncate | k_control_device;
constexpr std::uint64_t k_listen = 1u << 0, k_connect = 1u << 1;
constexpr std::uint64_t k_abstract_sockets = 1u << 0, k_signals = 1u << 1;
}  // namespace access

constexpr int k_with_refer = 2, k_with_truncate = 3, k_with_ports = 4, k_with_devices = 5, k_with_scopes = 6;
constexpr long k_path_rule = 1, k_port_rule = 2;
constexpr long k_proc_magic = 0x9fa0;

struct Ruleset {
  std::uint64_t files = 0, ports = 0, scopes = 0;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};
struct PortRule {
  std::uint64_t allowed = 0, port = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  void keep_open() noexcept { number_ = -1; }

 private:
  int number_;
};

Error failure(const char* what) { return Error{fmt::format("{}: {}", what, std::strerror(errno))}; }

Ruleset ruleset_for(int version, const Needs& needs) {
  Ruleset out;
  out.files = access::k_first_version;
  if (version >= k_with_refer) out.files |= access::k_refer;
  if (version >= k_with_truncate) out.files |= access::k_truncate;
  if (version >= k_with_devices) out.files |= access::k_control_device;
  if (version >= k_with_ports) out.ports |= access::k_listen;
  if (version >= k_with_ports && needs.connect && !needs.programs) out.ports |= access::k_connect;
  if (version >= k_with_scopes && !needs.programs) out.scopes = access::k_abstract_sockets | access::k_signals;
  return out;
}

/// Of the structure, as much as that version knows.
std::size_t size_for(int version) {
  if (version >= k_with_scopes) return sizeof(Ruleset);
  return version >= k_with_ports ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

/// In /proc, a name gets a new inode whenever the kernel has forgotten the old one, and rules are about inodes: it must
/// not forget.
bool is_forgotten_by_the_kernel(int descriptor) {
  struct statfs found {};
  return ::fstatfs(descriptor, &found) == 0 && static_cast<long>(found.f_type) == k_proc_magic;
}

Status allow(const Descriptor& rules, const std::string& path, std::uint64_t what) {
  // What it is a link to, since that is what gets opened.
  Descriptor at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at.is_open()) return Unit{};  // absent, or closed to this user anyway
  struct stat found {};
  if (::fstat(at.number(), &found) != 0) return failure(path.c_str());
  if (!S_ISDIR(found.st_mode)) what &= access::k_of_files;
  const PathRule rule{what, at.number()};
  if (::syscall(SYS_landlock_add_rule, rules.number(), k_path_rule, &rule, 0) != 0)
    return failure(("landlock_add_rule for " + path).c_str());
  if (is_forgotten_by_the_kernel(at.number())) at.keep_open();
  return Unit{};
}

Status allow_ports(const Descriptor& rules, const std::vector<std::uint16_t>& ports, std::uint64_t what) {
  for (const std::uint16_t port : ports) {
    const PortRule rule{what, port};
    if (::syscall(SYS_landlock_add_rule, rules.number(), k_port_rule, &rule, 0) != 0)
      return failure(fmt::format("landlock_add_rule for port {}", port).c_str());
  }
  return Unit{};
}

}  // namespace

int landlock_version() noexcept {
  constexpr unsigned k_only_the_version = 1;
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, k_only_the_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

std::vector<std::string> left_open_by_landlock(int version, const Needs& needs) {
  std::vector<std::string> out;
  if (version < k_with_truncate) out.emplace_back("files are cut short if the user may write to them (Linux 6.2)");
  if (version < k_with_ports) out.emplace_back("connections go to all ports (Linux 6.7)");
  if (version < k_with_scopes) out.emplace_back("other processes of the user get signals (Linux 6.12)");
  if (needs.programs) out.emplace_back("files are read and run, and connections made, as an exec plugin may need to");
  return out;
}

Status restrict_files_and_ports(const Needs& needs) {
  const int version = landlock_version();
  const Ruleset wanted = ruleset_for(version, needs);
  const Descriptor rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, size_for(version), 0)));
  if (!rules.is_open()) return failure("landlock_create_ruleset");

  constexpr std::uint64_t k_read = access::k_read_file | access::k_read_folder;
  constexpr std::uint64_t k_write = k_read | access::k_write_file | access::k_truncate | access::k_make_file |
                                    access::k_make_folder | access::k_remove_file | access::k_remove_folder |
                                    access::k_refer;
  for (const std::string& path : needs.read)
    if (Status done = allow(rules, path, k_read & wanted.files); !done.ok()) return done;
  for (const std::string& path : needs.write)
    if (Status done = allow(rules, path, k_write & wanted.files); !done.ok()) return done;
  if (needs.programs) {
    if (Status done = allow(rules, "/", (k_read | access::k_execute) & wanted.files); !done.ok()) return done;
    // Programs throw their output away there.
    if (Status done = allow(rules, "/dev/null", (k_read | access::k_write_file) & wanted.files); !done.ok())
      return done;
  }
  if (wanted.ports & access::k_listen)
    if (Status done = allow_ports(rules, needs.listen, access::k_listen); !done.ok()) return done;
  if (wanted.ports & access::k_connect)
    if (Status done = allow_ports(rules, *needs.connect, access::k_connect); !done.ok()) return done;

  if (::syscall(SYS_landlock_restrict_self, rules.number(), 0) != 0) return failure("landlock_restrict_self");
  return Unit{};
}

}  // namespace berth::confine
