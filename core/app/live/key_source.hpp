// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "app/cli/run_options.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// Where the serving keys come from: files that flags name, or keys that were made for this process.
/// Threads: any, once made. Failure: names the file that cannot be read or written.
class KeySource {
 public:
  /// Makes keys where flags name none and --cert-dir has none yet; they are kept there.
  static Result<KeySource> make(const RunOptions& options, const FlagValues& flags, const Clock& clock);
  /// The keys as the files have them now.
  Result<serving::ServingKeys> read() const;
  /// False: read() always gives the same.
  bool has_files() const noexcept { return !certificate_.empty() || !named_.empty(); }

 private:
  KeySource() = default;

  std::string certificate_, key_;  // files, or none
  std::vector<FlagValues::NamedKeyFiles> named_;
  serving::KeyPair made_;  // empty: they were there
};

}  // namespace berth::app
