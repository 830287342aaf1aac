// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "berth/abi/host.h"
#include "loader/findings.hpp"
#include "loader/needed_libraries.hpp"
#include "loader/plugin_file.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::loader {

/// Maps a judged file and calls its entry symbol: the first moment at which code of the plugin runs. The only user of
/// Boost.DLL. Flags: now (an undefined symbol is an error here, not a crash later), local (plugins do not see each
/// other's symbols), nodelete (nothing is ever unmapped: thread-local destructors, unique symbols and callbacks
/// survive).
///
/// What is mapped are the sealed bytes that were judged, and before them those of the libraries in `needed`; both lose
/// them to the process. Without sealed bytes the file is opened by its path. A file that was mapped before, the same one
/// with the same content, is not mapped again.
///
/// Checked around the mapping: floating-point mode (P031, put back), that a file opened by path is the open one (P025),
/// the entry symbol (P011). What dlopen says is translated: P020–P024. A constructor beyond `limit` ends the process
/// with status 1, after all that was found so far and a P030 on standard error; so does one that throws. The answer is
/// null when something was found, except after P031.
const berth_library_v1* map_library(PluginFile& file, std::vector<NeededLibrary>& needed, const LoadHooks& hooks,
                                    std::chrono::milliseconds limit, LoadReport& report);

/// What dlopen's sentence means. `finding` knows the file.
Finding translate_dlopen_error(const PluginFile& file, const std::string& sentence);

}  // namespace berth::loader
