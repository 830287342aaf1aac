// SPDX-License-Identifier: Apache-2.0
#include "loader/findings.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/utf8.hpp"

namespace berth::loader {
namespace {

constexpr std::size_t k_shown_max = 100, k_shown_bytes_max = 64 * 1024;

struct Title {
  std::string_view code;
  std::string_view what;
};

/// Codes are stable: append, never renumber. Those from P042 on that concern instances are raised by the code that
/// makes them.
constexpr std::array k_titles{
    Title{"P001", "plugin file not found"},
    Title{"P002", "plugin file is not inside the plugin directory"},
    Title{"P003", "owner or mode of the plugin file is unsafe"},
    Title{"P004", "digest of the plugin file differs"},
    Title{"P005", "not a complete regular file"},
    Title{"P006", "not a shared library for this machine"},
    Title{"P007", "this CPU lacks instructions that the plugin needs"},
    Title{"P008", "unsafe linkage"},
    Title{"P009", "file system is mounted noexec"},
    Title{"P010", "not a berth plugin"},
    Title{"P011", "plugin has no entry symbol"},
    Title{"P012", "plugin is for another major version of the ABI"},
    Title{"P013", "plugin needs a newer berth"},
    Title{"P014", "plugin was built for another data model"},
    Title{"P015", "plugin was built for a preview of the ABI"},
    Title{"P016", "note and descriptor of the plugin disagree"},
    Title{"P017", "plugin describes itself in a way that cannot be used"},
    Title{"P020", "a shared library that the plugin needs is missing"},
    Title{"P021", "plugin needs a symbol that nothing provides"},
    Title{"P022", "plugin needs a newer C library"},
    Title{"P023", "no room for the plugin's thread-local storage"},
    Title{"P024", "plugin could not be loaded"},
    Title{"P025", "plugin file was exchanged while it was loaded"},
    Title{"P026", "the judged bytes of the plugin cannot be kept for loading"},
    Title{"P027", "the tables of the plugin would lead the dynamic linker astray"},
    Title{"P028", "plugin file without a signature that is trusted"},
    Title{"P030", "a constructor of the plugin crashed or hung"},
    Title{"P031", "plugin changes the floating-point mode"},
    Title{"P040", "no file offers a plugin that a profile uses"},
    Title{"P041", "two files offer the same plugin"},
    Title{"P042", "plugin does not offer an extension point that a profile uses"},
    Title{"P043", "an interface of the plugin is incomplete"},
    Title{"P044", "plugin requires a draft interface"},
    Title{"P050", "args of a plugin do not match its schema"},
    Title{"P051", "plugin refused its args"},
    Title{"P052", "create took too long"},
    Title{"P060", "plugin may not watch a resource"},
    Title{"P061", "plugin cannot run in a process of its own"},
};

void add_line(std::string& out, std::string_view label, std::string_view text) {
  if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
}

}  // namespace

Finding make_finding(std::string_view code) {
  const auto* const title =
      std::find_if(k_titles.begin(), k_titles.end(), [&](const Title& known) { return known.code == code; });
  BERTH_CHECK(title != k_titles.end(), "{} is not in the catalogue of findings", code);
  Finding finding;
  finding.code = code;
  finding.what = title->what;
  return finding;
}

std::string escaped(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "…";
    const std::size_t length = utf8_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    const bool control = lead < 0x20 || lead == 0x7f || display_control_length(text) != 0;
    if (length == 0 || control) {
      const std::size_t bytes = length == 0 ? 1 : length;
      for (const char byte : text.substr(0, bytes)) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      text.remove_prefix(bytes);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string render(const Finding& finding) {
  std::string out = fmt::format("BERTH-{} {}\n", finding.code, finding.what);
  std::string identity;
  if (!finding.sha256.empty()) identity = fmt::format("sha256 {}…", finding.sha256.substr(0, 12));
  if (!finding.build_id.empty()) {
    identity += fmt::format("{}build id {}…", identity.empty() ? "" : ", ", finding.build_id.substr(0, 12));
  }
  const std::string file = escaped(finding.file, 4096);
  add_line(out, "file:", identity.empty() ? file : fmt::format("{}  ({})", file, identity));
  add_line(out, "plugin:", escaped(finding.plugin));
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    add_line(out, i == 0 ? "evidence:" : "", escaped(finding.evidence[i], 1000));
  }
  add_line(out, "do:", finding.advice);
  add_line(out, "config:", escaped(finding.config, 1000));
  if (finding.inspectable && !file.empty()) add_line(out, "look:", "berth plugin inspect " + file);
  return out;
}

std::string LoadReport::render() const {
  std::string out;
  std::size_t shown = 0;
  for (const Finding& finding : findings_) {
    if (shown == k_shown_max || out.size() > k_shown_bytes_max) break;
    ++shown;
    if (!out.empty()) out += '\n';
    out += loader::render(finding);
  }
  if (shown < findings_.size()) out += fmt::format("\nand {} more\n", findings_.size() - shown);
  return out;
}

}  // namespace berth::loader
