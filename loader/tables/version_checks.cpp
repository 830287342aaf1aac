// SPDX-License-Identifier: Apache-2.0
// Versions of symbols: what is needed of which library, and what is defined.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "loader/tables/table_checks.hpp"

namespace berth::loader {
namespace {

constexpr std::uint32_t k_number_mask = 0x7fff;
constexpr std::size_t k_steps_max = 65'536;  // of each list

struct Walk {
  const MappedImage& image;
  const StringTable& strings;
  TableDefects& defects;
  std::uint32_t number_max = 0;
  std::size_t steps = 0;

  bool stop(std::string why) {
    defects.push_back(std::move(why));
    return false;
  }
  bool take(std::uint32_t number) {
    number_max = std::max(number_max, number & k_number_mask);
    return ++steps <= k_steps_max || stop("its lists of versions do not end");
  }
};

bool walk_needed_of(Walk& walk, std::uint64_t at) {
  for (;;) {
    const auto entry = walk.image.at<Elf64_Vernaux>(at);
    if (!entry) return walk.stop("DT_VERNEED leaves what is mapped of the file");
    if (!walk.strings.has(entry->vna_name)) return walk.stop("a version in DT_VERNEED has no name in DT_STRTAB");
    if (!walk.take(entry->vna_other)) return false;
    if (entry->vna_next == 0) return true;
    at += entry->vna_next;
  }
}

/// The dynamic linker aborts over a library that it has not loaded.
bool walk_needed(Walk& walk, std::uint64_t at) {
  std::set<std::string_view> loaded;
  for (const std::uint64_t place : walk.image.needed())
    if (const auto name = walk.strings.name_at(place)) loaded.insert(*name);
  for (;;) {
    const auto entry = walk.image.at<Elf64_Verneed>(at);
    if (!entry) return walk.stop("DT_VERNEED leaves what is mapped of the file");
    const auto library = walk.strings.name_at(entry->vn_file);
    if (!library) return walk.stop("a library in DT_VERNEED has no name in DT_STRTAB");
    if (loaded.find(*library) == loaded.end())
      return walk.stop(fmt::format("DT_VERNEED asks for versions of {}, which is not among DT_NEEDED", *library));
    if (!walk_needed_of(walk, at + entry->vn_aux)) return false;
    if (entry->vn_next == 0) return true;
    at += entry->vn_next;
  }
}

bool walk_defined(Walk& walk, std::uint64_t at) {
  for (;;) {
    const auto entry = walk.image.at<Elf64_Verdef>(at);
    const auto name = entry ? walk.image.at<Elf64_Verdaux>(at + entry->vd_aux) : std::nullopt;
    if (!name) return walk.stop("DT_VERDEF leaves what is mapped of the file");
    if (entry->vd_version != VER_DEF_CURRENT) return walk.stop("DT_VERDEF is of an unknown form");
    if (!walk.strings.has(name->vda_name)) return walk.stop("a version in DT_VERDEF has no name in DT_STRTAB");
    if (!walk.take(entry->vd_ndx)) return false;
    if (entry->vd_next == 0) return true;
    at += entry->vd_next;
  }
}

}  // namespace

std::uint32_t check_versions(const MappedImage& image, const StringTable& strings, TableDefects& defects) {
  Walk walk{image, strings, defects};
  const auto needed = image.dynamic(DT_VERNEED), defined = image.dynamic(DT_VERDEF);
  if (needed) walk_needed(walk, *needed);
  walk.steps = 0;
  if (defined) walk_defined(walk, *defined);
  const bool has_numbers = image.dynamic(DT_VERSYM).has_value();
  if (has_numbers && walk.number_max == 0)
    defects.emplace_back("DT_VERSYM gives symbols versions, of which there are none");
  if (!has_numbers && walk.number_max != 0)
    defects.emplace_back("there are versions, and no DT_VERSYM that gives them to symbols");
  return walk.number_max;
}

}  // namespace berth::loader
