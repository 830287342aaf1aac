// SPDX-License-Identifier: Apache-2.0
#include "app/commands/config_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <tuple>

#include "config/completed.hpp"
#include "config/legacy/converted.hpp"
#include "config/resolve.hpp"
#include "loader/findings.hpp"
#include "report/report_text.hpp"

namespace berth::app {
namespace {

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "2 profiles (a, b), 20 plugins, 6 of them absent, every node considered".
std::string summary(const config::Configuration& configuration) {
  std::string names;
  std::set<std::string> plugins, absent;
  for (const config::Profile& profile : configuration.profiles) {
    names += (names.empty() ? "" : ", ") + loader::escaped(profile.scheduler_name);
    for (const auto& point : profile.points)
      for (const config::EnabledPlugin& plugin : point) (plugin.absent ? absent : plugins).insert(plugin.name);
  }
  const auto& percentage = configuration.percentage_of_nodes_to_score;
  std::string nodes = "every node is considered";
  if (percentage && *percentage == 0) nodes = "an adaptive share of the nodes is considered";
  if (percentage && *percentage > 0 && *percentage < 100)
    nodes = fmt::format("{} % of the nodes are considered", *percentage);
  return fmt::format("{} ({}), {}{}, {}", counted(configuration.profiles.size(), "profile"), names,
                     counted(plugins.size(), "plugin"),
                     absent.empty() ? "" : fmt::format(" and {} that berth does not have", absent.size()), nodes);
}

bool check_file(const std::string& path, const PluginAccess& access, std::ostream& out, std::ostream& err) {
  text::Diagnostics diagnostics, notes;
  const config::RawConfiguration raw = config::load_file(path, diagnostics);
  const Result<config::PluginCatalog> catalog = access.load(raw);
  if (!catalog) {
    report::print_diagnostics(err, diagnostics);
    err << catalog.error().message << '\n';
    return false;
  }
  const config::Configuration configuration =
      config::resolve(raw, catalog.value(), config::AbsentPlugins::embedded(), diagnostics, &notes);
  if (diagnostics.empty() && access.try_out) diagnostics.add(access.try_out(configuration));
  err << raw.notes.render() << notes.render();
  if (!diagnostics.empty()) {
    report::print_diagnostics(err, diagnostics);
    return false;
  }
  out << fmt::format("{}: good: {}\n", path, summary(configuration));
  return true;
}

}  // namespace

int run_config_check(const std::vector<std::string>& files, const PluginAccess& plugins, std::ostream& out,
                     std::ostream& err) {
  bool good = true;
  for (const std::string& file : files) good = check_file(file, plugins, out, err) && good;
  return good ? 0 : 1;
}

int run_config_convert(const std::string& file, bool modern, std::ostream& out, std::ostream& err) {
  text::Diagnostics diagnostics;
  config::TranslateOptions options;
  options.modern = modern;
  const config::RawConfiguration raw = config::load_file(file, diagnostics, options);
  report::print_diagnostics(err, diagnostics);
  if (!diagnostics.empty()) return 1;
  if (!raw.converted) err << fmt::format("{}: is of today's version already\n", file);
  out << config::converted_yaml(raw);
  return 0;
}

int run_config_defaults(const PluginAccess& plugins, std::ostream& out, std::ostream& err) {
  const config::RawConfiguration raw = config::load_defaults();
  const Result<config::PluginCatalog> catalog = plugins.load(raw);
  if (!catalog) {
    err << catalog.error().message << '\n';
    return 1;
  }
  text::Diagnostics diagnostics;
  const config::Configuration configuration =
      config::resolve(raw, catalog.value(), config::AbsentPlugins::embedded(), diagnostics);
  report::print_diagnostics(err, diagnostics);
  if (!diagnostics.empty()) return 1;
  out << config::completed_yaml(raw, configuration);
  return 0;
}

}  // namespace berth::app
