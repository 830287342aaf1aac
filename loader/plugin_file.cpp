// SPDX-License-Identifier: Apache-2.0
#include "loader/plugin_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/check.hpp"
#include "base/read_file.hpp"
#include "loader/elf/elf_policy.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_file_bytes_max = 512ull << 20;
constexpr std::size_t k_near_names_max = 8, k_listed_max = 1'000;

std::string error_text(int error) { return std::generic_category().message(error); }

/// What the directory of a missing file holds, so that a typing error shows.
std::string listing_of(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end && names.size() < k_listed_max;
       at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  if (failed) return fmt::format("{}: {}", directory.string(), failed.message());
  if (names.empty()) return fmt::format("{} is empty", directory.string());
  std::sort(names.begin(), names.end());
  const bool cut = names.size() > k_near_names_max;
  if (cut) names.resize(k_near_names_max);
  return fmt::format("{} has {}{}", directory.string(), fmt::join(names, ", "), cut ? ", …" : "");
}

/// "a -> b -> c": each symbolic link on the way, for the last component only; enough for how volumes publish files.
std::string link_chain(fs::path path) {
  std::string chain = path.string();
  std::error_code failed;
  for (int hops = 0; hops < 16 && fs::is_symlink(path, failed); ++hops) {
    fs::path next = fs::read_symlink(path, failed);
    if (failed) break;
    if (next.is_relative()) next = path.parent_path() / next;
    path = next.lexically_normal();
    chain += " -> " + path.string();
  }
  return chain;
}

bool is_inside(const fs::path& path, const fs::path& root) {
  const auto [root_end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return root_end == root.end() && rest != path.end();
}

bool on_read_only_mount(const fs::path& path) {
  struct statvfs info {};
  return ::statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

/// Of one element of the path. A sticky directory is no exception: a user who may write there may put a plugin there, or
/// the file that stops the start.
Status is_safe(const fs::path& path, const struct stat& info, bool strict) {
  // The other side of a read-only mount may be writable, which cannot be seen from here.
  const Status safe = only_owner_writes(info, strict || !on_read_only_mount(path));
  return safe.ok() ? safe : Error{path.string() + ": " + safe.error().message};
}

/// Owner and mode of every directory from the root to the file's, then of the file.
void judge_owners(const fs::path& resolved, const fs::path& root, const struct stat& file_info, bool strict,
                  PluginFile& file) {
  Finding finding = file.finding("P003");
  fs::path at = root;
  const fs::path below = resolved.lexically_relative(root).parent_path();
  const auto look_at_directory = [&] {
    struct stat info {};
    const Status safe =
        ::stat(at.c_str(), &info) == 0 ? is_safe(at, info, strict) : Error{at.string() + ": " + error_text(errno)};
    if (!safe.ok()) finding.evidence.push_back(safe.error().message);
  };
  look_at_directory();
  for (const fs::path& part : below) {
    at /= part;
    look_at_directory();
  }
  if (const Status safe = is_safe(resolved, file_info, strict); !safe.ok())
    finding.evidence.push_back(safe.error().message);
  if (finding.evidence.empty()) return;
  finding.advice =
      strict ? "chown to root or the scheduler's user and chmod go-w, the plugin directory included; with strict: true "
               "a read-only mount does not do instead"
             : "chown to root or the scheduler's user and chmod go-w; on a Kubernetes volume set readOnly: true or "
               "mode 0444";
  file.findings.push_back(std::move(finding));
}

/// The line of /proc/self/mountinfo whose mount point is the longest prefix of the path.
std::string mount_of(const fs::path& path) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string best_point = "?";
  std::string best_options;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string skipped, point, options;
    words >> skipped >> skipped >> skipped >> skipped >> point >> options;
    if ((path == point || is_inside(path, point)) && (best_point == "?" || point.size() >= best_point.size())) {
      best_point = point;
      best_options = options;
    }
  }
  return fmt::format("{} ({})", best_point, best_options);
}

void judge_mount(const fs::path& resolved, PluginFile& file) {
  struct statvfs info {};
  if (::statvfs(resolved.c_str(), &info) != 0 || (info.f_flag & ST_NOEXEC) == 0) return;
  Finding finding = file.finding("P009");
  finding.evidence.push_back("mount " + mount_of(resolved));
  finding.advice = "mount it without noexec, or deliver plugins through an image volume or an emptyDir";
  file.findings.push_back(std::move(finding));
}

/// Requires: the file is open, and `info` is its status.
Status read_regular(const PluginFile& file, const struct stat& info, const FileRules& rules, JudgedBytes& bytes) {
  if (!S_ISREG(info.st_mode)) return Error{S_ISDIR(info.st_mode) ? "a directory" : "not a regular file"};
  if (info.st_size == 0) return Error{"0 bytes"};
  if (static_cast<std::uint64_t>(info.st_size) > k_file_bytes_max)
    return Error{fmt::format("{} bytes, more than {}", info.st_size, k_file_bytes_max)};
  return bytes.read(file.open.fd(), static_cast<std::uint64_t>(info.st_size), fs::path(file.path).filename().string(),
                    rules.seal && rules.kernel_seals ? JudgedBytes::Keeping::sealed : JudgedBytes::Keeping::plain);
}

/// Opens the resolved path for reading; a last-moment symbolic link is refused, a pipe does not block.
/// Requires: `file.path` is set. The answer is false when there is nothing to read.
bool open_and_read(PluginFile& file, const FileRules& rules, struct stat& info, JudgedBytes& bytes) {
  file.open = OpenFile(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.open.fd() < 0 || ::fstat(file.open.fd(), &info) != 0) {
    const int error = errno;
    Finding finding = file.finding(error == ENOENT ? "P001" : "P005");
    finding.evidence.push_back("open: " + error_text(error));
    finding.inspectable = false;
    file.findings.push_back(std::move(finding));
    return false;
  }
  const Status read = read_regular(file, info, rules, bytes);
  if (read.ok()) {
    file.size_bytes = bytes.bytes().size();
    file.sha256 = sha256_hex(bytes.bytes());
    file.sealed = bytes.take_sealed();
    return true;
  }
  Finding finding = file.finding("P005");
  finding.evidence.push_back(read.error().message);
  finding.advice = "copy the file again";
  file.findings.push_back(std::move(finding));
  return false;
}

void judge_content(std::span<const std::byte> bytes, const FileRules& rules, FileKind kind, PluginFile& file) {
  const std::optional<ElfFile> elf = judge_elf(bytes, rules.machine, file);
  if (!elf || kind == FileKind::library) return;
  judge_notes(*elf, rules, file);
  // What was found before the notes were read does not name the plugin yet.
  const std::string plugins = file.finding("P010").plugin;
  for (Finding& finding : file.findings) finding.plugin = plugins;
}

void judge_digest(const std::string& pinned, PluginFile& file) {
  if (pinned.empty() || pinned == file.sha256) return;
  Finding finding = file.finding("P004");
  finding.evidence.push_back(fmt::format("the file has sha256 {}", file.sha256));
  finding.evidence.push_back(fmt::format("pinned is       sha256 {}", pinned));
  finding.advice = "restore the file that was pinned, or pin this one after looking at it";
  file.findings.push_back(std::move(finding));
}

/// The text of the file's signature; nothing where there is none.
Result<std::optional<std::string>> read_signature(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0 && errno == ENOENT) return std::optional<std::string>();
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) return Error{error_text(errno)};
  if (!S_ISREG(info.st_mode)) return Error{"not a regular file"};
  std::string text(k_signature_bytes_max + 1, '\0');
  const ssize_t size = ::read(file.fd(), text.data(), text.size());
  if (size < 0) return Error{error_text(errno)};
  if (static_cast<std::size_t>(size) > k_signature_bytes_max)
    return Error{fmt::format("more than {} bytes", k_signature_bytes_max)};
  text.resize(static_cast<std::size_t>(size));
  return std::optional<std::string>(std::move(text));
}

void judge_signature(std::span<const std::byte> bytes, const std::string& pinned, const FileRules& rules,
                     PluginFile& file) {
  if (rules.public_keys.empty()) return;
  const std::string path = file.path + std::string(k_signature_suffix);
  const Result<std::optional<std::string>> signature = read_signature(path);
  if (signature.ok() && !signature->has_value() && (!rules.strict || !pinned.empty())) return;
  const Status checked = !signature.ok()          ? Status(signature.error())
                         : signature->has_value() ? check_signature(bytes, **signature, rules.public_keys)
                                                  : Status(Error{"there is no such file, and strict: true wants one"});
  if (checked.ok()) return;
  Finding finding = file.finding("P028");
  finding.evidence.push_back(fmt::format("{}: {}", path, checked.error().message));
  std::string numbers;
  for (const PublicKey& key : rules.public_keys) numbers += (numbers.empty() ? "" : ", ") + key.number_text();
  finding.evidence.push_back("plugins.publicKeys has " + numbers);
  finding.advice = "put the signature next to the file (minisign -S -m FILE.so), add its key, or pin the file's sha256";
  file.findings.push_back(std::move(finding));
}

/// What happens when the bytes that were judged cannot be kept: the file is opened again by its path, and a user who
/// may write to it could exchange it in between.
void judge_sealing(const JudgedBytes& bytes, const std::string& pinned, const FileRules& rules, PluginFile& file) {
  if (!rules.seal || file.sealed.fd() >= 0) return;
  const std::string why = rules.kernel_seals ? bytes.not_sealed() : "this kernel has no memfd_create";
  if (!rules.strict && pinned.empty()) {
    file.warnings.push_back(
        fmt::format("BERTH-P026 {}: the kernel keeps no sealed copy of it ({}); it is loaded from its path, where it "
                    "could be exchanged after it was checked",
                    escaped(file.path, 4096), why));
    judge_mount(file.path, file);
    return;
  }
  Finding finding = file.finding("P026");
  finding.evidence.push_back(why);
  finding.advice =
      "strict, requireDigest and sha256 need a kernel with memfd_create and sealing (Linux 3.17), and /proc";
  file.findings.push_back(std::move(finding));
}

/// Resolves links; P001 when there is nothing, P002 when the target lies elsewhere.
bool resolve(const fs::path& asked, const fs::path& root, PluginFile& file) {
  std::error_code failed;
  const fs::path resolved = fs::canonical(asked, failed);
  if (failed) {
    Finding finding = file.finding("P001");
    finding.inspectable = false;
    const std::string chain = link_chain(asked);
    finding.evidence.push_back(chain == asked.string() ? failed.message()
                                                       : fmt::format("{}: {}", chain, failed.message()));
    finding.evidence.push_back(listing_of(root));
    finding.advice = "correct the path, or copy the file there";
    file.findings.push_back(std::move(finding));
    return false;
  }
  file.path = resolved.string();
  if (is_inside(resolved, root)) return true;
  Finding finding = file.finding("P002");
  finding.evidence.push_back(link_chain(asked));
  finding.evidence.push_back(fmt::format("resolved {}, the plugin directory is {}", file.path, root.string()));
  finding.advice = "put the file itself into the plugin directory";
  file.findings.push_back(std::move(finding));
  return false;
}

/// The file where links lead; by the path asked for where they lead nowhere.
PluginFile file_of(const fs::path& asked) {
  PluginFile file;
  file.asked_as = asked.string();
  std::error_code failed;
  const fs::path resolved = fs::canonical(asked, failed);
  file.path = failed ? file.asked_as : resolved.string();
  return file;
}

}  // namespace

Finding PluginFile::finding(std::string_view code) const {
  Finding finding = make_finding(code);
  finding.file = path;
  finding.sha256 = sha256;
  finding.build_id = build_id;
  finding.config = config;
  for (const PluginNote& note : notes) {
    finding.plugin += fmt::format("{}{} {}", finding.plugin.empty() ? "" : "; ", note.plugin, note.version);
    if (!note.sdk.empty()) finding.plugin += ", SDK " + note.sdk;
  }
  return finding;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned digest_bytes = 0;
  const bool hashed = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &digest_bytes, EVP_sha256(), nullptr) == 1;
  BERTH_CHECK(hashed, "OpenSSL cannot compute a sha256");
  std::string hex;
  for (unsigned i = 0; i < digest_bytes; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

PluginFile judge_in_directory(const fs::path& asked, const fs::path& root, const std::string& pinned_sha256,
                              const std::string& config, const FileRules& rules, FileKind kind) {
  PluginFile file;
  file.asked_as = asked.string();
  file.path = file.asked_as;
  file.config = config;
  if (!resolve(asked, root, file)) return file;
  struct stat info {};
  JudgedBytes bytes;
  const bool readable = open_and_read(file, rules, info, bytes);
  if (file.open.fd() < 0) return file;
  const std::size_t before = file.findings.size();
  if (readable) judge_content(bytes.bytes(), rules, kind, file);
  // Owner and mode are reported first: they say whether anything else in the report can be believed.
  PluginFile::FindingList content(std::make_move_iterator(file.findings.begin() + static_cast<std::ptrdiff_t>(before)),
                                  std::make_move_iterator(file.findings.end()));
  file.findings.resize(before);
  judge_owners(file.path, root, info, rules.strict, file);
  if (readable) judge_sealing(bytes, pinned_sha256, rules, file);
  if (readable) judge_digest(pinned_sha256, file);
  if (readable) judge_signature(bytes.bytes(), pinned_sha256, rules, file);
  std::move(content.begin(), content.end(), std::back_inserter(file.findings));
  return file;
}

PluginFile judge_alone(const fs::path& asked, const FileRules& rules) {
  PluginFile file = file_of(asked);
  struct stat info {};
  JudgedBytes bytes;
  if (open_and_read(file, rules, info, bytes)) judge_content(bytes.bytes(), rules, FileKind::plugin, file);
  return file;
}

PluginFile judge_system_library(const fs::path& asked, const FileRules& rules, std::vector<std::string>& search) {
  PluginFile file = file_of(asked);
  struct stat info {};
  JudgedBytes bytes;
  FileRules looking = rules;
  looking.seal = false;
  if (!open_and_read(file, looking, info, bytes)) return file;
  judge_owners(file.path, "/", info, rules.strict, file);
  ElfDefect defect;
  const std::optional<ElfFile> elf = ElfFile::read(bytes.bytes(), defect);
  if (!elf) {
    Finding finding = file.finding("P006");
    finding.evidence.push_back(defect.sentence);
    file.findings.push_back(std::move(finding));
    return file;
  }
  file.needed.assign(elf->needed.begin(), elf->needed.end());
  file.soname = elf->soname;
  for (const auto& path : {elf->runpath, elf->rpath}) {
    std::istringstream entries{std::string(path.value_or(std::string_view{}))};
    for (std::string entry; std::getline(entries, entry, ':');)
      if (!entry.empty() && entry.front() == '/') search.push_back(std::move(entry));
  }
  return file;
}

}  // namespace berth::loader
