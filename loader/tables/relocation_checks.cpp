// SPDX-License-Identifier: Apache-2.0
// What is written at which addresses before the first function runs, and which functions run first and last.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "loader/tables/table_checks.hpp"

// Absent from older elf.h.
#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif

namespace berth::loader {
namespace {

constexpr std::uint64_t k_word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t k_relr_bits = 63;  // words that one bitmap of DT_RELR speaks of

/// The numbers of the kinds that matter here, of a machine.
struct Kinds {
  std::uint32_t none, relative, chosen, copy;
  std::vector<std::uint32_t> thread;  // of thread-local storage
};

const Kinds* kinds_of(std::uint16_t machine) {
  static const Kinds x86_64{R_X86_64_NONE,
                            R_X86_64_RELATIVE,
                            R_X86_64_IRELATIVE,
                            R_X86_64_COPY,
                            {R_X86_64_DTPMOD64, R_X86_64_DTPOFF64, R_X86_64_TPOFF64, R_X86_64_TLSDESC}};
  static const Kinds aarch64{R_AARCH64_NONE,
                             R_AARCH64_RELATIVE,
                             R_AARCH64_IRELATIVE,
                             R_AARCH64_COPY,
                             {R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_DTPREL, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC}};
  if (machine == EM_X86_64) return &x86_64;
  return machine == EM_AARCH64 ? &aarch64 : nullptr;
}

/// A list of functions that are called before or after all others, word by word.
struct CallList {
  std::string_view name;
  std::uint64_t address = 0;
  std::vector<bool> is_set;  // by a relocation
};

class RelocationChecks {
 public:
  RelocationChecks(const MappedImage& image, const SymbolTable& symbols, TableDefects& defects)
      : image_(image), symbols_(symbols), defects_(defects), kinds_(kinds_of(image.header().e_machine)) {
    for (const Elf64_Phdr& segment : image.segments()) {
      has_thread_storage_ |= segment.p_type == PT_TLS && segment.p_memsz != 0;
      if (segment.p_type != PT_DYNAMIC) continue;
      dynamic_begin_ = segment.p_vaddr;
      dynamic_end_ = segment.p_vaddr + segment.p_memsz;
    }
  }

  bool run() {
    return list_calls("DT_INIT_ARRAY", DT_INIT_ARRAY, DT_INIT_ARRAYSZ) &&
           list_calls("DT_FINI_ARRAY", DT_FINI_ARRAY, DT_FINI_ARRAYSZ) && check_function("DT_INIT", DT_INIT) &&
           check_function("DT_FINI", DT_FINI) && check_packed() && check_all() && check_lazy() && check_calls();
  }

 private:
  bool stop(std::string why) {
    defects_.push_back(std::move(why));
    return false;
  }

  bool check_function(std::string_view name, std::int64_t tag) {
    const auto at = image_.dynamic(tag);
    return !at || is_code(image_, *at) || stop(fmt::format("{} is where there is no code", name));
  }

  bool list_calls(std::string_view name, std::int64_t tag, std::int64_t size_tag) {
    const auto at = image_.dynamic(tag), size = image_.dynamic(size_tag);
    if (!at) return true;
    if (!size || !image_.file_part(*at, *size))
      return stop(fmt::format("{} is not in what is mapped of the file", name));
    calls_.push_back({name, *at, std::vector<bool>(static_cast<std::size_t>(*size / k_word_bytes))});
    return true;
  }

  /// False when a function that will be called is none. `target`: the address, or none when it depends on others.
  bool set(std::uint64_t place, std::optional<std::uint64_t> target) {
    for (CallList& list : calls_) {
      if (place < list.address || place - list.address >= list.is_set.size() * k_word_bytes) continue;
      if (target && !is_code(image_, *target)) return stop(fmt::format("{} calls what is no code", list.name));
      list.is_set[static_cast<std::size_t>((place - list.address) / k_word_bytes)] = true;
    }
    return true;
  }

  /// What no relocation sets is an address that was true before the library was placed anywhere.
  bool check_calls() {
    if (kinds_ == nullptr) return true;
    for (const CallList& list : calls_)
      if (std::find(list.is_set.begin(), list.is_set.end(), false) != list.is_set.end())
        return stop(fmt::format("{} calls what no relocation has set", list.name));
    return true;
  }

  /// The dynamic linker goes on reading the dynamic section.
  bool check_place(std::uint64_t place) {
    if (!image_.has(place, 1, PF_W)) return stop("a relocation writes to where nothing may be written");
    const bool hits = place + k_word_bytes > dynamic_begin_ && place < dynamic_end_;
    return !hits || stop("a relocation writes into the dynamic section");
  }

  bool check_packed_word(std::uint64_t place) {
    if (!check_place(place)) return false;
    return set(place, image_.at<std::uint64_t>(place));
  }

  bool check_packed() {
    const auto at = image_.dynamic(DT_RELR);
    if (!at) return true;
    const auto size = image_.dynamic(DT_RELRSZ);
    const auto table = size ? image_.file_part(*at, *size) : std::nullopt;
    if (!table) return stop("DT_RELR is not in what is mapped of the file");
    if (image_.dynamic(DT_RELRENT) != k_word_bytes || table->size() % k_word_bytes != 0)
      return stop("DT_RELR is of an unknown form");
    std::optional<std::uint64_t> next;
    for (std::size_t i = 0; i < table->size() / k_word_bytes; ++i) {
      std::uint64_t entry = element<std::uint64_t>(*table, i);
      if ((entry & 1u) == 0) {
        if (!check_packed_word(entry)) return false;
        next = entry + k_word_bytes;
        continue;
      }
      if (!next) return stop("DT_RELR begins with a bitmap");
      std::uint64_t place = *next;
      for (entry >>= 1; entry != 0; entry >>= 1, place += k_word_bytes)
        if ((entry & 1u) != 0 && !check_packed_word(place)) return false;
      *next += k_relr_bits * k_word_bytes;
    }
    return true;
  }

  bool check_all() {
    const auto at = image_.dynamic(DT_RELA);
    if (!at) return true;
    const auto size = image_.dynamic(DT_RELASZ);
    if (!size || image_.dynamic(DT_RELAENT) != sizeof(Elf64_Rela)) return stop("DT_RELA is of an unknown form");
    return check_table("DT_RELA", *at, *size, image_.dynamic(DT_RELACOUNT).value_or(0));
  }

  bool check_lazy() {
    const auto kind = image_.dynamic(DT_PLTREL), at = image_.dynamic(DT_JMPREL), size = image_.dynamic(DT_PLTRELSZ);
    if (!kind && !at) return true;
    if (kind != DT_RELA || !at || !size) return stop("DT_JMPREL is of an unknown form");
    return check_table("DT_JMPREL", *at, *size, 0);
  }

  bool check_table(std::string_view name, std::uint64_t at, std::uint64_t size, std::uint64_t relative_count) {
    const auto table = image_.file_part(at, size);
    if (!table) return stop(fmt::format("{} is not in what is mapped of the file", name));
    if (size % sizeof(Elf64_Rela) != 0) return stop(fmt::format("{} ends in the middle of a relocation", name));
    for (std::size_t i = 0; i < table->size() / sizeof(Elf64_Rela); ++i) {
      const auto one = element<Elf64_Rela>(*table, i);
      const bool is_relative = kinds_ != nullptr && ELF64_R_TYPE(one.r_info) == kinds_->relative;
      if (i < relative_count && kinds_ != nullptr && !is_relative)
        return stop("DT_RELACOUNT counts relocations that are not relative");
      if (!check_one(one)) return false;
    }
    return true;
  }

  bool check_one(const Elf64_Rela& one) {
    const std::uint32_t type = ELF64_R_TYPE(one.r_info);
    const std::uint64_t number = ELF64_R_SYM(one.r_info);
    if (kinds_ != nullptr && type == kinds_->none) return true;
    if (!check_place(one.r_offset)) return false;
    const Result<Elf64_Sym> symbol = number == 0 ? Elf64_Sym{} : symbols_.read(number);
    if (!symbol.ok()) return stop("a relocation's " + symbol.error().message);
    if (kinds_ == nullptr) return true;
    const auto target = static_cast<std::uint64_t>(one.r_addend);
    if (type == kinds_->chosen && !is_code(image_, target)) return stop("a relocation calls what is no code");
    if (type == kinds_->copy) return stop("a relocation copies as only a program may");
    const bool is_own = number == 0 || symbol->st_shndx != SHN_UNDEF;
    const bool is_thread = std::find(kinds_->thread.begin(), kinds_->thread.end(), type) != kinds_->thread.end();
    if (is_thread && is_own && !has_thread_storage_)
      return stop("a relocation is about thread-local storage, of which the file has none");
    if (is_own && number != 0 && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && !is_code(image_, symbol->st_value))
      return stop("a relocation calls what is no code");
    return set(one.r_offset, type == kinds_->relative ? std::optional(target) : std::nullopt);
  }

  const MappedImage& image_;
  const SymbolTable& symbols_;
  TableDefects& defects_;
  const Kinds* const kinds_;
  bool has_thread_storage_ = false;
  std::uint64_t dynamic_begin_ = 0, dynamic_end_ = 0;
  std::vector<CallList> calls_;
};

}  // namespace

void check_relocations(const MappedImage& image, const SymbolTable& symbols, TableDefects& defects) {
  RelocationChecks(image, symbols, defects).run();
}

}  // namespace berth::loader
