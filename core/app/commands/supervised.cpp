// SPDX-License-Identifier: Apache-2.0
#include "app/commands/supervised.hpp"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "base/process/explained_end.hpp"
#include "loader/findings.hpp"
#include "observe/exit_report.hpp"

namespace berth::app {
namespace {

/// What the child leaves behind, in memory that both have.
struct Traces {
  std::atomic<std::uint32_t> answered{0};
  std::atomic<std::uint32_t> explained{0};
  std::atomic<std::int32_t> status{0};
  observe::RunningTrace running;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void report_early_end(const Traces& traces, const std::string& how) {
  loader::Finding finding = loader::make_finding("P030");
  finding.what = "plugin ended the process";
  finding.inspectable = false;
  const std::string running(traces.running.text,
                            std::min<std::size_t>(traces.running.bytes.load(), sizeof traces.running.text));
  if (!running.empty() && running.front() == '/') {
    finding.file = running;
    finding.inspectable = true;
  } else {
    finding.plugin = running;
  }
  finding.evidence.push_back(running.empty() ? how + " before the answer was known; berth itself does not do that"
                                             : how + " while code of it ran");
  finding.advice = "plugins return codes; they do not call exit, _exit, abort or change signal handlers";
  const std::string text = loader::render(finding);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Traces* g_traces = nullptr;  // of this process, as the child

/// Ends the command with a sentence: code that must not throw may be what asks, and a plugin is not to blame.
[[noreturn]] void end_without_memory() {
  constexpr std::string_view k_said = "berth: there is not enough memory for this\n";
  (void)!::write(STDERR_FILENO, k_said.data(), k_said.size());
  if (g_traces != nullptr) {
    g_traces->status = 1;
    g_traces->answered = 1;
  }
  ::_exit(1);
}

/// Ends as the child has ended.
[[noreturn]] void end_by_signal(int number) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);  // the child has left one
  ::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
  ::_exit(128 + number);
}

[[noreturn]] void wait_and_end(pid_t child, const Traces& traces) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    std::fprintf(stderr, "berth: the process that does the work is lost: %s\n", std::strerror(errno));
    ::_exit(1);
  }
  const bool answered = traces.answered.load() != 0;
  const bool explained = traces.explained.load() != 0;
  if (WIFSIGNALED(status)) {
    // Without a plugin at work the sender of the signal knows why.
    if (!answered && !explained && traces.running.bytes.load() != 0) report_early_end(traces, how_it_ended(status));
    end_by_signal(WTERMSIG(status));
  }
  const int ended_with = WEXITSTATUS(status);
  if (answered) ::_exit(ended_with != 0 ? ended_with : traces.status.load());
  if (!explained) report_early_end(traces, "the process was " + how_it_ended(status));
  ::_exit(1);
}

}  // namespace

int supervised(const std::function<int()>& work) {
  void* const memory = ::mmap(nullptr, sizeof(Traces), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::set_new_handler(end_without_memory);
  if (memory == MAP_FAILED) return work();
  auto* const traces = new (memory) Traces;
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return work();
  if (child > 0) wait_and_end(child, *traces);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  g_traces = traces;
  explain_ends_in(&traces->explained);
  observe::trace_running_in(&traces->running);
  const int status = work();
  std::cout.flush();
  std::cerr.flush();
  traces->status = status;
  traces->answered = 1;
  return status;
}

}  // namespace berth::app
