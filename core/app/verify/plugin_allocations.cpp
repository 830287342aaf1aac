// SPDX-License-Identifier: Apache-2.0
#include "app/verify/plugin_allocations.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "app/verify/awkward_clusters.hpp"
#include "app/verify/heap_calls.hpp"
#include "loader/findings.hpp"
#include "observe/call_counters.hpp"

namespace berth::app {
namespace {

// What is allocated once, when a buffer grows or a table is filled, is not what a call costs.
constexpr std::size_t k_warm_rounds = 8;

double ratio(std::uint64_t part, std::uint64_t of) noexcept {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

double PointAllocations::per_attempt() const noexcept { return ratio(allocations, attempts); }
double PointAllocations::per_call() const noexcept { return ratio(allocations, calls); }
double PointAllocations::bytes_per_call() const noexcept { return ratio(bytes, calls); }

std::string to_text(const std::vector<PointAllocations>& points) {
  const bool is_one = std::all_of(points.begin(), points.end(),
                                  [&](const PointAllocations& at) { return at.plugin == points.front().plugin; });
  std::string text;
  const std::string* plugin = nullptr;
  for (const PointAllocations& at : points) {
    const bool is_new = plugin == nullptr || *plugin != at.plugin;
    text += plugin == nullptr ? "" : is_new ? "; " : ", ";
    if (is_new && !is_one) text += at.plugin + ": ";
    plugin = &at.plugin;
    // A hundredth of an allocation is one in a hundred calls, and said.
    const double times = std::round(at.per_call() * 100) / 100;
    text += times == 0 ? at.point + " 0" : fmt::format("{} {:g} ({:.0f} bytes)", at.point, times, at.bytes_per_call());
  }
  return points.empty() ? "no point is called" : text;
}

namespace {
std::string why_not_counted(const Error& error) {
  return loader::escaped(error.message.empty() ? "the process that counts said nothing" : error.message, 500);
}
}  // namespace

std::string to_text(const Result<std::vector<PointAllocations>>& points) {
  return points.ok() ? to_text(*points) : "not counted: " + why_not_counted(points.error());
}

void write_allocations(const Result<std::vector<PointAllocations>>& points, text::JsonWriter& json) {
  if (!points.ok()) {
    json.key("allocations").null();
    json.key("allocationsNotCounted").text(why_not_counted(points.error()));
    return;
  }
  json.key("allocations").begin_list();
  for (const PointAllocations& at : *points) {
    json.begin_object().key("plugin").text(at.plugin).key("point").text(at.point).key("calls").number(at.calls);
    json.key("perCall").raw(fmt::format("{:.3f}", at.per_call()));
    json.key("bytesPerCall").raw(fmt::format("{:.1f}", at.bytes_per_call())).end_object();
  }
  json.end_list();
}

Result<std::vector<PointAllocations>> measure_allocations(const TestedPlugins& tested, std::size_t nodes,
                                                          std::size_t rounds) {
  auto made = PluginUnderTest::make(tested, {.reuse = config::VerdictReuse::off});
  if (!made.ok()) return made.error();
  const std::vector<model::PodPtr> pods = (*made)->put(mixed_nodes(nodes) + mixed_pods(4));
  (*made)->simulation().take_in();
  const auto attempt = [&](std::size_t times) {
    for (std::size_t round = 0; round < times; ++round)
      for (const model::PodPtr& pod : pods) (*made)->scheduler().try_pod(pod, [](const cycle::Attempt&) {});
  };
  attempt(k_warm_rounds);
  const observe::CallCounters& counters = (*made)->scheduler().views().counters;
  const std::vector<observe::CallTotal> before = counters.totals();
  if (const Status counting = count_heap_calls(); !counting.ok()) return counting.error();
  const std::size_t counted = std::max<std::size_t>(rounds, 1);
  attempt(counted);
  const std::vector<HeapCalls> heap = heap_calls();
  std::vector<PointAllocations> all;
  for (const observe::CallTotal& total : counters.totals()) {
    if (!tested.has(total.plugin)) continue;
    const auto is_same = [&](const auto& each) { return each.plugin == total.plugin && each.point == total.point; };
    const auto earlier = std::find_if(before.begin(), before.end(), is_same);
    const std::uint64_t calls = total.calls - (earlier == before.end() ? 0 : earlier->calls);
    if (calls == 0) continue;
    const auto asked = std::find_if(heap.begin(), heap.end(), is_same);
    all.push_back({total.plugin, total.point, counted * pods.size(), calls,
                   asked == heap.end() ? 0 : asked->allocations, asked == heap.end() ? 0 : asked->bytes});
  }
  return all;
}

}  // namespace berth::app
