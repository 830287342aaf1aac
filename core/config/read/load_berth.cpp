// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/base64.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

constexpr std::size_t k_sha256_digits = 64;
constexpr std::int64_t k_call_timeout_least_ns = 10'000'000, k_call_timeout_most_ns = 30'000'000'000;
constexpr std::int64_t k_explain_after_least_ns = 1'000'000'000, k_explain_after_most_ns = 86'400'000'000'000;

bool to_digest(std::string& text) {
  if (text.size() != k_sha256_digits) return false;
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

/// Whether the file's code runs in a process of its own, and how long its calls may take there.
void read_isolation(Fields& fields, const Source& source, PluginFile& out) {
  std::string isolation = "none";
  fields.read("isolation", isolation);
  out.is_isolated = isolation == "process";
  if (!out.is_isolated && isolation != "none")
    source.report(fields.place_of("isolation"), "Unsupported value: " + quoted(isolation),
                  "supported values: \"none\", \"process\"");
  if (fields.read_duration("callTimeout", out.call_timeout_ns)) {
    if (out.call_timeout_ns < k_call_timeout_least_ns || out.call_timeout_ns > k_call_timeout_most_ns)
      source.report(fields.place_of("callTimeout"), "Invalid value: " + quoted(format_duration(out.call_timeout_ns)),
                    "from \"10ms\" to \"30s\"");
    else if (!out.is_isolated)
      source.report(fields.place_of("callTimeout"), "has no effect without isolation: process",
                    "calls inside berth's own process cannot be given up");
  }
}

void read_files(Fields& plugins, const Source& source, PluginLoading& out) {
  const text::Value* list = plugins.sequence("files");
  if (list == nullptr) return;
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    Fields fields(source, list->elements()[i], fmt::format("{}[{}]", plugins.path_of("files"), i));
    PluginFile file;
    file.where = source.where(fields.place());
    fields.read("file", file.file);
    const bool has_digest = fields.read("sha256", file.sha256);
    read_isolation(fields, source, file);
    if (file.file.empty())
      source.report(fields.place_of("file"), "Required value", "the path of a plugin file, relative to the directory");
    else if (!seen.insert(file.file).second)
      source.report(fields.place_of("file"), "Duplicate value: " + quoted(file.file), "list each file once");
    if (has_digest && !to_digest(file.sha256))
      source.report(fields.place_of("sha256"), fmt::format("Invalid value: {}: not a SHA-256", quoted(file.sha256)),
                    "64 hexadecimal digits, as `berth plugin inspect` or `sha256sum` prints them");
    if (!has_digest && out.require_digest)
      source.report(fields.place_of("sha256"), "Required value", "requireDigest is true");
    out.files.push_back(std::move(file));
  }
}

/// "RWQ…": two letters, the number of the key, and the key, as minisign writes them.
bool is_public_key(std::string_view text) {
  constexpr std::size_t k_bytes = 2 + 8 + 32;
  const std::optional<std::string> bytes = decode_base64(text);
  return bytes && bytes->size() == k_bytes && bytes->starts_with("Ed");
}

void read_public_keys(Fields& plugins, const Source& source, PluginLoading& out) {
  const text::Value* list = plugins.sequence("publicKeys");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    const text::Value& key = list->elements()[i];
    const std::string path = fmt::format("{}[{}]", plugins.path_of("publicKeys"), i);
    if (key.is_string() && is_public_key(key.text()))
      out.public_keys.emplace_back(key.text());
    else
      source.report({key.position(), path}, "Invalid value: " + shown(key) + ": not a public key of minisign",
                    "the second line of a .pub file, which begins with RW");
  }
}

void read_verdict_reuse(Fields& plugins, const Source& source, PluginLoading& out) {
  const text::Value* value = plugins.any("verdictReuse");
  if (value == nullptr) return;
  // Many YAML tools write the words on and off as booleans.
  const std::string_view text = value->is_boolean() ? (value->boolean() ? "on" : "off") : value->text();
  if (text == "on" || text == "auto") {
    out.verdict_reuse = VerdictReuse::on;
  } else if (text == "off") {
    out.verdict_reuse = VerdictReuse::off;
  } else if (text == "verify") {
    out.verdict_reuse = VerdictReuse::verify;
  } else {
    source.report(plugins.place_of("verdictReuse"), "Unsupported value: " + shown(*value),
                  "supported values: \"on\" (or \"auto\"), \"off\", \"verify\"");
  }
}

/// "v1.16" switches a part of the mode on.
void read_era(Fields& legacy, std::string_view key, const Source& source, bool& out) {
  std::string era;
  if (!legacy.read(key, era)) return;
  out = era == "v1.16";
  if (!out)
    source.report(legacy.place_of(key), "Unsupported value: " + quoted(era),
                  "supported values: \"v1.16\"; leave it out for today's");
}

}  // namespace

void read_explain_after(Fields& root, const Source& source, std::int64_t& out_ns) {
  if (!root.read_duration("explainAfter", out_ns)) return;
  if (out_ns != 0 && (out_ns < k_explain_after_least_ns || out_ns > k_explain_after_most_ns))
    source.report(root.place_of("explainAfter"), "Invalid value: " + quoted(format_duration(out_ns)),
                  "from \"1s\" to \"24h\"; \"0s\", or without it, no event says what would make a pod fit");
}

void read_legacy_mode(Fields& root, const Source& source, LegacyMode& out) {
  const text::Value* value = root.mapping("legacy");
  if (value == nullptr) return;
  Fields legacy(source, *value, root.path_of("legacy"));
  read_era(legacy, "search", source, out.search);
  read_era(legacy, "queue", source, out.queue);
  legacy.read("alwaysCheckAllPredicates", out.check_all_filters);
  legacy.read("balanceAttachedNodeVolumes", out.balance_volumes);
  legacy.read("maxNodeScore", out.max_node_score);
  if (out.max_node_score != 10 && out.max_node_score != 100)
    source.report(legacy.place_of("maxNodeScore"), fmt::format("Unsupported value: {}", out.max_node_score),
                  "supported values: 10 (v1.16 and older), 100");
  std::int64_t seed = 0;
  if (!legacy.read("seed", seed)) return;
  out.seed = static_cast<std::uint64_t>(seed);
  if (!out.search)
    source.report(legacy.place_of("seed"), "has no effect without search: v1.16", "nothing else is random");
}

void read_berth_configuration(Fields& root, const Source& source, PluginLoading& out) {
  const text::Value* value = root.mapping("plugins");
  if (value == nullptr) return;
  Fields plugins(source, *value, root.path_of("plugins"));
  if (plugins.read("directory", out.directory)) out.directory_where = source.where(plugins.place_of("directory"));
  plugins.read("strict", out.strict);
  plugins.read("requireDigest", out.require_digest);
  plugins.read("allowDraftInterfaces", out.allow_draft_interfaces);
  read_public_keys(plugins, source, out);
  read_verdict_reuse(plugins, source, out);
  read_files(plugins, source, out);
  if (out.strict && out.files.empty())
    source.report(plugins.place_of("strict"), "is true, but `files` lists nothing, so that no plugin could load",
                  "list the plugin files, or leave strict out");
}

}  // namespace berth::config
