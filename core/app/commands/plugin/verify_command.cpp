// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/verify_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "app/verify/file_under_test.hpp"
#include "app/verify/plugin_checks.hpp"
#include "loader/findings.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

constexpr std::string_view k_file_check = "V01";

struct CheckResult {
  std::string number, name, demands;
  std::vector<std::string> wrong, notes;
  double seconds = 0;
};

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
  std::vector<CheckResult> results;
  results.push_back({std::string(k_file_check), "file", "The file may be loaded, and says what is in it.", {}, {}, 0});
  const auto file = FileUnderTest::take(options.file, options.plugin_dir, options.config,
                                        inspection_rules(options.product, options.host_services));
  if (!file.ok()) results.front().wrong.push_back(file.error().message);
  if (!options.json) print(results.front(), out);
  TrialLimits limits;
  limits.time = std::chrono::seconds(options.limit_seconds);
  for (const PluginCheck& check : checks) {
    if (!file.ok() || !is_asked_for(check.number)) continue;
    results.push_back(run_check(check, (*file)->plugins(), limits));
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

}  // namespace berth::app
