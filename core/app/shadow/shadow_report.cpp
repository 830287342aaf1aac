// SPDX-License-Identifier: Apache-2.0
#include "app/shadow/shadow_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "recording/record_json.hpp"
#include "report/text_table.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_shown = 20;
constexpr std::array<std::string_view, k_shadow_results> k_names{"same",     "tie",      "race",
                                                                 "sampling", "rejected", "unexplained"};
constexpr std::array<std::string_view, k_shadow_results> k_meanings{
    "the same node",
    "another node of the same score",
    "the same or a tie, about the cluster as it was a moment before or after",
    "the best of the nodes that the scheduler in charge looked at, not of all",
    "a policy here rejects the node",
    "the node fits and has a lower score here"};

double percent(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

double mean_us(const ShadowReport& shadow) {
  const std::uint64_t decisions = shadow.compared() + shadow.waiting;
  return decisions == 0 ? 0 : static_cast<double>(shadow.decision_ns) / 1e3 / static_cast<double>(decisions);
}

}  // namespace

std::string_view name_of(ShadowResult result) noexcept { return k_names[static_cast<std::size_t>(result)]; }

std::uint64_t ShadowReport::compared() const noexcept {
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

std::string shadow_text(const ShadowReport& shadow) {
  const std::uint64_t compared = shadow.compared();
  const std::uint64_t agreed = shadow.count(ShadowResult::same) + shadow.count(ShadowResult::tie);
  std::string out = fmt::format(
      "{} decision{} of the scheduler in charge in {:.0f} s; {} ({:.2f} %) come out the same "
      "or as a tie\n\n",
      compared, report::plural(compared), shadow.seconds, agreed, percent(agreed, compared));
  report::TextTable counts(
      {{"RESULT"}, {"PODS", report::TextTable::Align::right}, {"%", report::TextTable::Align::right}, {"MEANS"}});
  for (std::size_t i = 0; i < k_shadow_results; ++i)
    counts.add({std::string(k_names[i]), std::to_string(shadow.results[i]),
                fmt::format("{:.2f}", percent(shadow.results[i], compared)), std::string(k_meanings[i])});
  out += counts.render(2);
  if (shadow.waiting != 0) out += fmt::format("  {} more, whose cause is not known yet\n", shadow.waiting);
  if (shadow.cut_short != 0)
    out += fmt::format("  {} of these for want of time: not all causes were asked about\n", shadow.cut_short);
  if (shadow.not_seen_before != 0)
    out += fmt::format("  {} pod{} had a node when seen first: not compared\n", shadow.not_seen_before,
                       report::plural(shadow.not_seen_before));
  if (shadow.failed != 0)
    out += fmt::format("  {} comparison{} failed, as the log says\n", shadow.failed, report::plural(shadow.failed));
  out += fmt::format(
      "\nA decision took {:.0f} us here. The nodes of races, samples and differences have {} points less "
      "here than the best\nnodes; {} pod{} would have no node.\n",
      mean_us(shadow), shadow.score_lost, shadow.without_node, report::plural(shadow.without_node));
  if (shadow.differences.empty()) return out;
  // What needs a look comes first.
  std::vector<const ShadowDifference*> shown;
  for (const ShadowDifference& each : shadow.differences) shown.push_back(&each);
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return a->result > b->result; });
  const std::size_t all = shown.size() + shadow.differences_left_out;
  shown.resize(std::min(shown.size(), k_shown));
  out += report::table_heading(false, "Differences", all);
  report::TextTable table({{"POD"}, {"NODE"}, {"HERE"}, {"RESULT"}, {"WHY"}});
  for (const ShadowDifference* each : shown)
    table.add({each->pod, each->node, each->node_here.empty() ? "none" : each->node_here,
               std::string(name_of(each->result)), each->why});
  out += table.render(2);
  if (all > shown.size())
    out += fmt::format("  … {} more; -o json has up to {}\n", all - shown.size(), ShadowReport::k_differences_max);
  return out;
}

std::string shadow_json(const ShadowReport& shadow) {
  text::JsonWriter out;
  out.begin_object();
  out.key("seconds").raw(fmt::format("{:.3f}", shadow.seconds));
  out.key("compared").number(shadow.compared());
  out.key("results").begin_object();
  for (std::size_t i = 0; i < k_shadow_results; ++i) out.key(k_names[i]).number(shadow.results[i]);
  out.end_object();
  out.key("waiting").number(shadow.waiting);
  out.key("cutShort").number(shadow.cut_short);
  out.key("notSeenBefore").number(shadow.not_seen_before);
  out.key("failed").number(shadow.failed);
  out.key("withoutNode").number(shadow.without_node);
  out.key("scoreLost").number(shadow.score_lost);
  out.key("decisionMicroseconds").raw(fmt::format("{:.1f}", mean_us(shadow)));
  out.key("differencesLeftOut").number(shadow.differences_left_out);
  out.key("differences").begin_list();
  for (const ShadowDifference& each : shadow.differences) {
    out.begin_object();
    out.key("time").text(recording::moment_text(each.wall_ns));
    out.key("pod").text(each.pod);
    out.key("node").text(each.node);
    out.key("nodeHere").text(each.node_here);
    out.key("result").text(name_of(each.result));
    out.key("why").text(each.why);
    if (!each.plugin.empty()) out.key("plugin").text(each.plugin);
    out.key("score").number(each.score);
    out.key("bestScoreHere").number(each.best_here);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return out.take() + "\n";
}

}  // namespace berth::app
