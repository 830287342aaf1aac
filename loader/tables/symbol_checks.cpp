// SPDX-License-Identifier: Apache-2.0
// Symbols, and the two tables by which they are found.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "berth/abi/host.h"
#include "loader/tables/table_checks.hpp"

namespace berth::loader {
namespace {

constexpr std::uint32_t k_number_mask = 0x7fff;

/// False when it cannot be found safely; then that has been said.
bool check_symbol(const MappedImage& image, const SymbolTable& symbols, std::uint64_t number, TableDefects& defects) {
  const Result<Elf64_Sym> symbol = symbols.read(number);
  if (!symbol.ok()) {
    defects.push_back(symbol.error().message);
    return false;
  }
  const unsigned char type = ELF64_ST_TYPE(symbol->st_info);
  const bool is_defined = symbol->st_shndx != SHN_UNDEF;
  const bool is_called = type == STT_GNU_IFUNC || symbols.name(*symbol) == BERTH_ENTRY_SYMBOL;
  if (!is_defined || !is_called || is_code(image, symbol->st_value)) return true;
  defects.push_back(fmt::format("{} is where there is no code", type == STT_GNU_IFUNC
                                                                    ? "a symbol that chooses a function (STT_GNU_IFUNC)"
                                                                    : std::string(BERTH_ENTRY_SYMBOL)));
  return false;
}

/// Chains end with an entry whose lowest bit is set, and lie one behind the other: the last one says where all end.
void check_gnu_hash(const MappedImage& image, const SymbolTable& symbols, std::uint64_t at, TableDefects& defects) {
  const auto refuse = [&](const char* why) { defects.push_back(fmt::format("DT_GNU_HASH {}", why)); };
  const auto head = image.file_part(at, 16);
  if (!head) return refuse("is not in what is mapped of the file");
  const std::uint64_t bucket_count = element<std::uint32_t>(*head, 0), first = element<std::uint32_t>(*head, 1);
  const std::uint64_t words = element<std::uint32_t>(*head, 2), shift = element<std::uint32_t>(*head, 3);
  if (words == 0 || (words & (words - 1)) != 0) return refuse("has a filter whose size is no power of two");
  if (shift >= 32) return refuse("shifts 32 bits by more than there are");
  const std::uint64_t buckets_at = at + 16 + 8 * words, chains_at = buckets_at + 4 * bucket_count;
  const auto filter_and_buckets = image.file_part(at + 16, 8 * words + 4 * bucket_count);
  if (!filter_and_buckets) return refuse("is larger than what is mapped of the file");
  const std::span<const std::byte> buckets = filter_and_buckets->subspan(static_cast<std::size_t>(8 * words));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    const std::uint64_t chain = element<std::uint32_t>(buckets, i);
    if (chain != 0 && chain < first) return refuse("names symbols that it does not have");
    last = std::max(last, chain);
  }
  for (std::uint64_t number = first; last != 0; ++number) {
    const auto entry = image.at<std::uint32_t>(chains_at + 4 * (number - first));
    if (!entry) return refuse("has a chain without an end");
    if (!check_symbol(image, symbols, number, defects)) return;
    if (number >= last && (*entry & 1u) != 0) return;
  }
}

/// Each symbol is in one chain at most: a second visit is a circle, or a chain that runs into another.
void check_old_hash(const MappedImage& image, const SymbolTable& symbols, std::uint64_t at, TableDefects& defects) {
  const auto refuse = [&](const char* why) { defects.push_back(fmt::format("DT_HASH {}", why)); };
  const auto head = image.file_part(at, 8);
  if (!head) return refuse("is not in what is mapped of the file");
  const std::uint64_t bucket_count = element<std::uint32_t>(*head, 0), symbol_count = element<std::uint32_t>(*head, 1);
  const auto table = image.file_part(at + 8, 4 * (bucket_count + symbol_count));
  if (!table) return refuse("is larger than what is mapped of the file");
  const std::span<const std::byte> chains = table->subspan(static_cast<std::size_t>(4 * bucket_count));
  std::vector<bool> is_seen(static_cast<std::size_t>(symbol_count));
  for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
    for (std::uint32_t number = element<std::uint32_t>(*table, bucket); number != STN_UNDEF;
         number = element<std::uint32_t>(chains, number)) {
      if (number >= symbol_count) return refuse("names symbols that it does not have");
      if (is_seen[number]) return refuse("has a chain without an end");
      is_seen[number] = true;
      if (!check_symbol(image, symbols, number, defects)) return;
    }
  }
}

}  // namespace

SymbolTable::SymbolTable(const MappedImage& image, const StringTable& strings, std::uint32_t version_max)
    : image_(image),
      strings_(strings),
      table_(image.dynamic(DT_SYMTAB)),
      versions_(image.dynamic(DT_VERSYM)),
      version_max_(version_max) {}

Result<Elf64_Sym> SymbolTable::read(std::uint64_t number) const {
  const auto symbol = table_ ? image_.at<Elf64_Sym>(*table_ + number * sizeof(Elf64_Sym)) : std::nullopt;
  if (!symbol) return Error{fmt::format("symbol {} is not in what is mapped of the file", number)};
  if (!strings_.has(symbol->st_name)) return Error{fmt::format("symbol {} has no name in DT_STRTAB", number)};
  if (!versions_) return *symbol;
  const auto version = image_.at<std::uint16_t>(*versions_ + number * sizeof(std::uint16_t));
  if (version && (*version & k_number_mask) <= std::max(version_max_, 1u)) return *symbol;
  return Error{fmt::format("symbol {} has a version (DT_VERSYM) that is neither needed nor defined", number)};
}

bool is_code(const MappedImage& image, std::uint64_t address) { return image.has(address, 1, PF_X); }

void check_hashes(const MappedImage& image, const SymbolTable& symbols, TableDefects& defects) {
  if (const auto at = image.dynamic(DT_GNU_HASH)) check_gnu_hash(image, symbols, *at, defects);
  if (const auto at = image.dynamic(DT_HASH)) check_old_hash(image, symbols, *at, defects);
}

}  // namespace berth::loader
