// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace berth::app {

/// What a trial may take.
struct TrialLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t memory_bytes = std::size_t{4} << 30;  // of address space; not under sanitizers, which reserve terabytes
};

/// What work that runs plugins says about them, in the process of a trial.
class Findings {
 public:
  /// Something that is wrong. A trial with one has failed. The first hundred are kept.
  void wrong(std::string what);
  /// A figure, or what was not looked at, for people.
  void note(std::string what);

 private:
  friend struct TrialPipe;
  std::vector<std::string> wrong_, notes_;
};

/// How a trial went.
struct TrialResult {
  bool has_answered = false;       // false: the process ended, or was ended, before; `wrong` says how
  std::vector<std::string> wrong;  // empty: nothing is
  std::vector<std::string> notes;
  double seconds = 0;
};

/// Does the work in a child process with limits, so that whatever a plugin does (crash, _exit, a loop, gigabytes) ends that
/// process and says so, and no other.
///
/// The child reads nothing from standard input, leaves no core file, and what it prints is kept (the last 4 KiB) and said when
/// it ends before its answer. What it started in its process group is ended with it.
/// Requires: no other thread has been started. Where no child can be had, that is what is wrong.
TrialResult run_trial(const std::function<void(Findings& findings)>& work, const TrialLimits& limits = {});

}  // namespace berth::app
