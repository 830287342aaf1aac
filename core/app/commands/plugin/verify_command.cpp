// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/verify_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <utility>

#include "app/verify/plugin_checks.hpp"
#include "base/result.hpp"
#include "loader/findings.hpp"
#include "loader/plugin_file.hpp"
#include "loader/plugin_loader.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_file_check = "V01";

struct CheckResult {
  std::string number, name, demands;
  std::vector<std::string> wrong, notes;
  double seconds = 0;
};

/// A plugin directory of its own, removed at the end: berth's plugins, and the file with the libraries next to it.
class PluginFolder {
 public:
  /// Fails with what cannot be read or written.
  static Result<std::unique_ptr<PluginFolder>> make(const std::string& file, const std::string& plugin_dir) {
    loader::PluginDirectoryChoice choice = loader::PluginDirectoryChoice::of_this_process();
    choice.flag = plugin_dir;
    std::error_code problem;
    std::string pattern = (fs::temp_directory_path(problem) / "berth-verify-XXXXXX").string();
    if (problem || ::mkdtemp(pattern.data()) == nullptr)
      return Error{fmt::format("{} cannot be made: {}", pattern, std::strerror(errno))};
    std::unique_ptr<PluginFolder> folder(new PluginFolder(pattern));
    try {
      for (const auto& entry : fs::directory_iterator(loader::choose(choice).path))
        if (entry.path().extension() == ".so") folder->add(entry.path());
      const fs::path directory = fs::absolute(file).parent_path();
      for (const auto& entry : fs::directory_iterator(directory))
        if (const std::string name = entry.path().filename().string();
            name.starts_with("lib") && name.find(".so.") != std::string::npos)
          folder->add(entry.path());
      folder->add(file);
    } catch (const fs::filesystem_error& error) {
      return Error{fmt::format("{}: {}", error.path1().string(), error.code().message())};
    }
    return folder;
  }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  ~PluginFolder() {
    std::error_code problem;
    fs::remove_all(path_, problem);
  }
  std::string path() const { return path_.string(); }

 private:
  explicit PluginFolder(fs::path path) : path_(std::move(path)) {}
  void add(const fs::path& file) const {
    const fs::path copy = path_ / file.filename();
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
  }
  const fs::path path_;
};

/// The file as inspect judges it; nothing of it runs. False when nothing of it may run.
bool judge(const std::string& path, const std::vector<std::string>& host_services, const std::string& product,
           TestedPlugins& tested, CheckResult& result) {
  loader::FileRules rules;
  rules.machine = loader::HostMachine::of_this_process();
  rules.product = product;
  rules.host_services = host_services;
  rules.compare_services = !host_services.empty();
  const loader::PluginFile file = loader::judge_alone(path, rules);
  for (const loader::Finding& finding : file.findings)
    result.wrong.push_back(fmt::format("BERTH-{}: {}", finding.code, finding.what));
  if (file.findings.empty() && file.notes.empty()) result.wrong.push_back("it has no note of a plugin");
  tested.notes = file.notes;
  return result.wrong.empty();
}

CheckResult run_check(const PluginCheck& check, const TestedPlugins& tested, const TrialLimits& limits) {
  CheckResult result{std::string(check.number), std::string(check.name), std::string(check.demands), {}, {}, 0};
  for (const CheckPart& part : check.parts) {
    const TrialResult trial = run_trial([&](Findings& findings) { part.run(tested, findings); }, limits);
    const std::string of = part.of.empty() ? std::string() : part.of + ": ";
    for (const std::string& what : trial.wrong) result.wrong.push_back(of + what);
    for (const std::string& what : trial.notes) result.notes.push_back(of + what);
    result.seconds += trial.seconds;
    if (!trial.has_answered) break;  // what crashes or hangs does so again
  }
  return result;
}

void print(const CheckResult& result, std::ostream& out) {
  const bool passed = result.wrong.empty();
  const std::string note = passed && result.notes.size() == 1 ? "  " + loader::escaped(result.notes.front(), 200) : "";
  out << fmt::format("{}  {:<24} {:<6} {:>6.1f} s{}\n", result.number, result.name, passed ? "ok" : "FAILED",
                     result.seconds, note);
  if (!passed) out << "     " << result.demands << '\n';
  for (const std::string& what : result.wrong) out << "     - " << loader::escaped(what, 2'000) << '\n';
  out.flush();
}

std::string json_of(const std::string& file, const std::vector<CheckResult>& results) {
  text::JsonWriter json;
  json.begin_object().key("file").text(file).key("checks").begin_list();
  for (const CheckResult& result : results) {
    json.begin_object().key("number").text(result.number).key("name").text(result.name);
    json.key("demands").text(result.demands).key("passed").boolean(result.wrong.empty());
    json.key("seconds").raw(fmt::format("{:.3f}", result.seconds));
    json.key("wrong").texts(result.wrong).key("notes").texts(result.notes).end_object();
  }
  return json.end_list().end_object().take();
}

}  // namespace

int verify_plugin(const PluginVerifyOptions& options, std::ostream& out, std::ostream& err) {
  const std::vector<PluginCheck> checks = plugin_checks();
  for (const std::string& number : options.checks) {
    if (number != k_file_check &&
        std::none_of(checks.begin(), checks.end(), [&](const PluginCheck& check) { return check.number == number; })) {
      err << fmt::format("there is no check {}: they are {} to {}\n", loader::escaped(number, 40), k_file_check,
                         checks.back().number);
      return 2;
    }
  }
  const auto is_asked_for = [&](std::string_view number) {
    return options.checks.empty() ||
           std::find(options.checks.begin(), options.checks.end(), number) != options.checks.end();
  };
  TestedPlugins tested;
  tested.config = options.config;
  std::vector<CheckResult> results;
  results.push_back({std::string(k_file_check), "file", "The file may be loaded, and says what is in it.", {}, {}, 0});
  bool may_run = judge(options.file, options.host_services, options.product, tested, results.front());
  std::unique_ptr<PluginFolder> folder;
  if (may_run) {
    auto made = PluginFolder::make(options.file, options.plugin_dir);
    may_run = made.ok();
    if (may_run)
      tested.plugin_dir = (folder = std::move(*made))->path();
    else
      results.front().wrong.push_back(made.error().message);
  }
  if (!options.json) print(results.front(), out);
  TrialLimits limits;
  limits.time = std::chrono::seconds(options.limit_seconds);
  for (const PluginCheck& check : checks) {
    if (!may_run || !is_asked_for(check.number)) continue;
    results.push_back(run_check(check, tested, limits));
    if (!options.json) print(results.back(), out);
    // What cannot be created has nothing else to be looked at.
    if (check.number == checks.front().number && !results.back().wrong.empty()) break;
  }
  const auto failed =
      std::count_if(results.begin(), results.end(), [](const CheckResult& each) { return !each.wrong.empty(); });
  if (options.json)
    out << json_of(options.file, results) << '\n';
  else
    out << fmt::format("\n{} passed, {} failed\n", results.size() - static_cast<std::size_t>(failed), failed);
  return failed == 0 ? 0 : 1;
}

int bench_plugin(const PluginBenchOptions& options, std::ostream& out, std::ostream& err) {
  TestedPlugins tested;
  tested.config = options.config;
  CheckResult file;
  if (!judge(options.file, options.host_services, options.product, tested, file)) {
    for (const std::string& what : file.wrong) err << loader::escaped(what, 2'000) << '\n';
    return 1;
  }
  const auto folder = PluginFolder::make(options.file, options.plugin_dir);
  if (!folder.ok()) {
    err << folder.error().message << '\n';
    return 1;
  }
  tested.plugin_dir = (*folder)->path();
  // The figures come back as the notes of a trial.
  TrialLimits limits;
  limits.time = std::chrono::minutes(10);
  limits.memory_bytes = std::size_t{16} << 30;
  const TrialResult trial = run_trial(
      [&](Findings& findings) {
        const Result<PluginCost> cost = measure_cost(tested, options.nodes, options.rounds);
        if (!cost.ok()) return findings.wrong(cost.error().message);
        for (const double ns : {cost->decision_ns, cost->decision_without_ns, cost->reused_ns, cost->reused_without_ns})
          findings.note(fmt::format("{:.0f}", ns));
      },
      limits);
  if (!trial.wrong.empty() || trial.notes.size() != 4) {
    for (const std::string& what : trial.wrong) err << loader::escaped(what, 2'000) << '\n';
    return 1;
  }
  double ns[4];
  std::transform(trial.notes.begin(), trial.notes.end(), ns,
                 [](const std::string& note) { return std::strtod(note.c_str(), nullptr); });
  const double nodes = std::max<double>(options.nodes, 1);
  if (options.json) {
    text::JsonWriter json;
    json.begin_object().key("file").text(options.file).key("nodes").number(options.nodes);
    const char* const names[] = {"decisionNs", "decisionWithoutNs", "reusedNs", "reusedWithoutNs"};
    for (int i = 0; i < 4; ++i) json.key(names[i]).raw(fmt::format("{:.0f}", ns[i]));
    out << json.key("nodeNs").raw(fmt::format("{:.1f}", (ns[0] - ns[1]) / nodes)).end_object().take() << '\n';
    return 0;
  }
  out << fmt::format("{} nodes, medians of {} rounds      with it   without it\n", options.nodes, options.rounds);
  out << fmt::format("a decision, every node judged  {:>9.1f} us {:>9.1f} us\n", ns[0] / 1'000, ns[1] / 1'000);
  out << fmt::format("a decision, verdicts reused    {:>9.1f} us {:>9.1f} us\n", ns[2] / 1'000, ns[3] / 1'000);
  out << fmt::format("it takes {:.1f} ns for each node\n", (ns[0] - ns[1]) / nodes);
  return 0;
}

}  // namespace berth::app
