// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "isolation/plugin_program.hpp"
#include "isolation/process/starter_messages.hpp"
#include "isolation/shared_memory.hpp"

namespace berth::isolation {

/// The host's end of a starter, which runs while this lives.
///
/// Threads: any. Bounds: no call waits longer than it is told; the starter answers within milliseconds.
class StarterLink {
 public:
  /// Runs `berth plugin-host`. `berth`: the program; empty: the one that runs.
  static Result<std::shared_ptr<StarterLink>> start(const PluginProgram& program, const std::string& berth);
  ~StarterLink();
  StarterLink(const StarterLink&) = delete;
  StarterLink& operator=(const StarterLink&) = delete;

  struct Begun {
    std::uint64_t child = 0;  // for the functions below
    pid_t process = 0;
    OwnedDescriptor memory;
  };
  Result<Begun> begin();
  /// With SIGKILL, unless it has ended.
  void end(std::uint64_t child);
  /// How it ended, as waitpid() says it. Nothing: it has not within that time. Told once.
  std::optional<int> ended(std::uint64_t child, std::int64_t wait_ns);

 private:
  StarterLink(pid_t process, OwnedDescriptor socket) : process_(process), socket_(std::move(socket)) {}
  bool send(StarterMessage message);
  /// Takes one message up. False: none came within that time.
  bool receive(std::int64_t wait_ns) REQUIRES(mutex_);

  const pid_t process_;
  OwnedDescriptor socket_;
  Mutex mutex_;
  std::uint64_t last_child_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, int> ended_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Begun> begun_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, int> not_begun_ GUARDED_BY(mutex_);
  bool is_gone_ GUARDED_BY(mutex_) = false;
};

/// "signal 11 (Segmentation fault)", "exit status 3", of a waitpid() status.
std::string how_it_ended(int status);

}  // namespace berth::isolation
