// SPDX-License-Identifier: Apache-2.0
// The parts of a decision that run over every node or every object, one by one.
#include <benchmark/benchmark.h>

#include <memory>

#include "base/symbols.hpp"
#include "cycle/node_choice.hpp"
#include "cycle/score_rows.hpp"
#include "decode/object_decoder.hpp"
#include "model/quantity.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

constexpr std::int64_t k_nodes = 5000;

std::vector<std::int64_t> scores_of(std::size_t count) {
  std::vector<std::int64_t> scores((count + 63) / 64 * 64);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<std::int64_t>((i * 7919) % 101);
  return scores;
}

void choose_the_best_of_equals(benchmark::State& state) {
  cycle::NodeChoice choice;
  const auto totals = scores_of(static_cast<std::size_t>(state.range(0)));
  const std::span<const std::int64_t> given(totals.data(), static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(choice.best(given));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(choose_the_best_of_equals)->Arg(k_nodes)->Arg(10 * k_nodes);

void add_one_scorer(benchmark::State& state) {
  const auto scores = scores_of(static_cast<std::size_t>(state.range(0)));
  std::vector<std::int64_t> sums(scores.size(), 0);
  const std::vector<std::uint64_t> rows(scores.size() / 64, ~std::uint64_t{0});
  for (auto _ : state) benchmark::DoNotOptimize(cycle::add_weighted(rows, scores.data(), 1, sums.data()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(add_one_scorer)->Arg(k_nodes);

void read_a_quantity(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(model::Quantity::parse("1500Mi"));
}
BENCHMARK(read_a_quantity);

void find_an_interned_name(benchmark::State& state) {
  SymbolTable symbols;
  for (int i = 0; i < k_nodes; ++i) symbols.intern("node-" + std::to_string(i));
  for (auto _ : state) benchmark::DoNotOptimize(symbols.find("node-4711"));
}
BENCHMARK(find_an_interned_name);

void decode_a_pod(benchmark::State& state) {
  const std::string json =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-7d4b9c6f5-x2x7k","namespace":"shop","uid":"u-1",)"
      R"("labels":{"app":"web","tier":"front"},"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{"name":"main",)"
      R"("image":"registry.local/web:1","resources":{"requests":{"cpu":"100m","memory":"500Mi"}}}],"tolerations":[{"key":"k",)"
      R"("operator":"Exists","effect":"NoSchedule"}]},"status":{"phase":"Pending"}})";
  SymbolTable symbols;
  const decode::ObjectDecoder decoder(symbols);
  for (auto _ : state) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "pod", problems);
    benchmark::DoNotOptimize(decoder.decode(documents.front(), documents.front().root(), problems));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(json.size()));
}
BENCHMARK(decode_a_pod);

}  // namespace
}  // namespace berth::bench

BENCHMARK_MAIN();
