// SPDX-License-Identifier: Apache-2.0
/// What an earlier point left for a later one.
#pragma once
#include <berth/cycle.hpp>

#include <string>

namespace berth::legacy {

[[noreturn]] inline void fail_unprepared(const char* point) {
  throw Failure(std::string("counts of pods are missing: enable the plugin at ") + point + " too");
}

/// Throws Failure when the profile leaves the point out that makes the state.
template <class State>
const State& prepared(const Cycle& cycle, const char* point) {
  const State* state = cycle.state<State>();
  if (state == nullptr) fail_unprepared(point);
  return *state;
}

}  // namespace berth::legacy
