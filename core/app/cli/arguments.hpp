// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace berth::app {

/// The command line for CLI11, last argument first. Called as kube-scheduler, through a link, the program is `berth
/// run`; flags of that command may be written with underscores. `--flag=` is the empty text, of every command of
/// `program`: CLI11 alone takes the next argument for the value.
/// Source: spf13/pflag.
std::vector<std::string> arguments(int argc, const char* const* argv, const CLI::App& program);

}  // namespace berth::app
