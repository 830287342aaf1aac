// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::confine {

/// What a process goes on to need once it is confined. Everything else is refused.
struct Needs {
  /// Files, and folders with all that is below them, that are read. What does not exist is left out.
  std::vector<std::string> read;
  /// Folders below which files are made, changed and removed. What does not exist is left out.
  std::vector<std::string> write;
  /// Programs are started. What they open and whom they talk to is not known here, so all that the user may read can be
  /// read and run, and `connect` does not count.
  bool programs = false;
  /// TCP ports to connect to, on any host; absent: all.
  std::optional<std::vector<std::uint16_t>> connect;
  /// TCP ports to listen on.
  std::vector<std::uint16_t> listen;
};

/// What every process of this kind reads: how hosts are found by name, the libraries that are loaded for that, the
/// certificates that the system trusts, the clock's time zone, random numbers, and what the kernel says of the process.
std::vector<std::string> system_files();

/// The folders that have to be readable so that `file` stays readable when it is replaced: by a file of its name (as
/// `mv` does), or by turning a link to a neighbour (as Kubernetes turns `..data` in mounted Secrets and ConfigMaps).
/// A link that is turned to a folder which has nothing to do with the old one is not foreseen.
std::vector<std::string> folders_of(const std::string& file);

}  // namespace berth::confine
