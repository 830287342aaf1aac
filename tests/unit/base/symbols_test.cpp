// SPDX-License-Identifier: Apache-2.0
#include "base/symbols.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace berth {
namespace {

/// Small enough that symbols without a use are soon forgotten.
constexpr SymbolLimits k_small{1 << 16, std::size_t{1} << 30, 4096, 4096, 64};

std::string name_of(int i) { return "a-label-value-of-some-length-" + std::to_string(i); }

/// Objects of one symbol each that are gone at once, which is what makes the table forget.
void intern_short_lived(SymbolTable& symbols, int count) {
  for (int i = 0; i < count; ++i) {
    SymbolCollection object(symbols);
    symbols.intern(name_of(i));
  }
}

TEST(Symbols, OfEqualTextsAreEqual) {
  SymbolTable symbols;
  const Symbol a = symbols.intern("a");
  EXPECT_EQ(symbols.intern("a"), a);
  EXPECT_EQ(symbols.find("a"), a);
  EXPECT_NE(symbols.intern("b"), a);
  EXPECT_EQ(symbols.text(a), "a");
  EXPECT_EQ(symbols.find("c"), k_no_symbol);
  EXPECT_EQ(symbols.intern(""), k_empty_symbol);
  EXPECT_EQ(symbols.text(k_no_symbol), "");
}

TEST(Symbols, OfObjectsThatAreGoneAreForgotten) {
  SymbolTable symbols(k_small);
  std::size_t bytes_after_warm_up = 0;
  for (int i = 0; i < 20'000; ++i) {
    SymbolCollection object(symbols);
    symbols.intern(name_of(i));
    const SymbolHold hold = object.take();
    if (i == 2000) bytes_after_warm_up = symbols.size().bytes;
  }
  EXPECT_LE(symbols.size().bytes, bytes_after_warm_up);
  EXPECT_LE(symbols.size().unused_bytes, k_small.unused_bytes);
  EXPECT_EQ(symbols.find(name_of(0)), k_no_symbol);
}

TEST(Symbols, StayAsLongAsTheirObject) {
  SymbolTable symbols(k_small);
  SymbolHold hold;
  Symbol kept = 0, own = 0;
  {
    SymbolCollection object(symbols);
    kept = symbols.intern("kept");
    symbols.intern("kept");
    own = symbols.intern("own");
    hold = object.take(own);
  }
  ASSERT_EQ(hold.list().size(), 1u) << "each symbol once, and not its own";
  EXPECT_EQ(hold.list()[0], kept);
  SymbolHold copy = hold;
  hold = {};
  intern_short_lived(symbols, 1000);
  EXPECT_EQ(symbols.find("kept"), kept);
  EXPECT_EQ(symbols.text(kept), "kept");
  EXPECT_EQ(symbols.text(own), "own");
  copy = {};
  intern_short_lived(symbols, 1000);
  EXPECT_EQ(symbols.find("kept"), k_no_symbol);
  EXPECT_EQ(symbols.find("own"), k_no_symbol);
}

TEST(Symbols, ThatAreUsedAgainSoonKeepTheirNumber) {
  SymbolTable symbols(k_small);
  Symbol first = 0;
  for (int i = 0; i < 3; ++i) {
    SymbolCollection object(symbols);
    const Symbol symbol = symbols.intern("job-7");
    if (first == 0) first = symbol;
    EXPECT_EQ(symbol, first);
  }
}

TEST(Symbols, OfConfigurationsStayForEver) {
  SymbolTable symbols(k_small);
  const Symbol before = symbols.intern("before");
  {
    SymbolCollection object(symbols);
    symbols.intern("before");
    symbols.intern("after");
  }
  const Symbol after = symbols.intern("after");  // known from an object; from now on its own
  intern_short_lived(symbols, 2000);
  EXPECT_EQ(symbols.find("before"), before);
  EXPECT_EQ(symbols.find("after"), after);
}

TEST(Symbols, AreNotGivenOutAgainWithinAGeneration) {
  SymbolTable symbols(k_small);
  std::vector<std::pair<std::uint64_t, std::string>> meaning(1 << 16);  // by number: when and what
  for (int i = 0; i < 5000; ++i) {
    SymbolCollection object(symbols);
    const std::uint64_t now = symbols.generation();
    const Symbol symbol = symbols.intern(name_of(i));
    auto& [when, text] = meaning[symbol];
    EXPECT_TRUE(text.empty() || when < now) << symbol << " meant " << text << " and means " << name_of(i);
    meaning[symbol] = {now, name_of(i)};
  }
  EXPECT_GT(symbols.generation(), 3u);
}

TEST(Symbols, ThatAPluginPinsStayUntilItUnpinsThem) {
  SymbolTable symbols(k_small);
  Symbol pinned = 0;
  {
    SymbolCollection object(symbols);
    pinned = symbols.intern("pinned");
    symbols.pin(pinned);
    symbols.pin(pinned);
  }
  EXPECT_EQ(symbols.size().pinned_symbols, 1u);
  intern_short_lived(symbols, 1000);
  EXPECT_EQ(symbols.find("pinned"), pinned);
  symbols.unpin(pinned);
  intern_short_lived(symbols, 1000);
  EXPECT_EQ(symbols.find("pinned"), pinned) << "pinned twice";
  symbols.unpin(pinned);
  symbols.unpin(pinned);  // once too often: nothing happens
  EXPECT_EQ(symbols.size().pinned_bytes, 0u);
  intern_short_lived(symbols, 1000);
  EXPECT_EQ(symbols.find("pinned"), k_no_symbol);
  symbols.pin(60'000);  // no such symbol
}

TEST(Symbols, ThatAPluginLooksForStayForAWhile) {
  SymbolTable symbols(k_small);
  const Symbol recent = symbols.intern_recent("recent");
  for (int i = 0; i < 10; ++i) symbols.intern_recent(name_of(i));
  for (int i = 0; i < 1000; ++i) {
    SymbolCollection object(symbols);
    symbols.intern(name_of(i + 100));
  }
  EXPECT_EQ(symbols.find("recent"), recent);
  const std::size_t before = symbols.size().bytes;
  for (int i = 0; i < 50'000; ++i) symbols.intern_recent(name_of(i));
  EXPECT_LE(symbols.size().bytes, before + 4 * (k_small.recent_bytes + k_small.unused_bytes) + 200'000);
  EXPECT_EQ(symbols.find("recent"), k_no_symbol);
}

TEST(Symbols, BeyondTheLimitAreRefusedByName) {
  SymbolLimits limits = k_small;
  limits.symbols = 100;
  SymbolTable symbols(limits);
  SymbolCollection object(symbols);
  try {
    for (int i = 0; i < 200; ++i) symbols.intern(name_of(i));
    FAIL() << "200 symbols in a table of 100";
  } catch (const SymbolTableFull& full) {
    EXPECT_STREQ(full.what(), "more than 100 distinct strings are in use at once");
  }
  EXPECT_EQ(symbols.text(symbols.find(name_of(7))), name_of(7)) << "those before it are as they were";
  object.take();
  EXPECT_NE(symbols.intern("room again"), k_no_symbol);
}

TEST(Symbols, OutliveTheirTableWhileSomethingHoldsThem) {
  SymbolHold hold;
  {
    SymbolTable symbols(k_small);
    SymbolCollection object(symbols);
    symbols.intern("held");
    hold = object.take();
  }
  EXPECT_EQ(hold.list().size(), 1u);
  hold = {};
}

TEST(Symbols, AreCountedRightByManyThreads) {
  SymbolTable symbols(k_small);
  SymbolHold shared;
  {
    SymbolCollection object(symbols);
    symbols.intern("shared");
    shared = object.take();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        SymbolCollection object(symbols);
        const Symbol common = symbols.intern(name_of(i % 50));
        const Symbol mine = symbols.intern(name_of(1000 + t * 10'000 + i));
        const SymbolHold hold = object.take(mine);
        const SymbolHold copy = hold, other = shared;
        EXPECT_EQ(symbols.text(common), name_of(i % 50));
        EXPECT_EQ(symbols.text(mine), name_of(1000 + t * 10'000 + i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(symbols.text(shared.list()[0]), "shared");
  EXPECT_LE(symbols.size().unused_bytes, k_small.unused_bytes);
}

}  // namespace
}  // namespace berth
