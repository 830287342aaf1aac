// SPDX-License-Identifier: Apache-2.0
#include "report/report_text.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <numeric>
#include <ostream>
#include <tuple>

#include "report/device_tables.hpp"
#include "report/text_table.hpp"

namespace berth::report {
namespace {

using Column = TextTable::Column;
constexpr auto k_right_aligned = TextTable::Align::right;
constexpr std::size_t k_bar_cells = 10;
constexpr std::size_t k_ephemeral_storage = 3;
constexpr std::size_t k_reason_rows = 5;

std::string decimals(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

double ratio(const Usage& usage) {
  if (usage.allocatable <= 0) return usage.requested > 0 ? 1.0 : 0.0;
  return static_cast<double>(usage.requested) / static_cast<double>(usage.allocatable);
}

class TableReport {
 public:
  TableReport(const SimulationReport& report, const TableStyle& style) : report_(report), style_(style) {}

  std::string render() {
    out_ += changes_table(report_.changes);
    if (!out_.empty()) out_ += '\n';
    summary();
    out_ += fill_table(report_.fill, style_.wide ? report_.nodes.size() : style_.node_rows);
    section(PodState::placed, "PLACED");
    section(PodState::pending, "PENDING");
    section(PodState::gated, "GATED");
    section(PodState::foreign, "OF OTHER SCHEDULERS");
    section(PodState::deleting, "BEING DELETED");
    section(PodState::finished, "FINISHED");
    evictions();
    if (style_.wide) section(PodState::running, "PLACED BEFORE");
    out_ += claims_table(report_.devices, style_);
    nodes();
    out_ += devices_table(report_.devices, style_);
    return std::move(out_);
  }

 private:
  void evictions() {
    if (report_.evictions.empty()) return;
    heading("EVICTED", report_.evictions.size());
    TextTable table({{"POD"}, {"PRIORITY", k_right_aligned}, {"NODE"}, {"FOR"}});
    const std::size_t limit = style_.wide ? report_.evictions.size() : style_.pod_rows;
    for (const EvictionLine& line : report_.evictions)
      if (table.size() < limit) table.add({line.pod, std::to_string(line.priority), line.node, line.preemptor});
    out_ += table.render(2);
    left_out(report_.evictions.size() - table.size(), "pods");
  }
  void heading(std::string_view title, std::size_t count) { out_ += table_heading(style_.colour, title, count); }
  void left_out(std::size_t count, std::string_view what) { out_ += left_out_line(count, what); }

  void summary() {
    out_ += fmt::format("{} node{}, {} pod{}: {} placed", report_.nodes.size(), plural(report_.nodes.size()),
                        report_.pods.size(), plural(report_.pods.size()), report_.count(PodState::placed));
    const auto add = [&](PodState state, std::string_view words, bool always, std::string_view colour) {
      const std::size_t count = report_.count(state);
      if (count == 0 && !always) return;
      const std::string text = fmt::format("{} {}", count, words);
      out_ += ", " + (count == 0 || colour.empty() ? text : painted(style_.colour, text, colour));
    };
    add(PodState::pending, "pending", true, "31");
    add(PodState::gated, "gated", false, "33");
    add(PodState::foreign, "of other schedulers", false, "");
    add(PodState::deleting, "being deleted", false, "");
    add(PodState::finished, "finished", false, "");
    add(PodState::running, "placed before", false, "");
    out_ += '\n';
  }

  bool has_scores() const {
    return std::any_of(report_.pods.begin(), report_.pods.end(),
                       [](const PodLine& pod) { return !pod.top_scores.empty(); });
  }

  std::vector<Column> pod_columns(PodState state) const {
    std::vector<Column> columns{{"NAMESPACE"}, {"POD"}};
    const bool tried = state == PodState::placed || state == PodState::pending;
    if (style_.wide) columns.push_back({"PRIORITY", k_right_aligned});
    if (state == PodState::foreign) columns.push_back({"SCHEDULER"});
    if (state != PodState::pending && state != PodState::gated && state != PodState::foreign)
      columns.push_back({"NODE"});
    if (tried) columns.push_back({"ATTEMPTS", k_right_aligned});
    if (style_.wide && state == PodState::placed) {
      columns.push_back({"EVALUATED", k_right_aligned});
      columns.push_back({"FEASIBLE", k_right_aligned});
      if (has_scores()) columns.push_back({"BEST NODES"});
    }
    if (style_.wide && state == PodState::pending) columns.push_back({"NOMINATED"});
    if (state == PodState::pending) columns.push_back({"WHY"});
    if (state == PodState::gated) columns.push_back({"GATE"});
    return columns;
  }

  std::vector<std::string> pod_cells(const PodLine& pod) const {
    std::vector<std::string> cells{pod.ns, pod.name};
    const bool tried = pod.state == PodState::placed || pod.state == PodState::pending;
    if (style_.wide) cells.push_back(std::to_string(pod.priority));
    if (pod.state == PodState::foreign) cells.push_back(pod.scheduler_name.get());
    if (pod.state != PodState::pending && pod.state != PodState::gated && pod.state != PodState::foreign)
      cells.push_back(pod.node.empty() ? "-" : pod.node.get());
    if (tried) cells.push_back(std::to_string(pod.attempts));
    if (style_.wide && pod.state == PodState::placed) {
      cells.push_back(std::to_string(pod.evaluated_nodes));
      cells.push_back(std::to_string(pod.feasible_nodes));
      if (has_scores()) {
        std::string scores;
        for (const auto& [node, total] : pod.top_scores)
          scores += fmt::format("{}{}={}", scores.empty() ? "" : " ", node, total);
        cells.push_back(std::move(scores));
      }
    }
    if (style_.wide && pod.state == PodState::pending)
      cells.push_back(pod.nominated_node.empty() ? "-" : pod.nominated_node.get());
    if (pod.state == PodState::pending || pod.state == PodState::gated) cells.push_back(pod.message);
    return cells;
  }

  void section(PodState state, std::string_view title) {
    const std::size_t count = report_.count(state);
    if (count == 0) return;
    heading(title, count);
    const std::size_t limit = style_.wide ? count : style_.pod_rows;
    TextTable table(pod_columns(state));
    for (const PodLine& pod : report_.pods)
      if (pod.state == state && table.size() < limit) table.add(pod_cells(pod));
    out_ += table.render(2);
    left_out(count - table.size(), "pods");
    if (state == PodState::pending && table.size() < count) frequent_reasons();
  }

  /// When not every pending pod is shown: which answers they got.
  void frequent_reasons() {
    std::map<std::string_view, std::size_t> counts;
    for (const PodLine& pod : report_.pods)
      if (pod.state == PodState::pending) ++counts[pod.message];
    std::vector<std::pair<std::string_view, std::size_t>> order(counts.begin(), counts.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    TextTable table({{"PODS", k_right_aligned}, {"WHY"}});
    for (std::size_t i = 0; i < order.size() && i < k_reason_rows; ++i)
      table.add({std::to_string(order[i].second), std::string(order[i].first)});
    out_ += table.render(2);
    if (order.size() > table.size()) out_ += fmt::format("  … {} other answers\n", order.size() - table.size());
  }

  std::string usage_cell(const Usage& usage, AmountUnit unit) const {
    if (usage.allocatable == 0 && usage.requested == 0) return "-";
    const std::int64_t used = percent(usage);
    const std::string bar = painted(style_.colour, usage_bar(usage, k_bar_cells),
                                    used >= 90   ? "31"
                                    : used >= 70 ? "33"
                                                 : "32");
    return fmt::format("{} {:>3}% {}/{}", bar, used, amount_text(usage.requested, unit),
                       amount_text(usage.allocatable, unit));
  }

  bool shown(std::size_t resource) const { return resource != k_ephemeral_storage || style_.wide; }

  void nodes() {
    if (report_.nodes.empty()) return;
    heading("NODES", report_.nodes.size());
    std::vector<Column> columns{{"NODE"}};
    if (style_.wide) columns.push_back({"ZONE"});
    for (std::size_t i = 0; i < report_.resources.size(); ++i) {
      std::string head = report_.resources[i].name;
      if (i <= k_ephemeral_storage)
        for (char& c : head) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (shown(i)) columns.push_back({std::move(head)});
    }
    TextTable table(std::move(columns));
    const std::vector<std::size_t> rows = chosen_nodes();
    for (const std::size_t index : rows) {
      const NodeLine& node = report_.nodes[index];
      std::vector<std::string> cells{terminal_text(node.name) + (node.unschedulable ? " (cordoned)" : "")};
      if (style_.wide) cells.push_back(node.zone.empty() ? "-" : terminal_text(node.zone));
      for (std::size_t i = 0; i < report_.resources.size(); ++i)
        if (shown(i)) cells.push_back(usage_cell(node.usage[i], report_.resources[i].unit));
      table.add_painted(std::move(cells));
    }
    if (report_.nodes.size() > 1) add_total(table);
    out_ += table.render(2);
    if (rows.size() < report_.nodes.size()) {
      left_out(report_.nodes.size() - rows.size(), "nodes, less used");
      distribution();
    }
  }

  void add_total(TextTable& table) {
    std::vector<std::string> cells{"all"};
    if (style_.wide) cells.emplace_back("");
    for (std::size_t i = 0; i < report_.resources.size(); ++i)
      if (shown(i)) cells.push_back(usage_cell(report_.total(i), report_.resources[i].unit));
    table.add_painted(std::move(cells));
  }

  /// All nodes in list order when they fit, else the fullest first.
  std::vector<std::size_t> chosen_nodes() const {
    std::vector<std::size_t> indices(report_.nodes.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    if (style_.wide || indices.size() <= style_.node_rows) return indices;
    std::vector<double> fullest(indices.size(), 0);
    for (std::size_t node = 0; node < indices.size(); ++node)
      for (std::size_t i = 0; i < report_.resources.size(); ++i)
        if (shown(i)) fullest[node] = std::max(fullest[node], ratio(report_.nodes[node].usage[i]));
    std::stable_sort(indices.begin(), indices.end(),
                     [&](std::size_t a, std::size_t b) { return fullest[a] > fullest[b]; });
    indices.resize(style_.node_rows);
    return indices;
  }

  /// When not every node is shown: how many are how full.
  void distribution() {
    constexpr std::array<std::int64_t, 5> k_bounds{25, 50, 75, 90, 100};
    TextTable table({{"USED"},
                     {"<25%", k_right_aligned},
                     {"<50%", k_right_aligned},
                     {"<75%", k_right_aligned},
                     {"<90%", k_right_aligned},
                     {"<100%", k_right_aligned},
                     {"full", k_right_aligned}});
    for (std::size_t i = 0; i < report_.resources.size(); ++i) {
      if (!shown(i)) continue;
      std::array<std::size_t, k_bounds.size() + 1> counts{};
      for (const NodeLine& node : report_.nodes) {
        if (node.usage[i].allocatable == 0) continue;
        const auto bound = std::upper_bound(k_bounds.begin(), k_bounds.end(), percent(node.usage[i]));
        ++counts[static_cast<std::size_t>(bound - k_bounds.begin())];
      }
      std::vector<std::string> cells{report_.resources[i].name};
      for (const std::size_t count : counts) cells.push_back(std::to_string(count));
      table.add(std::move(cells));
    }
    out_ += "  nodes by how much of a resource is requested:\n" + table.render(2);
  }

  const SimulationReport& report_;
  const TableStyle& style_;
  std::string out_;
};

}  // namespace

std::string amount_text(std::int64_t amount, AmountUnit unit) {
  if (unit == AmountUnit::count) return std::to_string(amount);
  if (unit == AmountUnit::milli_cores) return decimals(static_cast<double>(amount) / 1000.0, 3);
  static constexpr std::array<std::string_view, 6> k_suffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  double value = static_cast<double>(amount);
  std::size_t suffix = 0;
  while (suffix + 1 < k_suffixes.size() && (value >= 1024 || value <= -1024)) {
    value /= 1024;
    ++suffix;
  }
  return decimals(value, 1) + std::string(k_suffixes[suffix]);
}

std::int64_t percent(const Usage& usage) noexcept { return static_cast<std::int64_t>(100.0 * ratio(usage)); }

std::string usage_bar(const Usage& usage, std::size_t cells) {
  static constexpr std::array<std::string_view, 8> k_eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::clamp(ratio(usage), 0.0, 1.0) * static_cast<double>(cells * 8));
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
  bar += k_eighths[eighths % 8];
  const std::size_t used = eighths / 8 + (eighths % 8 == 0 ? 0 : 1);
  for (std::size_t i = used; i < cells; ++i) bar += "░";
  return bar;
}

std::string render_table(const SimulationReport& report, const TableStyle& style) {
  return TableReport(report, style).render();
}

std::string render_diagnostics(const text::Diagnostics& diagnostics) {
  if (diagnostics.empty()) return {};
  std::vector<text::Diagnostic> sorted = diagnostics.all();
  std::stable_sort(sorted.begin(), sorted.end(), [](const text::Diagnostic& a, const text::Diagnostic& b) {
    return std::tie(a.position.line, a.position.column) < std::tie(b.position.line, b.position.column);
  });
  text::Diagnostics ordered;
  for (text::Diagnostic& diagnostic : sorted) ordered.add(std::move(diagnostic));
  return ordered.render() + fmt::format("{} problem{}\n", ordered.size(), ordered.size() == 1 ? "" : "s");
}

void print_diagnostics(std::ostream& err, const text::Diagnostics& diagnostics) {
  err << render_diagnostics(diagnostics);
}

}  // namespace berth::report
