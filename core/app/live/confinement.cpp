// SPDX-License-Identifier: Apache-2.0
#include "app/live/confinement.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "confine/sandbox.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

constexpr std::uint16_t k_dns_port = 53;

// Sanitizers have a thread of their own, trace the process at its end, and make system calls that berth does not.
#if defined(BERTH_SANITIZED)
constexpr confine::Sandbox k_usual = confine::Sandbox::off;
#else
constexpr confine::Sandbox k_usual = confine::Sandbox::enforce;
#endif

/// Collects what is needed.
class NeedsOfRun {
 public:
  NeedsOfRun() {
    needs.read = confine::system_files();
    needs.connect.emplace({k_dns_port});
  }

  /// Files that are read again when they have been replaced.
  void add_file(const std::string& file) {
    if (file.empty()) return;
    for (std::string& folder : confine::folders_of(file)) add_once(needs.read, std::move(folder));
  }
  void add_server(const net::Endpoint& server) {
    const net::TlsOptions& tls = server.tls_options();
    for (const net::PemSource* pem : {&tls.authority, &tls.certificate, &tls.key})
      if (pem->data.empty()) add_file(pem->file);
    for (const std::string& file : server.authorizer().files()) add_file(file);
    add_port(server.proxy() ? server.proxy()->port : server.server().port);
    needs.programs = needs.programs || server.authorizer().runs_command();
  }
  void add_port(std::uint16_t port) {
    if (needs.connect) add_once(*needs.connect, port);
  }

  confine::Needs needs;

 private:
  template <typename T>
  static void add_once(std::vector<T>& to, T value) {
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(std::move(value));
  }
};

void add_serving(const RunParts& parts, NeedsOfRun& out) {
  const RunOptions& options = parts.options;
  if (options.secure_port != 0) {
    out.needs.listen.push_back(options.secure_port);
    out.add_file(options.tls_cert_file);
    out.add_file(options.tls_private_key_file);
    if (!options.cert_dir.empty()) out.add_file(options.cert_dir + "/kube-scheduler.crt");
    for (const FlagValues::NamedKeyFiles& named : parts.flags.named_keys) {
      out.add_file(named.certificate);
      out.add_file(named.key);
    }
    out.add_file(options.authorities.client_ca_file);
    out.add_file(options.authorities.request_header_ca_file);
  }
  if (parts.flags.health) out.needs.listen.push_back(parts.flags.health->port);
}

confine::Sandbox sandbox_of(const RunOptions::SandboxFlags& flags) {
  if (!flags.how) return k_usual;
  if (*flags.how == "off") return confine::Sandbox::off;
  return *flags.how == "warn" ? confine::Sandbox::warn : confine::Sandbox::enforce;
}

Status check_paths(const char* flag, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      return Error{fmt::format("{}: {} does not exist; make it before berth starts", flag, path)};
  }
  return Unit{};
}

std::string one_line(const std::vector<std::string>& sentences) {
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace

confine::Needs needs_of(const RunParts& parts) {
  NeedsOfRun out;
  for (const auto& server : parts.servers)
    if (server) out.add_server(*server);
  // Whom an extender sends berth to (a redirection) is not known before.
  if (!parts.configuration.extenders.empty()) out.needs.connect.reset();
  for (const config::Extender& extender : parts.configuration.extenders) {
    if (!extender.tls) continue;
    for (const std::string* file : {&extender.tls->ca_file, &extender.tls->cert_file, &extender.tls->key_file})
      out.add_file(*file);
  }
  add_serving(parts, out);
  // Where OpenSSL is told to look for the authorities that the system trusts.
  if (const char* const file = std::getenv("SSL_CERT_FILE")) out.add_file(file);
  if (const char* const folder = std::getenv("SSL_CERT_DIR")) out.needs.read.emplace_back(folder);
  // Files that policies bring along, in the directory of the plugins.
  if (!parts.plugins.directory.path.empty()) out.needs.read.push_back(parts.plugins.directory.path.native());

  const RunOptions::SandboxFlags& flags = parts.options.sandbox;
  out.needs.read.insert(out.needs.read.end(), flags.read.begin(), flags.read.end());
  out.needs.write = flags.write;
  if (!parts.recorder_directory.empty()) {
    out.needs.read.push_back(parts.recorder_directory);
    out.needs.write.push_back(parts.recorder_directory);
  }
  for (const std::uint16_t port : flags.connect) out.add_port(port);
  return std::move(out.needs);
}

Status confine_run(const RunParts& parts) {
  const RunOptions::SandboxFlags& flags = parts.options.sandbox;
  const confine::Sandbox how = sandbox_of(flags);
  if (how == confine::Sandbox::off) return Unit{};
  if (Status exist = check_paths("--sandbox-read", flags.read); !exist.ok()) return exist;
  if (Status exist = check_paths("--sandbox-write", flags.write); !exist.ok()) return exist;
  const confine::Needs needs = needs_of(parts);
  const confine::Confinement holds = confine::confine(needs, how);
  const std::string missing = one_line(holds.missing);
  if (!missing.empty() && flags.how && how == confine::Sandbox::enforce)
    return Error{
        fmt::format("--sandbox=enforce cannot be had: {}; without the flag, berth starts with what can", missing)};
  if (!missing.empty())
    observe::warning(
        "berth confines itself in part",
        {{"missing", missing}, {"landlock", holds.landlock_version}, {"filtersSystemCalls", holds.filters_calls}});
  else if (how == confine::Sandbox::warn)
    observe::info("Nothing is refused; the kernel's log has the system calls that --sandbox=enforce would refuse",
                  {{"startsPrograms", needs.programs}});
  else
    observe::info("berth has confined itself", {{"landlock", holds.landlock_version},
                                                {"startsPrograms", needs.programs},
                                                {"leftOpen", one_line(holds.left_open)}});
  return Unit{};
}

}  // namespace berth::app
