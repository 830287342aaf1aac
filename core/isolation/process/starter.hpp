// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/result.hpp"

namespace berth::isolation {

/// The process between berth and the processes of one isolated file: `berth plugin-host`. It starts a process when it is
/// told so, ends one when it is told so, and says when one has ended, until the other end of its socket (descriptor 3)
/// is closed; then it ends all of them. It exists because `berth run` gives up starting processes before it schedules, and
/// plugins have to be started again. It starts nothing but what its command line names.
///
/// Threads: one.
int run_starter(char* const* arguments);

}  // namespace berth::isolation
