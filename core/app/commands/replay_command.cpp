// SPDX-License-Identifier: Apache-2.0
#include "app/commands/replay_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <ostream>

#include "app/commands/config_command.hpp"
#include "app/recording/decision_replay.hpp"
#include "app/recording/description.hpp"
#include "app/simulate/policy_run.hpp"
#include "config/resolve.hpp"
#include "recording/reader.hpp"
#include "recording/record_json.hpp"
#include "report/compare_report.hpp"
#include "report/report_text.hpp"
#include "report/text_table.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

/// One `berth replay`, step by step; each step says what is wrong and returns false.
class ReplayRun {
 public:
  ReplayRun(const ReplayOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  int run() {
    if (!read_description() || !configure() || !replay()) return 1;
    if (options_.config && !compare()) return 1;
    if (options_.output == "json")
      show_json();
    else
      show();
    const ReplayCounts& counts = replay_->counts();
    if (counts.not_decidable != 0 && counts.same + counts.different == 0) {
      (void)fails("no decision could be made again: the cluster, or the rest of a plan, is not known");
      return 1;
    }
    return options_.config || counts.different == 0 ? 0 : 1;
  }

 private:
  bool fails(std::string_view text) {
    err_ << "berth: " << report::terminal_text(std::string(text)) << '\n';
    return false;
  }
  /// The first that is there: all of a process are alike.
  bool read_description() {
    Result<recording::Reader> reader = recording::Reader::open(options_.path, symbols_);
    if (!reader.ok()) return fails(reader.error().message);
    for (recording::Record record; description_.empty() && reader->next(record);)
      if (record.kind == recording::Kind::description) description_ = record.text;
    return !description_.empty() || fails(options_.path + ": it says nothing of the process that wrote it");
  }
  bool configure() {
    text::Diagnostics diagnostics;
    recorded_configuration_ = recorded_configuration(description_);
    if (recorded_configuration_.empty()) return fails(options_.path + ": it has no configuration");
    raw_ = !options_.config           ? config::load(recorded_configuration_, options_.path, diagnostics)
           : options_.config->empty() ? config::load_defaults()
                                      : config::load_file(*options_.config, diagnostics);
    plugins_ = load_plugins(raw_, options_.plugin_dir, options_.config ? ConfiguredBy::user : ConfiguredBy::others);
    if (const std::string note = unused_directory_note(plugins_, options_.path); !note.empty())
      err_ << "berth: warning: " << report::terminal_text(note) << '\n';
    if (plugins_.ok())
      configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), diagnostics);
    if (!plugins_.ok()) err_ << plugins_.report.render();
    if (!diagnostics.empty()) report::print_diagnostics(err_, diagnostics);
    if (!plugins_.ok() || !diagnostics.empty()) return false;
    has_extenders_ = !configuration_.extenders.empty();
    if (has_extenders_) err_ << "berth: warning: what extenders said is not recorded: they are left out\n";
    configuration_.extenders.clear();
    changed_plugins_ = changed_plugins(description_, plugins_);
    return true;
  }
  bool replay() {
    Result<recording::Reader> reader = recording::Reader::open(options_.path, symbols_);
    if (!reader.ok()) return fails(reader.error().message);
    // With other policies, other nodes fit; what counts is where pods go.
    replay_ = std::make_unique<DecisionReplay>(
        symbols_, configuration_, plugins_,
        options_.config ? DecisionReplay::Same::node : DecisionReplay::Same::node_and_numbers);
    for (recording::Record record; reader->next(record);)
      if (const Status taken = replay_->take(record, reader->begins_run()); !taken.ok())
        return fails(taken.error().message);
    replay_->end();
    for (const std::string& problem : reader->problems())
      err_ << "berth: warning: " << report::terminal_text(problem) << ": what follows there is left out\n";
    return true;
  }
  /// The recording's configuration and the other one, each for everything that came in.
  bool compare() {
    PolicyRun::Options a;
    a.recording = options_.path;
    a.plugin_dir = options_.plugin_dir;
    PolicyRun::Options b = a;
    a.config_text = recorded_configuration_;
    a.config_source = options_.path;
    a.says_extenders_are_left_out = !has_extenders_;
    b.config = *options_.config;
    b.says_extenders_are_left_out = b.says_records_are_left_out = false;
    PolicyRun recorded(std::move(a), err_), other(std::move(b), err_);
    for (PolicyRun* run : {&recorded, &other})
      if (const RunStatus done = run->run(); !done.ok()) {
        err_ << done.error().lines;
        return false;
      }
    const report::SimulationReport of_recorded = recorded.report(), of_other = other.report();
    const report::Policy first{"as recorded", of_recorded};
    const report::Policy second{options_.config->empty() ? "defaults" : *options_.config, of_other};
    comparison_ = options_.output == "json" ? report::render_comparison_json(first, second)
                                            : report::render_comparison(first, second, {});
    return true;
  }
  void show() {
    const ReplayCounts& counts = replay_->counts();
    // With other policies most may differ: what they come to as a whole says more.
    if (!options_.config)
      for (const ReplayDifference& difference : replay_->differences())
        out_ << fmt::format("{} {} (attempt {})\n  recorded: {}\n  replayed: {}\n",
                            recording::moment_text(difference.wall_ns), report::terminal_text(difference.pod),
                            difference.attempt, report::terminal_text(difference.recorded),
                            report::terminal_text(difference.replayed));
    out_ << fmt::format("{} decisions: {} came out the same, {} did not", counts.decisions, counts.same,
                        counts.different);
    if (counts.without_nodes != 0)
      out_ << fmt::format("; {} were about groups that were not complete", counts.without_nodes);
    if (counts.not_decidable != 0)
      out_ << fmt::format("; {} could not be decided again, as a part of the recording is missing",
                          counts.not_decidable);
    out_ << '\n';
    if (counts.refused_changes != 0)
      out_ << fmt::format("{} changes of the cluster contradict those before them\n", counts.refused_changes);
    if (!changed_plugins_.empty())
      out_ << fmt::format("plugins of other files than those that decided: {}\n", fmt::join(changed_plugins_, ", "));
    if (!comparison_.empty())
      out_ << "\nAll that came in, decided from the beginning under either configuration:\n" << comparison_;
    out_.flush();
  }
  void show_json() {
    const ReplayCounts& counts = replay_->counts();
    text::JsonWriter json;
    json.begin_object();
    json.key("decisions").number(counts.decisions);
    json.key("same").number(counts.same);
    json.key("different").number(counts.different);
    json.key("groupsNotComplete").number(counts.without_nodes);
    json.key("notDecidable").number(counts.not_decidable);
    json.key("contradictions").number(counts.refused_changes);
    json.key("changedPlugins").texts(changed_plugins_);
    json.key("differences").begin_list();
    for (const ReplayDifference& difference : replay_->differences()) {
      json.begin_object();
      json.key("at").text(recording::moment_text(difference.wall_ns));
      json.key("pod").text(difference.pod);
      json.key("attempt").number(difference.attempt);
      json.key("recorded").text(difference.recorded);
      json.key("replayed").text(difference.replayed);
      json.end_object();
    }
    json.end_list();
    if (!comparison_.empty()) json.key("comparison").raw(comparison_);
    json.end_object();
    out_ << json.take() << '\n';
    out_.flush();
  }

  const ReplayOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  SymbolTable symbols_;
  std::string description_, recorded_configuration_;
  std::string comparison_;  // with another configuration
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  bool has_extenders_ = false;  // the configuration that was given, where one was
  PluginLibrary plugins_;
  std::vector<std::string> changed_plugins_;
  std::unique_ptr<DecisionReplay> replay_;
};

}  // namespace

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  return ReplayRun(options, out, err).run();
}

}  // namespace berth::app
