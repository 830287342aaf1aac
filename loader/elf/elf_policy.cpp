// SPDX-License-Identifier: Apache-2.0
#include "loader/elf/elf_policy.hpp"

#include <elf.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/result.hpp"
#include "berth/abi/host.h"
#include "berth/abi/version.h"
#include "loader/tables/dynamic_tables.hpp"

namespace berth::loader {
namespace {

constexpr std::size_t k_symbols_shown_max = 8;
constexpr std::string_view k_draft_prefix = "berth.draft.";

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::string order_name(bool big_endian) { return big_endian ? "big-endian" : "little-endian"; }

/// What keeps a header from this host, one sentence each.
std::vector<std::string> foreign(bool big_endian, std::uint16_t machine, std::uint16_t type, const HostMachine& host) {
  std::vector<std::string> why;
  if (big_endian != host.big_endian) {
    why.push_back(fmt::format("a {} file, this is {}", order_name(big_endian), order_name(host.big_endian)));
  }
  if (machine != host.elf_machine) {
    why.push_back(fmt::format("built for {}, this is {}", machine_name(machine), machine_name(host.elf_machine)));
  }
  if (type != ET_DYN) {
    const char* const kind = type == ET_REL ? "an object file" : type == ET_EXEC ? "a program" : "no shared object";
    why.push_back(fmt::format("{} (ELF type {})", kind, type));
  }
  return why;
}

void judge_defect(const ElfDefect& defect, const HostMachine& host, PluginFile& file) {
  std::vector<std::string> evidence;
  if (defect.header_read) evidence = foreign(defect.big_endian, defect.machine, defect.type, host);
  const bool incomplete = defect.kind == ElfDefect::Kind::truncated && evidence.empty();
  Finding finding = file.finding(incomplete ? "P005" : "P006");
  finding.evidence = std::move(evidence);
  finding.evidence.push_back(defect.sentence);
  finding.advice = incomplete ? "copy the file again: it is cut off"
                              : "the directory may hold nothing but plugins as *.so; remove this file or rebuild it";
  file.findings.push_back(std::move(finding));
}

void judge_machine(const ElfFile& elf, const HostMachine& host, PluginFile& file) {
  Finding finding = file.finding("P006");
  finding.evidence = foreign(elf.big_endian, elf.machine, elf.type, host);
  if (finding.evidence.empty()) return;
  finding.advice = fmt::format("build the plugin as a shared library for {}", machine_name(host.elf_machine));
  file.findings.push_back(std::move(finding));
}

/// "$ORIGIN" or "${ORIGIN}", alone or with a folder below.
bool is_below_origin(std::string_view entry) {
  std::string_view rest;
  if (starts_with(entry, "$ORIGIN"))
    rest = entry.substr(7);
  else if (starts_with(entry, "${ORIGIN}"))
    rest = entry.substr(9);
  else
    return false;
  return rest.empty() || (rest.front() == '/' && rest.find('$') == std::string_view::npos);
}

/// A search path leads nowhere but to the folder of the file: what lies elsewhere was not judged with it. Empty and
/// relative entries mean the working directory.
void judge_runpath(std::string_view tag, std::string_view runpath, Finding& finding, PluginFile& file) {
  while (true) {
    const std::size_t colon = runpath.find(':');
    const std::string_view entry = runpath.substr(0, colon);
    if (entry.empty()) {
      finding.evidence.push_back(fmt::format("{} has an empty entry, which means the working directory", tag));
    } else if (is_below_origin(entry)) {
      if (entry.find("..") != std::string_view::npos)
        finding.evidence.push_back(fmt::format("{} entry {} leaves the plugin directory", tag, entry));
      else
        file.search_below_origin.emplace_back(entry.substr(std::min(entry.size(), entry.find('/'))));
    } else if (entry.front() != '/') {
      finding.evidence.push_back(fmt::format("{} entry {} is relative to the working directory", tag, entry));
    } else {
      finding.evidence.push_back(fmt::format("{} entry {} is outside of the plugin directory", tag, entry));
    }
    if (colon == std::string_view::npos) return;
    runpath.remove_prefix(colon + 1);
  }
}

/// Nothing may be loaded with the file that cannot be found and judged before: names without a path, no other tags.
void judge_loaded_with(const ElfFile& elf, Finding& finding) {
  for (const std::string_view name : elf.needed) {
    if (name.empty())
      finding.evidence.push_back("DT_NEEDED without a name");
    else if (name.find_first_of("/$") != std::string_view::npos)
      finding.evidence.push_back(fmt::format("DT_NEEDED {} is a path: needed libraries are named, not placed", name));
  }
  for (const std::string& other : elf.other_loads)
    finding.evidence.push_back(fmt::format("{}: loads a library that takes the place of this one", other));
  for (const std::string& sentence : elf.differing_views)
    finding.evidence.push_back("the dynamic linker would see another file than is judged here: " + sentence);
}

void judge_linkage(const ElfFile& elf, PluginFile& file) {
  Finding finding = file.finding("P008");
  if (elf.executable_stack) {
    finding.evidence.push_back(elf.stack_flag_absent
                                   ? "no PT_GNU_STACK: the stack of the process would become executable"
                                   : "PT_GNU_STACK asks for an executable stack");
  }
  if (elf.text_relocations) finding.evidence.push_back("text relocations (DT_TEXTREL): not built with -fPIC");
  if (elf.writable_code) finding.evidence.push_back("a segment is writable and executable");
  if (elf.has_interpreter) finding.evidence.push_back("PT_INTERP: a program, not a library");
  if (elf.runpath) judge_runpath("RUNPATH", *elf.runpath, finding, file);
  if (elf.rpath) judge_runpath("RPATH", *elf.rpath, finding, file);
  judge_loaded_with(elf, finding);
  if (finding.evidence.empty()) return;
  finding.advice = "build with berth_add_plugin(), or link with -Wl,-z,noexecstack -Wl,-z,text and without RPATH";
  file.findings.push_back(std::move(finding));
}

/// The dynamic linker trusts the tables of a library that it has begun to load. Where it would see another file than is
/// judged here, that has been said instead.
void judge_tables(std::span<const std::byte> bytes, const ElfFile& elf, const HostMachine& host, PluginFile& file) {
  if (!foreign(elf.big_endian, elf.machine, elf.type, host).empty() || !elf.differing_views.empty()) return;
  Finding finding = file.finding("P027");
  finding.evidence = table_defects(bytes);
  if (finding.evidence.empty()) return;
  finding.advice = "link the file again: it was damaged, or changed by a tool that left its tables inconsistent";
  file.findings.push_back(std::move(finding));
}

/// "2.36" -> {2, 36}; anything else -> {0, 0}.
std::pair<int, int> version_of(std::string_view text) {
  std::pair<int, int> version{0, 0};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), version.first);
  if (failed != std::errc{} || end == text.data() + text.size() || *end != '.') return {0, 0};
  std::from_chars(end + 1, text.data() + text.size(), version.second);
  return version;
}

void judge_c_library(const ElfFile& elf, const HostMachine& host, PluginFile& file) {
  const auto musl = std::find_if(elf.needed.begin(), elf.needed.end(),
                                 [](std::string_view name) { return starts_with(name, "libc.musl-"); });
  if (musl != elf.needed.end() && !host.glibc_version.empty()) {
    Finding finding = file.finding("P020");
    finding.evidence.push_back(fmt::format("needs {}: built against musl, this berth uses glibc", *musl));
    finding.advice = "build the plugin on a glibc system, for example Debian 12";
    file.findings.push_back(std::move(finding));
  }
  std::string_view newest;
  for (const ElfVersionNeed& need : elf.version_needs) {
    if (!starts_with(need.version, "GLIBC_") || version_of(need.version.substr(6)) <= version_of(host.glibc_version))
      continue;
    if (newest.empty() || version_of(newest.substr(6)) < version_of(need.version.substr(6))) newest = need.version;
  }
  if (newest.empty() || host.glibc_version.empty()) return;
  Finding finding = file.finding("P022");
  finding.evidence.push_back(fmt::format("needs {}, this system has {}", newest, host.glibc_version));
  finding.advice = "build the plugin on the oldest system that it must run on, for example Debian 12";
  file.findings.push_back(std::move(finding));
}

unsigned level_of_isa(std::string_view isa) {
  if (isa == "x86-64-v2") return 2;
  if (isa == "x86-64-v3") return 3;
  if (isa == "x86-64-v4") return 4;
  return 0;
}

void judge_instructions(const ElfFile& elf, const HostMachine& host, PluginFile& file) {
  if (elf.machine != EM_X86_64 || elf.machine != host.elf_machine) return;
  unsigned needed = 0;
  for (unsigned level = 2; level <= 4; ++level) {
    if ((elf.x86_isa_needed & (1u << (level - 1))) != 0) needed = level;
  }
  for (const PluginNote& note : file.notes) needed = std::max(needed, level_of_isa(note.isa));
  if (needed <= host.x86_level) return;
  Finding finding = file.finding("P007");
  finding.evidence.push_back(fmt::format("built for x86-64-v{}, this CPU has x86-64-v{}", needed, host.x86_level));
  finding.advice = fmt::format("build the plugin with -march=x86-64-v{}", std::max(host.x86_level, 2u));
  file.findings.push_back(std::move(finding));
}

std::string shown_symbols(const ElfFile& elf) {
  if (elf.exported.empty()) return "exports nothing";
  const std::size_t shown = std::min(elf.exported.size(), k_symbols_shown_max);
  return fmt::format("exports {}{}",
                     fmt::join(elf.exported.begin(), elf.exported.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < elf.exported.size() ? ", …" : "");
}

/// What else the file might be.
std::string_view other_system(const ElfFile& elf) {
  const auto exports = [&](std::string_view wanted) {
    return std::find(elf.exported.begin(), elf.exported.end(), wanted) != elf.exported.end();
  };
  for (const ElfNote& note : elf.notes) {
    if (note.owner == "Go") return "it carries a Go build id: Go plugins do not run inside berth";
  }
  if (exports("clap_entry")) return "clap_entry: an audio plugin";
  if (exports("plugin_get_required_api_version")) return "plugin_get_required_api_version: a Falco plugin";
  for (const std::string_view symbol : elf.exported) {
    if (starts_with(symbol, "PyInit_")) return "PyInit_…: a Python module";
    if (starts_with(symbol, "Java_") || starts_with(symbol, "JNI_")) return "Java_… or JNI_…: a Java native library";
  }
  return {};
}

void judge_absent_note(const ElfFile& elf, PluginFile& file) {
  Finding finding = file.finding("P010");
  finding.evidence.push_back("no note of owner \"berth\" in the file; " + shown_symbols(elf));
  if (const std::string_view other = other_system(elf); !other.empty()) finding.evidence.emplace_back(other);
  finding.advice =
      "build it with berth_add_plugin() (in C: BERTH_NOTE in the source), or keep other libraries out of this "
      "directory";
  file.findings.push_back(std::move(finding));
}

void judge_entry_symbol(const ElfFile& elf, PluginFile& file) {
  if (std::find(elf.exported.begin(), elf.exported.end(), BERTH_ENTRY_SYMBOL) != elf.exported.end()) return;
  Finding finding = file.finding("P011");
  finding.evidence.push_back(fmt::format("{} is not exported; the file {}", BERTH_ENTRY_SYMBOL, shown_symbols(elf)));
  const bool mangled = std::any_of(elf.exported.begin(), elf.exported.end(), [](std::string_view symbol) {
    return starts_with(symbol, "_Z") && symbol.find("berth_library_entry") != std::string_view::npos;
  });
  finding.advice = mangled ? "declare the entry extern \"C\": its name is mangled"
                           : "define it extern \"C\" with BERTH_EXPORT, and check that the version script keeps it";
  file.findings.push_back(std::move(finding));
}

bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_letter_or_digit(char c) noexcept { return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Whether an author may give a plugin that name. Names without a domain are those of kube-scheduler's
/// plugins, whose place a file may take.
Status may_be_used(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    if (is_upper(name.front()) && std::all_of(name.begin(), name.end(), is_letter_or_digit)) return Unit{};
    return Error{fmt::format("the name \"{}\" has no domain, and is not in CamelCase as those that go without", name)};
  }
  const std::string_view domain = name.substr(0, slash);
  if (domain.find('.') == std::string_view::npos)
    return Error{fmt::format("\"{}\" in \"{}\" is no domain", domain, name)};
  for (const std::string_view reserved : {"k8s.io", "kubernetes.io"})
    if (domain == reserved ||
        (domain.size() > reserved.size() && domain.substr(domain.size() - reserved.size()) == reserved &&
         domain[domain.size() - reserved.size() - 1] == '.'))
      return Error{fmt::format("the domain of \"{}\" is reserved: {} is Kubernetes'", name, reserved)};
  return Unit{};
}

/// Names end up in logs, events, metrics and file names: what cannot be shown cannot be used.
void judge_names(PluginFile& file) {
  Finding finding = file.finding("P017");
  for (const PluginNote& note : file.notes) {
    if (!is_plugin_name(note.plugin)) {
      finding.evidence.push_back(
          fmt::format("the note's plugin name \"{}\" has characters other than letters, digits, "
                      "'.', '_', '-' and one '/'",
                      note.plugin));
    } else if (const Status named = may_be_used(note.plugin); !named.ok()) {
      finding.evidence.push_back(named.error().message);
    }
    if (note.version.empty() || escaped(note.version) != note.version) {
      finding.evidence.push_back(fmt::format("the note's version \"{}\" is empty or cannot be shown", note.version));
    }
  }
  if (finding.evidence.empty()) return;
  finding.advice = "name the plugin like example.com/RackSpread and give it a version like 1.0.0";
  file.findings.push_back(std::move(finding));
}

void judge_versions(const FileRules& rules, PluginFile& file) {
  for (const PluginNote& note : file.notes) {
    const auto refuse = [&](std::string_view code, std::string evidence, std::string advice) {
      Finding finding = file.finding(code);
      finding.evidence.push_back(std::move(evidence));
      finding.advice = std::move(advice);
      file.findings.push_back(std::move(finding));
    };
    if (note.abi_major == 0) {
      refuse("P015",
             fmt::format("built for ABI 0.{}, a preview; {} implements {}.{} and loads plugins from {}.0 on",
                         note.minor_built, rules.product, BERTH_ABI_MAJOR, rules.abi_minor, BERTH_ABI_MAJOR),
             fmt::format("rebuild the plugin against SDK {}.0 or later: what changed stands in the SDK's CHANGELOG.md",
                         BERTH_ABI_MAJOR));
      continue;
    }
    if (note.abi_major != BERTH_ABI_MAJOR) {
      refuse("P012",
             fmt::format("built for ABI {}.{}, {} implements {}.{}", note.abi_major, note.minor_built, rules.product,
                         BERTH_ABI_MAJOR, BERTH_ABI_MINOR),
             "build the plugin with this berth's SDK, or use a berth of that major");
      continue;  // the rest of the note means what that major says
    }
    if (note.minor_required > note.minor_built) {
      refuse("P017",
             fmt::format("the note of {} says that it was built for ABI {}.{} and requires {}.{}", note.plugin,
                         note.abi_major, note.minor_built, note.abi_major, note.minor_required),
             "require no more than the SDK has that the plugin is built with");
    } else if (note.minor_required > rules.abi_minor) {
      refuse("P013",
             fmt::format("requires ABI {}.{}, {} implements {}.{}", note.abi_major, note.minor_required, rules.product,
                         BERTH_ABI_MAJOR, rules.abi_minor),
             "upgrade berth, or do without what is new: the plugin was built for " +
                 fmt::format("{}.{}", note.abi_major, note.minor_built));
    }
    if (note.data_model != BERTH_DATA_MODEL) {
      refuse("P014", fmt::format("data model {}, supported is {}", note.data_model, BERTH_DATA_MODEL),
             "build the plugin with this berth's SDK");
    }
  }
}

bool is_in(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

void judge_services(const FileRules& rules, PluginFile& file) {
  std::vector<std::string> missing;
  std::vector<std::string> drafts;
  std::uint16_t minor_built = 0;  // of a plugin that requires a draft
  for (const PluginNote& note : file.notes) {
    if (note.abi_major != BERTH_ABI_MAJOR) continue;
    // What was built with this very minor has the drafts as they are here.
    if (!rules.allow_draft_interfaces && note.minor_built != rules.abi_minor)
      for (const auto* const ids : {&note.points, &note.services})
        for (const std::string& id : *ids)
          if (starts_with(id, k_draft_prefix) && !is_in(drafts, id)) {
            drafts.push_back(id);
            minor_built = note.minor_built;
          }
    for (const std::string& service : note.services) {
      if (rules.compare_services && !is_in(rules.host_services, service)) missing.push_back(service);
    }
  }
  if (!missing.empty()) {
    Finding finding = file.finding("P013");
    finding.evidence.push_back(
        fmt::format("requires services that {} does not have: {}", rules.product, fmt::join(missing, ", ")));
    finding.advice = "upgrade berth, or use a version of the plugin that does without";
    file.findings.push_back(std::move(finding));
  }
  if (!drafts.empty()) {
    Finding finding = file.finding("P044");
    finding.evidence.push_back(fmt::format("requires {} as of ABI {}.{}, {} implements {}.{}", fmt::join(drafts, ", "),
                                           BERTH_ABI_MAJOR, minor_built, rules.product, BERTH_ABI_MAJOR,
                                           rules.abi_minor));
    finding.advice =
        "build the plugin with this berth's SDK, or set plugins.allowDraftInterfaces: true; drafts may change with "
        "every minor";
    file.findings.push_back(std::move(finding));
  }
}

}  // namespace

std::optional<ElfFile> judge_elf(std::span<const std::byte> bytes, const HostMachine& host, PluginFile& file) {
  ElfDefect defect;
  std::optional<ElfFile> elf = ElfFile::read(bytes, defect);
  if (!elf) {
    judge_defect(defect, host, file);
    return elf;
  }
  file.build_id = elf->build_id;
  file.machine = machine_name(elf->machine) + (elf->big_endian ? ", big-endian" : "");
  file.needed.assign(elf->needed.begin(), elf->needed.end());
  file.soname = elf->soname;
  file.exported.assign(elf->exported.begin(), elf->exported.end());
  file.exported_count = elf->exported_count;
  judge_machine(*elf, host, file);
  judge_linkage(*elf, file);
  judge_tables(bytes, *elf, host, file);
  if (elf->machine == host.elf_machine) judge_c_library(*elf, host, file);
  return elf;
}

void judge_notes(const ElfFile& elf, const FileRules& rules, PluginFile& file) {
  PluginNotes notes = read_plugin_notes(elf);
  file.notes = std::move(notes.plugins);
  if (!notes.defects.empty()) {
    Finding finding = file.finding("P017");
    finding.evidence = std::move(notes.defects);
    finding.advice = "build the plugin with this berth's SDK";
    file.findings.push_back(std::move(finding));
  } else if (file.notes.empty()) {
    judge_absent_note(elf, file);
    return;
  }
  judge_instructions(elf, rules.machine, file);
  judge_versions(rules, file);
  const bool ours = std::any_of(file.notes.begin(), file.notes.end(),
                                [](const PluginNote& note) { return note.abi_major == BERTH_ABI_MAJOR; });
  if (!ours) return;
  judge_entry_symbol(elf, file);
  judge_names(file);
  judge_services(rules, file);
}

}  // namespace berth::loader
