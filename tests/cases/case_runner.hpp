// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/feature_gates.hpp"
#include "app/simulate/simulation.hpp"
#include "support/planned_failures.hpp"
#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::cases {

/// What a step came to, as YAML for the key `expect` of a case file: every attempt with its time and verdict, and every
/// pod that waits afterwards.
struct StepResult {
  std::string body;          // block form without indentation, or "{}"
  std::string json() const;  // for comparison
};

/// A scheduler in front of the cluster of one case file, driven step by step.
///
/// Failure: what is wrong with the file goes to `diagnostics`.
class CaseRunner {
 public:
  /// reuse: of verdicts; absent: as the file says.
  CaseRunner(const text::Document& document, text::Diagnostics& problems,
             std::optional<config::VerdictReuse> reuse = std::nullopt);
  ~CaseRunner();

  bool ready() const noexcept { return simulation_ != nullptr; }
  const cycle::ReuseCounts& reuse() { return simulation_->scheduler().decision_parts().cycle.reuse_counts(); }
  /// Puts the objects of the top level and decides what can be decided.
  StepResult start();
  /// Does what a step says, then decides.
  StepResult run(const text::Value& step);

 private:
  struct Attempt {
    std::int64_t wall_ns;
    report::Decision decision;
  };
  app::FeatureGates read_gates(const text::Value& root);
  void make(const text::Value& root);
  void act(std::string_view verb, const text::Value& what);
  void put(std::string_view kind, const text::Value& what, bool merge);
  void put_manifest(const std::string& manifest);
  void remove(const text::Value& what);
  StepResult finish();
  std::string attempts_yaml() const;
  std::string waiting_yaml();
  void add_problem(const text::Value& where, std::string message);

  const text::Document& document_;
  text::Diagnostics& problems_;
  const std::optional<config::VerdictReuse> reuse_;
  SymbolTable symbols_;
  config::Configuration configuration_;
  std::optional<app::PluginLibrary> plugins_;
  tests::PlannedFailures failures_;  // outlives the simulation
  std::unique_ptr<app::Simulation> simulation_;
  std::map<std::string, std::string> short_forms_;  // "pod/default/p": JSON, so that an update says only what changes
  std::vector<Attempt> attempts_;
};

/// "10s", "500ms", "1.5s", "5m". Nothing when it is none.
std::optional<std::int64_t> duration_ns(std::string_view text);
/// 100300000000 as "100.3s".
std::string seconds_text(std::int64_t ns);

}  // namespace berth::cases
