// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cycle/scheduling_cycle.hpp"
#include "report/simulate_report.hpp"
#include "report/what_if/fit_report.hpp"

namespace berth::report {

/// Calls into a plugin, of all its extension points: of a simulation, or since a running scheduler began.
struct PluginCalls {
  std::int64_t calls = 0, took_ns = 0;
};

struct PluginLine {
  std::string name, version, file, sha256;
  std::vector<std::string> points;
  std::optional<PluginCalls> calls = {};  // absent: they were not counted
};

/// Why a pod is pending, for it and for those that got the same answer.
struct PodDetail {
  std::size_t pod = 0;              // place in SimulationReport::pods: who was asked about
  std::vector<std::size_t> others;  // of the same workload, with the same answer
  cycle::Explanation explanation;
  FitReport fit;
};

/// What a page shows in addition to the report.
struct PageParts {
  std::vector<PodDetail> details;
  std::vector<PluginLine> plugins;
  std::vector<std::vector<std::pair<std::string, std::string>>> labels;  // by node, in the report's order
  bool is_served = false;                                                // loading it again brings newer data
  std::string server;          // of a live cluster, or the file of a recording
  std::string times;           // of a recording: JSON: what the slider shows
  bool takes_changes = false;  // it offers changes of the cluster
  std::string before;          // page_data() of the same cluster without the changes; empty: there are none
};

/// What the page may load and run: itself. One that is served may also ask its server for other data.
std::string content_policy(bool is_served);

/// What the page shows, as JSON.
std::string page_data(const SimulationReport& report, const PageParts& parts);

/// One HTML file with everything in it: data, style and script. It loads nothing but, where it is served, other data of its
/// server: content_policy(), which it bears, forbids the rest; texts of objects are data in it and never markup.
std::string render_html(const SimulationReport& report, const PageParts& parts);

}  // namespace berth::report
