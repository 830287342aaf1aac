// SPDX-License-Identifier: Apache-2.0
#include "app/live/key_source.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/read_file.hpp"

namespace berth::app {
namespace {

Result<serving::KeyPair> read_keys(const std::string& certificate, const std::string& key) {
  Result<std::string> certificate_pem = read_file(certificate);
  if (!certificate_pem.ok()) return certificate_pem.error();
  Result<std::string> key_pem = read_file(key);
  if (!key_pem.ok()) return key_pem.error();
  return serving::KeyPair{std::move(*certificate_pem), std::move(*key_pem), {}};
}

/// Closes a file, and removes it unless it got its name.
class TemporaryFile {
 public:
  TemporaryFile(std::string path, mode_t mode)
      : path_(std::move(path)),
        mode_(mode),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {}
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!is_named_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fchmod(descriptor_, mode_) == 0 && ::fsync(descriptor_) == 0;
  }
  bool name(const std::string& path) { return is_named_ = ::rename(path_.c_str(), path.c_str()) == 0; }

 private:
  const std::string path_;
  const mode_t mode_;  // whatever the umask is
  const int descriptor_;
  bool is_named_ = false;
};

/// Puts a whole file in the place of whatever has that name, a link too: what the link points to is left alone, and
/// no other user can read the file before it has its mode.
Status write_file(const std::string& path, const std::string& text, mode_t mode) {
  const auto failure = [&] { return Error{fmt::format("cannot write {}: {}", path, std::strerror(errno))}; };
  // One that is left over from a process of the same number is not in use.
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  ::unlink(temporary.c_str());
  TemporaryFile file(temporary, mode);
  if (!file.is_open() || !file.write(text) || !file.name(path)) return failure();
  return Unit{};
}

}  // namespace

Result<KeySource> KeySource::make(const RunOptions& options, const FlagValues& flags, const Clock& clock) {
  KeySource source;
  source.named_ = flags.named_keys;
  source.certificate_ = options.tls_cert_file;
  source.key_ = options.tls_private_key_file;
  if (!options.tls_cert_file.empty()) return source;
  if (!options.cert_dir.empty()) {
    const std::string stem = options.cert_dir + "/kube-scheduler";
    source.certificate_ = stem + ".crt";
    source.key_ = stem + ".key";
    std::error_code ignored;
    if (std::filesystem::exists(source.certificate_, ignored)) return source;
  }
  std::vector<std::string> hosts;
  if (options.bind_address != "0.0.0.0" && options.bind_address != "::") hosts.push_back(options.bind_address);
  Result<serving::KeyPair> made = serving::make_self_signed(hosts, clock.wall_ns());
  if (!made.ok()) return made.error();
  source.made_ = std::move(*made);
  if (source.certificate_.empty()) return source;
  std::error_code ignored;
  std::filesystem::create_directories(options.cert_dir, ignored);
  if (const Status written = write_file(source.key_, source.made_.key, 0600); !written.ok()) return written.error();
  if (const Status written = write_file(source.certificate_, source.made_.certificate, 0644); !written.ok())
    return written.error();
  return source;
}

Result<serving::ServingKeys> KeySource::read() const {
  serving::ServingKeys out{made_, {}};
  if (!certificate_.empty()) {
    Result<serving::KeyPair> keys = read_keys(certificate_, key_);
    if (!keys.ok()) return keys.error();
    keys->authority = made_.authority;
    out.any = std::move(*keys);
  }
  for (const FlagValues::NamedKeyFiles& named : named_) {
    Result<serving::KeyPair> keys = read_keys(named.certificate, named.key);
    if (!keys.ok()) return Error{"--tls-sni-cert-key: " + keys.error().message};
    out.named.push_back({named.patterns, std::move(*keys)});
  }
  return out;
}

}  // namespace berth::app
