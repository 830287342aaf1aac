// SPDX-License-Identifier: Apache-2.0
#include "base/symbols.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <new>

#include "base/check.hpp"
#include "base/guarded.hpp"
#include "base/text_hash.hpp"

namespace berth {
namespace {

constexpr std::size_t k_chunk_bits = 12;
constexpr std::size_t k_chunk_size = std::size_t{1} << k_chunk_bits;
constexpr std::size_t k_symbol_upkeep_bytes = 72;  // entry, index and the text's block, without the text

constexpr std::uint32_t k_for_ever = 1u << 31;  // in Entry::holders: held for the life of the table, never given back
constexpr std::uint32_t k_waits = 1u << 30;     // in Entry::holders: stands in Core::unused
constexpr std::uint32_t k_count = k_waits - 1;
constexpr std::uint32_t k_too_many_holders = 1u << 29;

thread_local SymbolCollection* t_collection = nullptr;
thread_local std::vector<Symbol> t_collected;

}  // namespace

struct SymbolTable::Core {
  struct Entry {
    std::string_view text;  // data() is null: the number is free
    std::atomic<std::uint32_t> holders{0};
  };

  explicit Core(SymbolLimits of) : limits(of), chunks(new std::atomic<Entry*>[chunk_count()]()) {}
  ~Core() {
    for (std::size_t i = 0; i < chunk_count(); ++i) {
      Entry* const chunk = chunks[i].load(std::memory_order_relaxed);
      if (chunk == nullptr) continue;
      for (std::size_t k = 0; k < k_chunk_size; ++k) delete[] chunk[k].text.data();
      delete[] chunk;
    }
  }

  std::size_t chunk_count() const noexcept {
    return ((limits.symbols + limits.numbers_before_reuse) >> k_chunk_bits) + 1;
  }
  Entry& at(Symbol symbol) const noexcept {
    return chunks[symbol >> k_chunk_bits].load(std::memory_order_acquire)[symbol & (k_chunk_size - 1)];
  }
  static std::size_t bytes_of(const Entry& entry) noexcept { return entry.text.size() + k_symbol_upkeep_bytes; }

  /// 0 when it is not there.
  Symbol lookup(std::string_view text) const REQUIRES_SHARED(mutex) {
    const auto it = by_text.find(text);
    return it == by_text.end() ? k_no_symbol : it->second;
  }
  /// Requires: the lock, shared at least: nothing is forgotten meanwhile. True when it has to be given back.
  static bool hold(Entry& entry) noexcept {
    if ((entry.holders.load(std::memory_order_relaxed) & k_for_ever) != 0) return false;
    if ((entry.holders.fetch_add(1, std::memory_order_relaxed) & k_count) >= k_too_many_holders)
      entry.holders.fetch_or(k_for_ever, std::memory_order_relaxed);
    return true;
  }
  /// True when it has no holder left: it is to be retired.
  static bool let_go(Entry& entry) noexcept {
    if ((entry.holders.load(std::memory_order_relaxed) & k_for_ever) != 0) return false;
    return (entry.holders.fetch_sub(1, std::memory_order_acq_rel) & (k_count | k_for_ever)) == 1;
  }

  Symbol add(std::string_view text) REQUIRES(mutex);
  void retire(std::span<const Symbol> symbols) noexcept;
  void forget_beyond(std::size_t bytes) REQUIRES(mutex);
  Symbol next_number() REQUIRES(mutex);
  void drop_user() noexcept {
    if (users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const SymbolLimits limits;
  std::atomic<std::size_t> users{1};  // the table and each SymbolHold::List
  mutable SharedMutex mutex;
  boost::unordered_flat_map<std::string_view, Symbol, TextHash> by_text GUARDED_BY(mutex);
  std::unique_ptr<std::atomic<Entry*>[]> chunks;  // of published texts
  std::atomic<std::size_t> end{1};                // numbers from here on were never given out
  std::deque<Symbol> free GUARDED_BY(mutex);      // numbers without a text, oldest first
  std::uint64_t forgotten GUARDED_BY(mutex) = 0;
  std::atomic<std::uint64_t> generation{1};
  std::size_t bytes GUARDED_BY(mutex) = 0;
  std::deque<Symbol> unused GUARDED_BY(mutex);  // oldest first; some are in use again
  std::size_t unused_bytes GUARDED_BY(mutex) = 0;
  boost::unordered_flat_map<Symbol, std::uint32_t> pinned GUARDED_BY(mutex);
  std::size_t pinned_bytes GUARDED_BY(mutex) = 0;
  boost::unordered_flat_set<Symbol> recent GUARDED_BY(mutex), recent_before GUARDED_BY(mutex);
  std::size_t recent_bytes GUARDED_BY(mutex) = 0;
};

/// The oldest of the free numbers once there are enough of them, else a new one.
Symbol SymbolTable::Core::next_number() {
  const std::size_t fresh = end.load(std::memory_order_relaxed);
  if (free.size() <= limits.numbers_before_reuse && fresh < limits.symbols + limits.numbers_before_reuse)
    return static_cast<Symbol>(fresh);
  const Symbol number = free.front();
  free.pop_front();
  return number;
}

Symbol SymbolTable::Core::add(std::string_view text) {
  if (by_text.size() + 1 >= limits.symbols || bytes + text.size() > limits.bytes) forget_beyond(0);
  if (by_text.size() + 1 >= limits.symbols)
    throw SymbolTableFull(fmt::format("more than {} distinct strings are in use at once", limits.symbols));
  if (bytes + text.size() > limits.bytes)
    throw SymbolTableFull(fmt::format("the strings in use need more than {} bytes", limits.bytes));
  const Symbol number = next_number();
  std::atomic<Entry*>& chunk = chunks[number >> k_chunk_bits];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Entry[k_chunk_size], std::memory_order_release);
  char* const copy = new char[text.size() + 1];
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  Entry& entry = at(number);
  entry.text = {copy, text.size()};
  entry.holders.store(0, std::memory_order_relaxed);
  if (number >= end.load(std::memory_order_relaxed)) end.store(number + 1, std::memory_order_release);
  by_text.emplace(entry.text, number);
  bytes += bytes_of(entry);
  return number;
}

/// Requires: no lock.
void SymbolTable::Core::retire(std::span<const Symbol> symbols) noexcept {
  const WriteLock lock(mutex);
  for (const Symbol symbol : symbols) {
    Entry& entry = at(symbol);
    // Another thread may have interned it meanwhile, or it may have died and waits already.
    if (entry.text.data() == nullptr || entry.holders.load(std::memory_order_acquire) != 0) continue;
    entry.holders.store(k_waits, std::memory_order_relaxed);
    unused.push_back(symbol);
    unused_bytes += bytes_of(entry);
  }
  forget_beyond(limits.unused_bytes);
}

void SymbolTable::Core::forget_beyond(std::size_t kept_bytes) {
  while (unused_bytes > kept_bytes && !unused.empty()) {
    const Symbol symbol = unused.front();
    unused.pop_front();
    Entry& entry = at(symbol);
    unused_bytes -= bytes_of(entry);
    // The holder that lets go of it from now on retires it again.
    if (entry.holders.fetch_and(~k_waits, std::memory_order_acq_rel) != k_waits) continue;
    bytes -= bytes_of(entry);
    by_text.erase(entry.text);
    delete[] entry.text.data();
    entry.text = {};
    free.push_back(symbol);
    // A number waits for numbers_before_reuse others: for two generations.
    if (++forgotten % (limits.numbers_before_reuse / 2) == 0) generation.fetch_add(1, std::memory_order_release);
  }
}

SymbolTable::SymbolTable(SymbolLimits limits) : core_(new Core(limits)) {
  const Symbol empty = intern("");
  BERTH_CHECK(empty == k_empty_symbol, "the empty string has symbol {}", empty);
}

SymbolTable::~SymbolTable() { core_->drop_user(); }

Symbol SymbolTable::find(std::string_view text) const {
  const ReadLock lock(core_->mutex);
  return core_->lookup(text);
}

Symbol SymbolTable::intern(std::string_view text) {
  SymbolCollection* const collection = t_collection;
  const bool collects = collection != nullptr && collection->core_ == core_;
  const auto keep = [&](Symbol symbol) {
    Core::Entry& entry = core_->at(symbol);
    if (collects) {
      if (Core::hold(entry)) t_collected.push_back(symbol);
    } else if ((entry.holders.load(std::memory_order_relaxed) & k_for_ever) == 0) {
      entry.holders.fetch_or(k_for_ever, std::memory_order_relaxed);
    }
    return symbol;
  };
  // So that what is held is noted: push_back does not throw.
  if (collects && t_collected.size() == t_collected.capacity()) t_collected.reserve(2 * t_collected.size() + 64);
  {
    const ReadLock lock(core_->mutex);
    if (const Symbol known = core_->lookup(text)) return keep(known);
  }
  const WriteLock lock(core_->mutex);
  if (const Symbol known = core_->lookup(text)) return keep(known);
  return keep(core_->add(text));
}

Symbol SymbolTable::intern_recent(std::string_view text) {
  {
    const ReadLock lock(core_->mutex);
    const Symbol known = core_->lookup(text);
    if (known != k_no_symbol &&
        ((core_->at(known).holders.load(std::memory_order_relaxed) & k_for_ever) != 0 || core_->recent.contains(known)))
      return known;
  }
  std::vector<Symbol> let_go;
  Symbol symbol;
  {
    Core& core = *core_;
    const WriteLock lock(core.mutex);
    symbol = core.lookup(text);
    if (symbol == k_no_symbol) symbol = core.add(text);
    Core::Entry& entry = core.at(symbol);
    if (!core.recent.insert(symbol).second) return symbol;
    Core::hold(entry);
    core.recent_bytes += Core::bytes_of(entry);
    if (core.recent_bytes > core.limits.recent_bytes) {
      for (const Symbol old : core.recent_before)
        if (Core::let_go(core.at(old))) let_go.push_back(old);
      core.recent_before = std::exchange(core.recent, {});
      core.recent_bytes = 0;
    }
  }
  if (!let_go.empty()) core_->retire(let_go);
  return symbol;
}

std::string_view SymbolTable::text(Symbol symbol) const noexcept {
  if (symbol == k_no_symbol || symbol >= core_->end.load(std::memory_order_acquire)) return {};
  const std::atomic<Core::Entry*>& chunk = core_->chunks[symbol >> k_chunk_bits];
  const Core::Entry* const entries = chunk.load(std::memory_order_acquire);
  return entries == nullptr ? std::string_view() : entries[symbol & (k_chunk_size - 1)].text;
}

void SymbolTable::retain(Symbol symbol) noexcept {
  if (symbol != k_no_symbol) Core::hold(core_->at(symbol));
}

void SymbolTable::release(Symbol symbol) noexcept {
  if (symbol != k_no_symbol && Core::let_go(core_->at(symbol))) core_->retire({&symbol, 1});
}

void SymbolTable::pin(Symbol symbol) {
  if (symbol == k_no_symbol || symbol >= core_->end.load(std::memory_order_acquire)) return;
  const WriteLock lock(core_->mutex);
  Core::Entry& entry = core_->at(symbol);
  // Plugins may name what they do not hold: only under the lock is it known whether it is still there.
  if (entry.text.data() == nullptr) return;
  if (++core_->pinned[symbol] != 1) return;
  Core::hold(entry);
  core_->pinned_bytes += Core::bytes_of(entry);
}

void SymbolTable::unpin(Symbol symbol) {
  {
    const WriteLock lock(core_->mutex);
    const auto at = core_->pinned.find(symbol);
    if (at == core_->pinned.end() || --at->second != 0) return;
    core_->pinned.erase(at);
    core_->pinned_bytes -= Core::bytes_of(core_->at(symbol));
  }
  release(symbol);
}

std::uint64_t SymbolTable::generation() const noexcept { return core_->generation.load(std::memory_order_acquire); }

SymbolTableSize SymbolTable::size() const {
  const Core& core = *core_;
  const ReadLock lock(core.mutex);
  const std::size_t entries =
      ((core.end.load(std::memory_order_relaxed) >> k_chunk_bits) + 1) * k_chunk_size * sizeof(Core::Entry);
  return {core.by_text.size(), core.bytes + entries + core.free.size() * sizeof(Symbol), core.unused_bytes,
          core.pinned.size(), core.pinned_bytes};
}

struct SymbolHold::List {
  SymbolTable::Core* core;
  std::atomic<std::uint32_t> owners;
  std::uint32_t count;
  std::uint32_t text_bytes;  // of the texts, with their upkeep
  // `count` symbols follow.
  Symbol* symbols() noexcept { return reinterpret_cast<Symbol*>(this + 1); }
};

SymbolHold::SymbolHold(const SymbolHold& other) noexcept : list_(other.list_), own_(other.own_) {
  if (list_ == nullptr) return;
  list_->owners.fetch_add(1, std::memory_order_relaxed);
  if (own_ != k_no_symbol) SymbolTable::Core::hold(list_->core->at(own_));
}

std::span<const Symbol> SymbolHold::list() const noexcept {
  return list_ == nullptr ? std::span<const Symbol>() : std::span<const Symbol>(list_->symbols(), list_->count);
}

std::size_t SymbolHold::list_bytes() const noexcept {
  return list_ == nullptr ? 0 : sizeof(List) + list_->count * sizeof(Symbol) + list_->text_bytes;
}

std::size_t SymbolHold::share_of_list_bytes() const noexcept {
  return list_ == nullptr ? 0 : list_bytes() / std::max(list_->owners.load(std::memory_order_relaxed), 1U);
}

void SymbolHold::share(const SymbolHold& equal) noexcept {
  if (list_ == equal.list_ || list_ == nullptr || equal.list_ == nullptr) return;
  SymbolHold own_list;
  own_list.list_ = std::exchange(list_, equal.list_);
  list_->owners.fetch_add(1, std::memory_order_relaxed);
}

SymbolHold SymbolHold::without_own() const noexcept {
  SymbolHold out;
  out.list_ = list_;
  if (list_ != nullptr) list_->owners.fetch_add(1, std::memory_order_relaxed);
  return out;
}

void SymbolHold::drop() noexcept {
  SymbolTable::Core* const core = list_->core;
  if (own_ != k_no_symbol && SymbolTable::Core::let_go(core->at(own_))) core->retire({&own_, 1});
  if (list_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::span<Symbol> symbols(list_->symbols(), list_->count);
  const auto unheld = std::partition(symbols.begin(), symbols.end(),
                                     [&](Symbol symbol) { return SymbolTable::Core::let_go(core->at(symbol)); });
  if (unheld != symbols.begin()) core->retire(std::span<const Symbol>(symbols.begin(), unheld));
  std::destroy_at(list_);
  ::operator delete(list_);
  core->drop_user();
}

SymbolCollection::SymbolCollection(SymbolTable& symbols)
    : core_(symbols.core_),
      outer_(std::exchange(t_collection, this)),
      symbols_(&t_collected),
      first_(t_collected.size()) {}

SymbolCollection::~SymbolCollection() {
  std::vector<Symbol> unheld;
  for (std::size_t i = first_; i < symbols_->size(); ++i)
    if (SymbolTable::Core::let_go(core_->at((*symbols_)[i]))) unheld.push_back((*symbols_)[i]);
  symbols_->resize(first_);
  t_collection = outer_;
  if (!unheld.empty()) core_->retire(unheld);
}

SymbolHold SymbolCollection::take(Symbol own) {
  SymbolHold hold;
  const auto first = symbols_->begin() + static_cast<std::ptrdiff_t>(first_);
  std::sort(first, symbols_->end());
  // Each is held once by the list; other times are given back, which leaves one.
  auto kept = first;
  bool holds_own = false;
  for (auto at = first; at != symbols_->end(); ++at) {
    const bool again = kept != first && *(kept - 1) == *at;
    if (*at == own && !holds_own)
      holds_own = true;  // goes over from here
    else if (again || *at == own)
      SymbolTable::Core::let_go(core_->at(*at));
    else
      *kept++ = *at;
  }
  symbols_->erase(kept, symbols_->end());
  const auto count = static_cast<std::size_t>(kept - first);
  if (count == 0 && !holds_own) return hold;
  void* const memory = ::operator new(sizeof(SymbolHold::List) + count * sizeof(Symbol));
  std::size_t text_bytes = 0;
  for (auto at = first; at != kept; ++at) text_bytes += SymbolTable::Core::bytes_of(core_->at(*at));
  auto* const list = new (memory) SymbolHold::List{
      core_, 1, static_cast<std::uint32_t>(count),
      static_cast<std::uint32_t>(std::min<std::size_t>(text_bytes, std::numeric_limits<std::uint32_t>::max()))};
  std::copy(first, kept, list->symbols());
  core_->users.fetch_add(1, std::memory_order_relaxed);
  symbols_->resize(first_);
  hold.list_ = list;
  hold.own_ = holds_own ? own : k_no_symbol;
  return hold;
}

}  // namespace berth
