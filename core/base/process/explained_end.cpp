// SPDX-License-Identifier: Apache-2.0
#include "base/process/explained_end.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>

#include <cstring>

namespace berth {
namespace {

std::atomic<std::atomic<std::uint32_t>*> g_flag{nullptr};

}  // namespace

void explain_ends_in(std::atomic<std::uint32_t>* flag) noexcept { g_flag = flag; }

void end_is_explained() noexcept {
  if (auto* const flag = g_flag.load(std::memory_order_relaxed); flag != nullptr) flag->store(1);
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with status {}", WEXITSTATUS(status));
  const char* const name = ::sigabbrev_np(WTERMSIG(status));
  return name != nullptr ? fmt::format("killed by SIG{}", name) : fmt::format("killed by signal {}", WTERMSIG(status));
}

}  // namespace berth
