// SPDX-License-Identifier: Apache-2.0
// Shows a plugin directory to the loader, in a process that may die of it.
//
//   zoo_runner DIRECTORY [--want NAME] [--pin FILE=SHA256] [--strict] [--require-digest] [--limit-ms N]
//              [--call-filter] [--services ID,…]
//
// Prints the report, or one line per loaded plugin; --call-filter then calls filter with a breadcrumb, as a host does.
// Exit: 0 loaded, 1 findings, 2 usage.
#include <cstdio>
#include <cstring>
#include <string>

#include "app/plugins/load_hooks.hpp"
#include "berth/plugin.h"
#include "loader/plugin_loader.hpp"
#include "observe/breadcrumb.hpp"
#include "observe/exit_report.hpp"
#include "observe/fatal_signal.hpp"

namespace {

namespace loader = berth::loader;
namespace observe = berth::observe;

struct Options {
  loader::LoadRequest request;
  loader::HostOffer offer{"berth under test", {"berth.log/1"}};
  bool call_filter = false;
  std::string record_file;
};

bool read_options(int count, char** words, Options& options) {
  if (count < 2) return false;
  options.request.directory = {words[1], "the test", {}};
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--strict")
      options.request.strict = true;
    else if (word == "--require-digest")
      options.request.require_digest = true;
    else if (word == "--call-filter")
      options.call_filter = true;
    else if (!has_value)
      return false;
    else if (word == "--want")
      options.request.wanted.push_back({words[++i], "berth.yaml:7:5  profiles[0].plugins"});
    else if (word == "--limit-ms")
      options.request.constructor_limit = std::chrono::milliseconds(std::stoi(words[++i]));
    else if (word == "--record")
      options.record_file = words[++i];
    else if (word == "--pin") {
      const std::string pin = words[++i];
      const std::size_t equals = pin.find('=');
      options.request.files.push_back(
          {pin.substr(0, equals), equals == std::string::npos ? "" : pin.substr(equals + 1),
           "berth.yaml:14:9  plugins.files[" + std::to_string(options.request.files.size()) + "]"});
    } else {
      return false;
    }
  }
  return true;
}

void call_filter(const loader::LoadedPlugins::Found& found) {
  const berth_plugin_v1& plugin = *found.plugin;
  const auto* const ops = static_cast<const berth_filter_ops_v1*>(plugin.points[0].ops);
  const observe::CrumbOwner owner{plugin.name, plugin.version, found.library->path.c_str(),
                                  found.library->build_id.c_str()};
  observe::enter_pod("batch", "job-7");
  observe::enter_block(4096, 5120);
  observe::enter_plugin(owner, observe::Point::filter);
  const berth_code code = ops->filter(nullptr, nullptr, nullptr, nullptr, nullptr);
  observe::leave_plugin();
  std::printf("filter answered %u\n", code);
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!read_options(count, words, options)) {
    std::fprintf(stderr, "usage: see the top of zoo_runner.cpp\n");
    return 2;
  }
  observe::install_fatal_signal_report({options.record_file});
  observe::install_exit_report();
  const loader::PluginLoader plugin_loader(options.offer, berth::app::crash_reporting_hooks());
  const loader::LoadOutcome outcome = plugin_loader.load(options.request);
  for (const std::string& warning : outcome.report.warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  std::fputs(outcome.report.render().c_str(), stderr);
  if (!outcome.report.ok()) return 1;
  for (const loader::LoadedPlugins::Found& found : outcome.plugins.all()) {
    std::printf("loaded %s %s\n", found.plugin->name, found.plugin->version);
    std::fflush(stdout);
    if (options.call_filter) call_filter(found);
  }
  return 0;
}
