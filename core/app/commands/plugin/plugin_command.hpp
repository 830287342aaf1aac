// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "loader/plugin_file.hpp"

namespace berth::app {

struct PluginInspectOptions {
  std::vector<std::string> files = {};
  bool json = false;                            // one array, one object per file
  bool rbac = false;                            // a ClusterRole with what the plugins ask for, and nothing else
  std::string product = "berth";                // "berth 0.1.0", for sentences
  std::vector<std::string> host_services = {};  // compared with what the notes require; empty: not compared
};

/// The file that verify and bench run, and with what.
struct TestedFileOptions {
  std::string file;
  std::string config;      // with the plugins in a profile; empty: they are added to the default profile
  std::string plugin_dir;  // of berth's own plugins
  bool json = false;
  std::string product;
  std::vector<std::string> host_services;
};

/// What files are held against that are looked at alone. Without host services, those that they need are not compared.
loader::FileRules inspection_rules(const std::string& product, const std::vector<std::string>& host_services);

/// `berth plugin inspect FILE.so…`: what files say about themselves and whether they would be loaded, from their
/// headers and notes alone. None of their code runs, so that it is safe on files of strangers and of other machines.
/// Owner and mode are not judged: they matter in the plugin directory, not here. The answer is the exit status: 0 every
/// file may be loaded, 1 some file may not, or has rules that cannot be written down.
int inspect_plugins(const PluginInspectOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
