// SPDX-License-Identifier: Apache-2.0
#include "report/device_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "report/text_table.hpp"

namespace berth::report {
namespace {

using Counts = DevicePoolLine::Counts;
constexpr auto k_counts = TextTable::Align::right;
constexpr std::size_t k_device_bar_cells = 10;
constexpr std::size_t k_devices_shown = 4;

std::string devices_cell(const ClaimLine& claim, const TableStyle& style) {
  if (claim.devices.empty()) return "-";
  const std::size_t shown = style.wide ? claim.devices.size() : std::min(claim.devices.size(), k_devices_shown);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const ClaimDevice& device = claim.devices[i];
    text += (text.empty() ? "" : ", ") + (style.wide ? device.request + '=' : std::string()) + device.text();
    if (device.is_admin_access) text += " (admin access)";
  }
  return shown == claim.devices.size() ? text : text + fmt::format(" and {} more", claim.devices.size() - shown);
}

std::string pods_cell(const ClaimLine& claim, const TableStyle& style) {
  if (claim.reserved_for.empty()) return "-";
  if (!style.wide && claim.reserved_for.size() > 1)
    return fmt::format("{} and {} more", claim.reserved_for.front(), claim.reserved_for.size() - 1);
  return fmt::format("{}", fmt::join(claim.reserved_for, ", "));
}

/// The pools as rows; columns for what some pool has.
class PoolTable {
 public:
  PoolTable(const DeviceReport& report, const TableStyle& style) : report_(report), style_(style) {
    for (const DevicePoolLine& pool : report.pools) {
      counts_.push_back(pool.counts());
      all_ += counts_.back();
      Sum& sum = by_driver_[pool.driver];
      sum.counts += counts_.back();
      ++sum.pools;
      has_problems_ = has_problems_ || !pool.problem.empty();
    }
  }

  std::string render() {
    std::string out = table_heading(style_.colour, "DEVICES", all_.devices);
    std::vector<TextTable::Column> columns{{"NODE"}, {"DRIVER"}, {"POOL"}, {"ALLOCATED"}, {"FREE", k_counts}};
    columns.push_back({"TAINTED", k_counts});
    if (all_.blocked != 0) columns.push_back({"BLOCKED", k_counts});
    if (all_.shares != 0) columns.push_back({"SHARES", k_counts});
    if (has_problems_) columns.push_back({"PROBLEM"});
    TextTable table(std::move(columns));
    const std::vector<std::size_t> rows = chosen();
    for (const std::size_t at : rows) {
      const DevicePoolLine& pool = report_.pools[at];
      std::string node = terminal_text(pool.node.empty() ? pool.nodes : pool.node);
      if (!pool.is_node_known) node += " (no such node)";
      table.add_painted(
          cells({std::move(node), terminal_text(pool.driver), terminal_text(pool.pool)}, counts_[at], pool.problem));
    }
    if (report_.pools.size() > 1)
      for (const auto& [driver, sum] : by_driver_)
        table.add_painted(cells({"all", terminal_text(driver), fmt::format("{} pool{}", sum.pools, plural(sum.pools))},
                                sum.counts, {}));
    out += table.render(2);
    if (rows.size() == report_.pools.size()) return out;
    out += left_out_line(report_.pools.size() - rows.size(), "pools, less used");
    return out + distribution();
  }

 private:
  struct Sum {
    Counts counts;
    std::size_t pools = 0;
  };

  std::vector<std::string> cells(std::vector<std::string> names, const Counts& counts, std::string_view problem) const {
    std::vector<std::string> cells = std::move(names);
    const Usage usage{static_cast<std::int64_t>(counts.allocated), static_cast<std::int64_t>(counts.devices)};
    const std::int64_t used = percent(usage);
    cells.push_back(fmt::format("{} {:>3}% {}/{}",
                                painted(style_.colour, usage_bar(usage, k_device_bar_cells),
                                        used >= 90   ? "31"
                                        : used >= 70 ? "33"
                                                     : "32"),
                                used, counts.allocated, counts.devices));
    cells.push_back(std::to_string(counts.free));
    cells.push_back(counts.tainted == 0 ? "-"
                    : counts.tainted_and_allocated == 0
                        ? std::to_string(counts.tainted)
                        : fmt::format("{} ({} allocated)", counts.tainted, counts.tainted_and_allocated));
    if (all_.blocked != 0) cells.push_back(counts.blocked == 0 ? "-" : std::to_string(counts.blocked));
    if (all_.shares != 0)
      cells.push_back(counts.shares == 0 ? "-" : fmt::format("{} of {}", counts.shares, counts.shared));
    if (has_problems_) cells.push_back(problem.empty() ? "-" : terminal_text(problem));
    return cells;
  }

  /// All pools in order when they fit; else those with problems, then the fullest.
  std::vector<std::size_t> chosen() const {
    std::vector<std::size_t> rows(report_.pools.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    if (style_.wide || rows.size() <= style_.node_rows) return rows;
    const auto free_share = [&](std::size_t at) {
      if (!report_.pools[at].problem.empty() || !report_.pools[at].is_node_known) return -1.0;
      return static_cast<double>(counts_[at].free) / static_cast<double>(std::max<std::size_t>(counts_[at].devices, 1));
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return free_share(a) < free_share(b); });
    rows.resize(style_.node_rows);
    return rows;
  }

  /// When not every pool is shown: how many have how many free devices.
  std::string distribution() const {
    constexpr std::array<std::size_t, 5> k_bounds{0, 1, 2, 4, 8};
    TextTable table({{"DRIVER"},
                     {"none", k_counts},
                     {"1", k_counts},
                     {"2", k_counts},
                     {"3-4", k_counts},
                     {"5-8", k_counts},
                     {"more", k_counts}});
    std::map<std::string_view, std::array<std::size_t, k_bounds.size() + 1>> pools;
    for (std::size_t at = 0; at < counts_.size(); ++at) {
      const auto bound = std::lower_bound(k_bounds.begin(), k_bounds.end(), counts_[at].free);
      ++pools[report_.pools[at].driver][static_cast<std::size_t>(bound - k_bounds.begin())];
    }
    for (const auto& [driver, numbers] : pools) {
      std::vector<std::string> cells{std::string(driver)};
      for (const std::size_t number : numbers) cells.push_back(std::to_string(number));
      table.add(std::move(cells));
    }
    return "  pools by how many of their devices are free:\n" + table.render(2);
  }

  const DeviceReport& report_;
  const TableStyle& style_;
  std::vector<Counts> counts_;  // by pool
  Counts all_;
  std::map<std::string_view, Sum> by_driver_;
  bool has_problems_ = false;
};

}  // namespace

std::string claims_table(const DeviceReport& report, const TableStyle& style) {
  if (report.claims.empty()) return {};
  std::string out = table_heading(style.colour, "CLAIMS", report.claims.size());
  TextTable table({{"NAMESPACE"}, {"CLAIM"}, {"STATE"}, {"PODS"}, {"DEVICES"}});
  std::vector<const ClaimLine*> order;
  for (const ClaimLine& claim : report.claims) order.push_back(&claim);
  std::stable_sort(order.begin(), order.end(),
                   [](const ClaimLine* a, const ClaimLine* b) { return a->state < b->state; });
  const std::size_t limit = style.wide ? order.size() : style.pod_rows;
  for (const ClaimLine* claim : order)
    if (table.size() < limit)
      table.add({claim->ns, claim->name, std::string(claim_state_name(claim->state)), pods_cell(*claim, style),
                 devices_cell(*claim, style)});
  return out + table.render(2) + left_out_line(order.size() - table.size(), "claims");
}

std::string devices_table(const DeviceReport& report, const TableStyle& style) {
  return report.pools.empty() ? std::string() : PoolTable(report, style).render();
}

}  // namespace berth::report
