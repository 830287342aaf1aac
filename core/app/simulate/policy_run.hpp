// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "app/simulate/run_failure.hpp"
#include "app/simulate/simulation.hpp"
#include "app/simulate/single_pass.hpp"
#include "app/simulate/what_if.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "recording/recorder.hpp"
#include "report/decisions_file.hpp"
#include "report/html_report.hpp"
#include "report/simulate_report.hpp"
#include "report/what_if/fill_report.hpp"
#include "report/what_if/fit_report.hpp"

namespace berth::app {

/// One configuration at work on a cluster, of manifests or live: what `berth simulate`, `explain` and `ui` show of it.
///
/// Order:   configure(); then read_cluster() and decide(), or look_at() for a cluster that others schedule; and then
///          the rest. Warnings go to `err`, what is wrong to the caller.
/// Threads: one. options and streams outlive it.
class PolicyRun {
 public:
  struct Options {
    std::vector<std::string> cluster;           // files, directories, "-"
    std::string config;                         // empty: defaults
    std::string config_text;                    // when `config` is empty: of others (load_plugins()), YAML or JSON
    std::string config_source;                  // where that is from, for messages
    bool is_live = false;                       // for look_at()
    bool has_extenders = true;                  // false: those of the configuration are left out, and not asked
    std::shared_ptr<SymbolTable> symbols = {};  // of the objects that look_at() gets; null: its own
    std::string plugin_dir;
    bool single_pass = false;
    std::string explain_pod;                     // "namespace/name"
    report::DecisionsFile* decisions = nullptr;  // gets every decision with what all nodes say; null: there is none
    std::vector<WhatIfChange> changes;
    std::size_t added_max = std::numeric_limits<std::size_t>::max();  // nodes and pods, by all changes
    std::optional<std::chrono::steady_clock::time_point> decide_until =
        {};                                  // then decide() fails; not with single_pass
    std::string pod;                         // the file of the pod that fills the cluster; empty: none does
    std::istream* standard_input = nullptr;  // what "-" means; null: std::cin
    bool shows_progress = false;             // on `err`
    std::string record;                      // a directory for a recording; empty: none is made
    std::string recording = {};              // instead of `cluster`: what came in by this recording, at its times
    /// Decisions about `recording` take so much memory at most: pods that fit nowhere are tried again and again.
    std::size_t decision_bytes_max = std::size_t{512} << 20;
    bool says_extenders_are_left_out = true;  // on `err`, where they are; false: it was said before
    bool says_records_are_left_out = true;    // the same of records of `recording`
  };

  PolicyRun(Options options, std::ostream& err);
  ~PolicyRun();

  RunStatus configure();
  RunStatus read_cluster();
  /// Decides about every pod; then fills the cluster, where that is asked for.
  RunStatus decide();
  /// All three, up to the first that fails.
  RunStatus run();

  /// With is_live. How objects are decoded for look_at(), and which besides pods and nodes.
  decode::DecodeOptions decode_options();
  std::vector<std::string> resources();
  /// Takes a live cluster over as it is, or was, at that time (of the wall clock; 0: now). Nothing is decided and no
  /// stand-in changes an object: a pending pod has the message that its own condition has, and is asked about as if it
  /// were the next one.
  void look_at(const std::vector<decode::Decoded>& objects, std::int64_t at_ns = 0);
  /// Explains a pod of that cluster that waits: "namespace/name"; any other is as it is.
  void ask_about(std::string_view pod);
  /// What its scheduler says, for the report.
  void hear(std::vector<report::QueueWord> words) { words_ = std::move(words); }
  /// Calls into plugins by name, as they count there.
  using CallsByPlugin = std::map<std::string, report::PluginCalls, std::less<>>;
  void hear(CallsByPlugin calls) { calls_ = std::move(calls); }

  /// Fails where a plugin's answers depend on what it does not declare: with which, and where.
  RunStatus check_inputs();

  const PluginLibrary& plugins() const noexcept { return plugins_; }
  const std::vector<report::Decision>& decisions() const noexcept { return decisions_; }
  report::SimulationReport report();
  /// What would make a pod fit that is pending at the end; nothing for any other. `pod`: "namespace/name"; `why_not`: a
  /// node, or empty.
  Result<std::optional<report::FitReport>> fit(std::string_view pod, std::string_view why_not);
  double read_seconds() const noexcept { return read_seconds_; }
  double decide_seconds() const noexcept { return decide_seconds_; }
  /// What the page shows in addition to the report, which is of this run.
  report::PageParts page_parts(const report::SimulationReport& report);

 private:
  void add_details(const report::SimulationReport& report, report::PageParts& parts);
  RunStatus make_host();
  RunStatus start_recorder();
  void count_calls();
  RunStatus decide_recording();
  /// Takes the pod that fills the cluster out of the manifests.
  RunStatus take_filler();
  /// Adds pods like it, one by one, until one fits nowhere.
  RunStatus fill(const std::function<void()>& progress);
  /// Takes a decision in: as a whole to the file, and of what nodes say what the report shows.
  void keep(report::Decision decision);
  bool is_unwritable() const { return options_.decisions != nullptr && !options_.decisions->status().ok(); }
  /// The pod as it is at the end; null: it is gone.
  model::PodPtr pod_now(const std::string& ns, const std::string& name) const;
  scheduler::DecisionParts deciding() { return scheduler().decision_parts(); }
  scheduler::ManualScheduler& scheduler() { return pass_ ? pass_->scheduler() : simulation_->scheduler(); }

  const Options options_;
  std::ostream& err_;
  const std::shared_ptr<SymbolTable> kept_symbols_;
  SymbolTable& symbols_;
  SystemClock system_clock_;
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  PluginLibrary plugins_;
  /// The simulation's time, in which a nanosecond passes with each look: moments of a recording are told apart.
  class RecordedTime final : public Clock {
   public:
    void follow(const Clock& clock) noexcept { clock_ = &clock; }
    std::int64_t monotonic_ns() const noexcept override { return at(&Clock::monotonic_ns); }
    std::int64_t wall_ns() const noexcept override { return at(&Clock::wall_ns); }

   private:
    std::int64_t at(std::int64_t (Clock::*time)() const noexcept) const noexcept {
      const Clock* const clock = clock_;
      return (clock == nullptr ? 0 : (clock->*time)()) + looks_.fetch_add(1, std::memory_order_relaxed);
    }
    std::atomic<const Clock*> clock_{nullptr};
    mutable std::atomic<std::int64_t> looks_{0};
  } recorded_time_;
  std::unique_ptr<recording::Recorder> recorder_;
  std::unique_ptr<SinglePass> pass_;        // with single_pass
  std::unique_ptr<Simulation> simulation_;  // otherwise
  cluster::Manifests manifests_;
  model::PodPtr filler_;  // what fills the cluster
  std::vector<report::ChangeLine> changes_;
  report::SharedTexts texts_;  // of decisions_
  std::vector<report::Decision> decisions_;
  std::vector<report::QueueWord> words_;
  CallsByPlugin calls_;            // of decide(), or of the scheduler that was asked
  std::int64_t looked_at_ns_ = 0;  // wall clock; 0: nothing live was looked at
  std::optional<report::FillReport> fill_;
  bool has_device_classes_ = false;  // with options_.decisions, when decisions began
  double read_seconds_ = 0, decide_seconds_ = 0;
};

}  // namespace berth::app
