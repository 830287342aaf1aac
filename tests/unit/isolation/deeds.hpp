// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace berth::isolation::tried {

/// What tried_plugin.cpp does for a pod of that priority.
enum class Deed : std::int64_t {
  none,
  crash,
  hang,
  overwrite_region,
  wrong_turn,
  unknown_question,
  long_question,
  ask_for_a_column,
  ask_without_end,
  open_socket,
  fork,
  read_a_file,
  start_a_thread,
  make_code,
  leak,
  leave,
  say_bad_scores,
  hang_in_score
};

}  // namespace berth::isolation::tried
