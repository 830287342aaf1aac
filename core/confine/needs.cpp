// SPDX-License-Identifier: Apache-2.0
#include "confine/needs.hpp"

#include <algorithm>
#include <filesystem>

namespace berth::confine {
namespace {

namespace fs = std::filesystem;

constexpr int k_links_max = 40;  // as the kernel follows

void add_once(std::vector<std::string>& to, const fs::path& path) {
  if (std::find(to.begin(), to.end(), path.native()) == to.end()) to.push_back(path.native());
}

/// "..data" and "../v2/ca.crt" differ: only the first stays where the link is.
bool leads_to_a_neighbour(const fs::path& target) {
  return target.is_relative() && std::find(target.begin(), target.end(), fs::path("..")) == target.end();
}

}  // namespace

std::vector<std::string> system_files() {
  std::vector<std::string> out{
      // Names of hosts. These are files of their own and not all of /etc, which has more than that.
      "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
      "/etc/resolv.conf",
      // Name services are libraries that are loaded when the first name is looked up.
      "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
      // Authorities that the system trusts, where OpenSSL of Debian and of its relatives looks.
      "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/usr/share/ca-certificates",
      "/usr/local/share/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
      // Times in the log.
      "/etc/localtime", "/usr/share/zoneinfo",
      // Metrics, the report of a fatal signal, the number of processors.
      "/proc/self", "/proc/stat", "/sys/devices/system/cpu", "/dev/null", "/dev/urandom", "/dev/random"};
  // Services that write it put it elsewhere and link to it; the folder, because they replace it.
  std::error_code failed;
  if (fs::is_symlink("/etc/resolv.conf", failed))
    if (const fs::path real = fs::canonical("/etc/resolv.conf", failed); !failed) add_once(out, real.parent_path());
  return out;
}

std::vector<std::string> folders_of(const std::string& file) {
  std::vector<std::string> out;
  std::error_code failed;
  fs::path path = fs::absolute(file, failed);
  if (failed) return out;
  for (int links = 0; links <= k_links_max; ++links) {
    add_once(out, path.parent_path());
    fs::path above;
    for (const fs::path& name : path.parent_path()) {
      const fs::path here = above / name;
      const fs::path target = fs::is_symlink(here, failed) ? fs::read_symlink(here, failed) : fs::path("/");
      if (!failed && above.has_relative_path() && leads_to_a_neighbour(target)) add_once(out, above);
      above = here;
    }
    if (!fs::is_symlink(path, failed)) break;
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) break;
    // Not made shorter: what ".." means depends on links above it.
    path = path.parent_path() / target;
  }
  return out;
}

}  // namespace berth::confine
