// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"

namespace berth::app {

/// Why a run cannot go on: whole lines, as they are shown.
struct RunFailure {
  std::string lines;
};
inline const std::string& summary(const RunFailure& failure) noexcept { return failure.lines; }

using RunStatus = Result<Unit, RunFailure>;

/// One line of this program. Requires: `text` is fit for a terminal.
inline RunFailure failed(const std::string& text) { return {"berth: " + text + '\n'}; }

}  // namespace berth::app
