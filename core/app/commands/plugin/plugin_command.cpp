// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/plugin_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string_view>

#include "app/commands/access_rules.hpp"
#include "loader/plugin_file.hpp"

namespace berth::app {
namespace {

using loader::escaped;
using loader::Finding;
using loader::PluginFile;
using loader::PluginNote;

constexpr std::size_t k_text_bytes_max = 4096;
constexpr std::size_t k_exports_shown_max = 8;

std::string shown(const std::string& text) { return escaped(text, k_text_bytes_max); }

std::string listed(const std::vector<std::string>& words, std::size_t max = SIZE_MAX) {
  std::string line;
  for (std::size_t i = 0; i < words.size() && i < max; ++i) line += (i == 0 ? "" : ", ") + escaped(words[i]);
  return words.size() > max ? line + ", …" : line;
}

void put(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << fmt::format("  {:<11} {}\n", label, text);
}

std::string file_name(const PluginFile& file) { return std::filesystem::path(file.asked_as).filename().string(); }

// --- text ------------------------------------------------------------------------------------------------------------

void print_note(const PluginNote& note, std::ostream& out) {
  put(out, "plugin:", fmt::format("{} {}", escaped(note.plugin), escaped(note.version)));
  put(out, "  points:", listed(note.points));
  put(out, "  services:", listed(note.services));
  put(out, "  watches:", listed(note.watches));
  put(out, "  rbac:", listed(note.rbac));
  put(out, "  ABI:",
      fmt::format("{}.{} (requires {}.{}), data model {}", note.abi_major, note.minor_built, note.abi_major,
                  note.minor_required, note.data_model));
  put(out,
      "  built with:", fmt::format("SDK {}, {}, {}", escaped(note.sdk), escaped(note.compiler), escaped(note.isa)));
}

void print_text(const PluginFile& file, std::ostream& out) {
  out << shown(file.path) << '\n';
  for (const PluginNote& note : file.notes) print_note(note, out);
  if (file.size_bytes != 0) put(out, "size:", fmt::format("{} bytes", file.size_bytes));
  put(out, "machine:", file.machine);
  put(out, "build id:", file.build_id);
  put(out, "sha256:", file.sha256);
  if (!file.sha256.empty() && file.findings.empty()) {
    put(out, "pin:", fmt::format("{{file: {}, sha256: {}}}", shown(file_name(file)), file.sha256));
  }
  put(out, "needs:", listed(file.needed));
  if (!file.machine.empty()) {
    const std::string names = listed(file.exported, k_exports_shown_max);
    put(out, "exports:", fmt::format("{}{}{}", file.exported_count, names.empty() ? "" : ": ", names));
  }
  for (const std::string& warning : file.warnings) put(out, "warning:", warning);
  if (file.findings.empty()) {
    put(out, "verdict:", "may be loaded");
    return;
  }
  std::string codes;
  for (const Finding& finding : file.findings) codes += (codes.empty() ? "" : ", ") + finding.code;
  put(out, "verdict:", "refused: " + codes);
  for (Finding finding : file.findings) {
    finding.inspectable = false;  // this is the command it would name
    out << '\n' << loader::render(finding);
  }
}

// --- JSON ------------------------------------------------------------------------------------------------------------

/// Text of a file as a JSON string; what JSON cannot carry has been spelt out by escaped().
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : shown(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string quoted(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& word : words) out += (out.size() == 1 ? "" : ", ") + quoted(word);
  return out + "]";
}

std::string json_of(const PluginNote& note) {
  return fmt::format(
      "{{\"name\": {}, \"version\": {}, \"points\": {}, \"services\": {}, \"watches\": {}, \"rbac\": {}, "
      "\"abi\": {{\"major\": {}, \"minorBuilt\": {}, \"minorRequired\": {}, \"dataModel\": {}}}, "
      "\"sdk\": {}, \"compiler\": {}, \"isa\": {}}}",
      quoted(note.plugin), quoted(note.version), quoted(note.points), quoted(note.services), quoted(note.watches),
      quoted(note.rbac), note.abi_major, note.minor_built, note.minor_required, note.data_model, quoted(note.sdk),
      quoted(note.compiler), quoted(note.isa));
}

std::string json_of(const Finding& finding) {
  return fmt::format("{{\"code\": {}, \"what\": {}, \"evidence\": {}, \"do\": {}}}", quoted("BERTH-" + finding.code),
                     quoted(finding.what), quoted(finding.evidence), quoted(finding.advice));
}

std::string json_of(const PluginFile& file);

template <typename T>
std::string json_of(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() == 1 ? "" : ", ") + json_of(value);
  return out + "]";
}

std::string json_of(const PluginFile& file) {
  return fmt::format(
      "{{\"file\": {}, \"sizeBytes\": {}, \"sha256\": {}, \"buildId\": {}, \"machine\": {}, \"needed\": {}, "
      "\"exportedCount\": {}, \"exported\": {}, \"plugins\": {}, \"loadable\": {}, \"findings\": {}, \"warnings\": "
      "{}}}",
      quoted(file.path), file.size_bytes, quoted(file.sha256), quoted(file.build_id), quoted(file.machine),
      quoted(file.needed), file.exported_count, quoted(file.exported), json_of(file.notes), file.findings.empty(),
      json_of(file.findings), quoted(file.warnings));
}

// --- RBAC ------------------------------------------------------------------------------------------------------------

/// False when an entry of the note is no rule.
bool print_rules(const PluginNote& note, std::ostream& out, std::ostream& err) {
  bool all_readable = true;
  const auto print = [&](const std::string& entry, const std::optional<AccessRule>& rule) {
    if (!rule) {
      err << fmt::format("{}: cannot make a rule of \"{}\"\n", escaped(note.plugin), escaped(entry));
      all_readable = false;
      return;
    }
    out << fmt::format("  - apiGroups: [\"{}\"]\n    resources: [{}]\n    verbs: [{}]\n", rule->group, rule->resource,
                       fmt::join(rule->verbs, ", "));
  };
  if (note.watches.empty() && note.rbac.empty()) return true;
  out << fmt::format("  # {} {}\n", escaped(note.plugin), escaped(note.version));
  for (const std::string& watch : note.watches) print(watch, rule_of_watch(watch));
  for (const std::string& rbac : note.rbac) print(rbac, rule_of_rbac(rbac));
  return all_readable;
}

bool print_role(const std::vector<PluginFile>& files, std::ostream& out, std::ostream& err) {
  bool all_readable = true;
  const bool some = std::any_of(files.begin(), files.end(), [](const PluginFile& file) {
    return std::any_of(file.notes.begin(), file.notes.end(),
                       [](const PluginNote& note) { return !note.watches.empty() || !note.rbac.empty(); });
  });
  out << "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: berth-plugins\n"
      << (some ? "rules:\n" : "rules: []\n");
  for (const PluginFile& file : files) {
    for (const PluginNote& note : file.notes) all_readable = print_rules(note, out, err) && all_readable;
  }
  return all_readable;
}

}  // namespace

loader::FileRules inspection_rules(const std::string& product, const std::vector<std::string>& host_services) {
  loader::FileRules rules;
  rules.machine = loader::HostMachine::of_this_process();
  rules.product = product;
  rules.host_services = host_services;
  rules.compare_services = !host_services.empty();
  return rules;
}

int inspect_plugins(const PluginInspectOptions& options, std::ostream& out, std::ostream& err) {
  const loader::FileRules rules = inspection_rules(options.product, options.host_services);
  std::vector<PluginFile> files;
  for (const std::string& file : options.files) files.push_back(loader::judge_alone(file, rules));
  bool good = std::all_of(files.begin(), files.end(), [](const PluginFile& file) { return file.findings.empty(); });

  if (options.rbac) {
    for (const PluginFile& file : files) {
      for (const Finding& finding : file.findings) err << loader::render(finding);
    }
    good = print_role(files, out, err) && good;
  } else if (options.json) {
    out << json_of(files) << '\n';
  } else {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (i != 0) out << '\n';
      print_text(files[i], out);
    }
  }
  return good ? 0 : 1;
}

}  // namespace berth::app
