// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// An interned string: equal symbols iff equal strings. 0 means "absent"; k_empty_symbol is the empty string.
/// The same numbers cross the plugin ABI as berth_id.
using Symbol = std::uint32_t;
inline constexpr Symbol k_no_symbol = 0;
inline constexpr Symbol k_empty_symbol = 1;

/// Too many strings are in use at once. Names the limit; the object or request that brought the next one is refused.
struct SymbolTableFull : std::length_error {
  using std::length_error::length_error;
};

struct SymbolLimits {
  std::size_t symbols = std::size_t{1} << 26;               // in use at once
  std::size_t bytes = std::size_t{8} << 30;                 // of text and its upkeep, in use at once
  std::size_t unused_bytes = std::size_t{2} << 20;          // kept without a use, in case they come back
  std::size_t recent_bytes = std::size_t{512} << 10;        // per generation of what plugins intern after create()
  std::size_t numbers_before_reuse = std::size_t{1} << 15;  // a number comes back after so many others were given back
};

struct SymbolTableSize {
  std::size_t symbols = 0;         // numbers that have a text, also those without a use
  std::size_t bytes = 0;           // their texts and upkeep
  std::size_t unused_bytes = 0;    // of symbols without a use
  std::size_t pinned_symbols = 0;  // by plugins
  std::size_t pinned_bytes = 0;
};

/// Turns strings into symbols so that nothing on a hot path compares text.
///
/// Lifetime: a symbol keeps its number and text while it is held. intern() outside of a SymbolCollection holds it
///           for the life of the table: that is for names out of configurations and programs. What comes from API
///           objects is interned inside a SymbolCollection and held by the object (SymbolHold). What is not held is
///           forgotten once there is more than `unused_bytes` of it; its number is given out again only after many
///           others (see generation()). text() is good while the symbol is.
/// Threads:  synchronises itself; text() takes no lock.
/// Failure:  throws SymbolTableFull at its limits and changes nothing.
class SymbolTable {
 public:
  explicit SymbolTable(SymbolLimits limits = {});
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  Symbol intern(std::string_view text);
  /// The symbol stays at least until `recent_bytes` of others were interned in this way. For what plugins look for.
  Symbol intern_recent(std::string_view text);
  /// The symbol of `text`, or 0 when it was not interned.
  Symbol find(std::string_view text) const;
  /// Requires: symbol came from this table and is held, or is 0 (empty view).
  std::string_view text(Symbol symbol) const noexcept;

  /// Holds a symbol once more, or once less. Requires for retain(): it is held, or was interned just now by this
  /// thread's SymbolCollection.
  void retain(Symbol symbol) noexcept;
  void release(Symbol symbol) noexcept;
  /// retain() and release() for plugins: an unpin without its pin does nothing, neither does a symbol that is not there.
  void pin(Symbol symbol);
  void unpin(Symbol symbol);

  /// Callers that remember symbols without holding them forget them when this changes: it grows before a number that was
  /// in use at the last change is given out again.
  std::uint64_t generation() const noexcept;
  SymbolTableSize size() const;

 private:
  friend class SymbolCollection;
  friend class SymbolHold;
  struct Core;
  Core* core_;  // goes when the table and all holds are gone
};

/// Symbols that an object holds as long as it lives: a list, which equal objects can share, and one of its own.
/// Copies hold them too. Threads: as a shared_ptr.
class SymbolHold {
 public:
  SymbolHold() noexcept = default;
  SymbolHold(const SymbolHold& other) noexcept;
  SymbolHold(SymbolHold&& other) noexcept
      : list_(std::exchange(other.list_, nullptr)), own_(std::exchange(other.own_, k_no_symbol)) {}
  SymbolHold& operator=(SymbolHold other) noexcept {
    std::swap(list_, other.list_);
    std::swap(own_, other.own_);
    return *this;
  }
  ~SymbolHold() {
    if (list_ != nullptr) drop();
  }
  /// The shared list, without the own symbol.
  std::span<const Symbol> list() const noexcept;
  bool is_none() const noexcept { return list_ == nullptr; }
  /// What the shared list keeps in memory: itself, and its texts with their upkeep.
  std::size_t list_bytes() const noexcept;
  /// list_bytes() by the number of those that share the list.
  std::size_t share_of_list_bytes() const noexcept;
  /// Takes the other's copy of an equal list.
  void share(const SymbolHold& equal) noexcept;
  /// Holds the list alone.
  SymbolHold without_own() const noexcept;

 private:
  friend class SymbolCollection;
  struct List;
  void drop() noexcept;
  List* list_ = nullptr;      // null: nothing is held, own_ included
  Symbol own_ = k_no_symbol;  // 0: none
};

/// What one thread interns while this lives is held by it, and then by what takes it, instead of for ever.
/// Threads: the one that made it; collections of a thread nest.
class SymbolCollection {
 public:
  explicit SymbolCollection(SymbolTable& symbols);
  ~SymbolCollection();
  SymbolCollection(const SymbolCollection&) = delete;
  SymbolCollection& operator=(const SymbolCollection&) = delete;
  /// Hands over what was interned so far. `own` is kept apart from the list, so that objects that differ in it alone can
  /// share the list.
  SymbolHold take(Symbol own = k_no_symbol);

 private:
  friend class SymbolTable;
  SymbolTable::Core* core_;
  SymbolCollection* outer_;
  std::vector<Symbol>* symbols_;  // the thread's; from first_ on
  std::size_t first_;
};

}  // namespace berth
