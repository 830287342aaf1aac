// SPDX-License-Identifier: Apache-2.0
#include "app/commands/served_page.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "report/html_report.hpp"
#include "serving/counted.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

constexpr const char* k_html = "text/html; charset=utf-8";
constexpr const char* k_json = "application/json; charset=utf-8";
constexpr const char* k_how_back = "\nThe address without what stands after the question mark is that of the page.\n";
constexpr std::size_t k_time_bytes_max = 64;

bool is_change(std::string_view name) {
  const auto names = {"add-nodes", "like", "drain", "remove-pods", "scale"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of the slices, a list for each kind of number.
std::string times_json(const RecordingTimes& times, std::int64_t at_ns) {
  constexpr std::int64_t k_ms_ns = 1'000'000;
  text::JsonWriter json;
  json.begin_object().key("from").number(times.from_ms).key("to").number(times.to_ms);
  json.key("at").number(at_ns / k_ms_ns + (at_ns % k_ms_ns > 0 ? 1 : 0)).key("slice").number(times.slice_ms);
  const std::pair<const char*, std::int64_t RecordingTimes::Slice::*> parts[] = {
      {"pending", &RecordingTimes::Slice::pending},
      {"decisions", &RecordingTimes::Slice::decisions},
      {"withoutNode", &RecordingTimes::Slice::without_node},
      {"tookNs", &RecordingTimes::Slice::took_ns},
      {"longestNs", &RecordingTimes::Slice::longest_ns}};
  for (const auto& [name, part] : parts) {
    json.key(name).begin_list();
    for (const RecordingTimes::Slice& slice : times.slices) json.number(slice.*part);
    json.end_list();
  }
  json.key("plugins").begin_list();
  for (std::size_t plugin = 0; plugin < times.plugins.size(); ++plugin) {
    json.begin_object().key("name").text(times.plugins[plugin]);
    for (const auto& [name, part] : {std::pair("rejections", &RecordingTimes::Work::rejections),
                                     std::pair("tookNs", &RecordingTimes::Work::took_ns)}) {
      json.key(name).begin_list();
      for (const RecordingTimes::Slice& slice : times.slices)
        json.number(plugin < slice.plugins.size() ? slice.plugins[plugin].*part : 0);
      json.end_list();
    }
    json.end_object();
  }
  json.end_list();
  return json.end_object().take();
}

}  // namespace

bool ServedPage::check(std::ostream& err) {
  const Lock lock(mutex_);
  const auto run = view_.look();
  err << said_.str();
  if (!run.ok()) err << run.error().lines;
  return run.ok();
}

Result<ServedPage::Wish> ServedPage::wish_of(const std::vector<std::pair<std::string, std::string>>& query) const {
  Wish wish;
  std::vector<std::pair<std::string, std::string>> changes;
  for (const auto& [name, value] : query) {
    if (name == "data") {
      wish.is_for_data = true;
    } else if (name == "at") {
      if (options_.record.empty()) return Error{"at= is a moment of a recording: berth ui --record FILE serves one"};
      if (value.size() > k_time_bytes_max || value.empty())
        return Error{"at= is no moment: write 2026-01-31T08:30:00Z"};
      wish.look.at = value;
    } else if (is_change(name)) {
      if (options_.cluster.empty())
        return Error{"changes are of manifests, which are simulated: berth ui --cluster FILES serves them"};
      if (value.size() > k_change_bytes_max)
        return Error{fmt::format("--{}: more than {} bytes are too long", name, k_change_bytes_max)};
      changes.emplace_back("--" + name, value);
    } else {
      return Error{fmt::format("the page knows no {}= in its address", name.substr(0, k_time_bytes_max))};
    }
  }
  Result<std::vector<WhatIfChange>> all = changes_of(changes);
  if (!all.ok()) return all.error();
  if (all->size() > k_changes_max) return Error{fmt::format("more than {} changes are too many", k_changes_max)};
  wish.look.changes = std::move(*all);
  return wish;
}

Result<std::string> ServedPage::before(Look look) {
  look.changes.clear();
  const auto looked = view_.look(look);
  if (!looked.ok()) return Error{said_.str() + looked.error().lines};
  return report::page_data((*looked)->report(), {});
}

Result<std::string> ServedPage::render(const Wish& wish) {
  const Lock lock(mutex_);
  said_.str({});
  Look look = wish.look;
  std::string unchanged;
  if (!look.changes.empty()) {
    look.added_max = k_added_max;
    look.decide_until = std::chrono::steady_clock::now() + k_changed_seconds;
    Result<std::string> found = before(look);
    if (!found.ok()) return found.error();
    unchanged = std::move(*found);
  }
  const auto looked = view_.look(look);
  if (!looked.ok()) return Error{said_.str() + looked.error().lines};
  PolicyRun& run = **looked;
  const report::SimulationReport report = run.report();
  report::PageParts parts = run.page_parts(report);
  parts.is_served = true;
  parts.server = view_.server();
  parts.takes_changes = !options_.cluster.empty();
  parts.before = std::move(unchanged);
  if (wish.is_for_data) return report::page_data(report, parts);
  if (!options_.record.empty()) {
    const Result<const RecordingTimes*> times = times_.read();
    if (!times.ok()) return times.error();
    parts.times = times_json(**times, report.looked_at_ns);
  }
  return report::render_html(report, parts);
}

serving::HttpResponse ServedPage::answer(const serving::HttpRequest& ask) {
  const Result<Wish> wish = wish_of(ask.query);
  if (!wish.ok()) return {400, wish.error().message + '\n'};
  const serving::Counted counted(waiting_);
  if (counted.before() > k_waiting_max)
    return {503, "too many looks wait for each other: try it again when they are shown\n"};
  Result<std::string> shown = render(*wish);
  if (shown.ok()) return {200, std::move(*shown), wish->is_for_data ? k_json : k_html};
  if (!wish->look.at.empty() || !wish->look.changes.empty())
    return {400, shown.error().message + (wish->is_for_data ? "" : k_how_back)};
  return {500, "The cluster cannot be looked at:\n\n" + shown.error().message};
}

serving::HttpResponse ServedPage::reply(const serving::HttpRequest& ask) {
  serving::HttpResponse out = answer(ask);
  out.headers = {{"Content-Security-Policy", report::content_policy(true) + "; frame-ancestors 'none'"},
                 {"X-Frame-Options", "DENY"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Opener-Policy", "same-origin"},
                 {"Cross-Origin-Resource-Policy", "same-origin"},
                 {"Cache-Control", "no-store"}};
  return out;
}

}  // namespace berth::app
