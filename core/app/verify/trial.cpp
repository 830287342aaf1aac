// SPDX-License-Identifier: Apache-2.0
#include "app/verify/trial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <string_view>

#include "base/process/explained_end.hpp"
#include "observe/exit_report.hpp"

namespace berth::app {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t k_findings_max = 100, k_finding_bytes_max = 2'000;
constexpr std::size_t k_answer_bytes_max = 2 * k_findings_max * (k_finding_bytes_max + 2) + 16;
constexpr std::size_t k_said_bytes_max = 4'096;
constexpr std::size_t k_said_lines_max = 8;
// A line of the answer begins with one of these; the last line says that there is no more.
constexpr char k_wrong = '-', k_note = ' ', k_end = '.';

void keep(std::vector<std::string>& list, std::string what) {
  if (list.size() == k_findings_max) return;
  // One line, with single spaces: what several lines said.
  std::replace(what.begin(), what.end(), '\n', ' ');
  what.erase(std::unique(what.begin(), what.end(), [](char a, char b) { return a == ' ' && b == ' '; }), what.end());
  if (what.ends_with(' ')) what.pop_back();
  if (what.size() > k_finding_bytes_max) what.resize(k_finding_bytes_max);
  list.push_back(std::move(what));
}

/// One end of a pipe. Closed once.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// Takes what is there to read; false at the end. Of more than `max` bytes the last are kept.
bool take(Descriptor& from, std::string& text, std::size_t max) {
  char bytes[4096];
  const ssize_t got = ::read(from.number(), bytes, sizeof bytes);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) return false;
  text.append(bytes, static_cast<std::size_t>(got));
  if (text.size() > max) text.erase(0, text.size() - max);
  return true;
}

/// What the child has printed, as one line.
std::string last_lines(std::string_view said) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < said.size();) {
    const std::size_t end = std::min(said.find('\n', begin), said.size());
    std::string_view line = said.substr(begin, end - begin);
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (!line.empty()) lines.push_back(line);
    begin = end + 1;
  }
  if (lines.size() > k_said_lines_max) lines.erase(lines.begin(), lines.end() - k_said_lines_max);
  return fmt::format("{}", fmt::join(lines, " / "));
}

void confine_child(const TrialLimits& limits) {
  ::setpgid(0, 0);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#ifndef BERTH_SANITIZED
  const rlimit memory{limits.memory_bytes, limits.memory_bytes};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  // A loop that even SIGKILL from a parent that is gone would not reach.
  const auto seconds = static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(limits.time).count() + 5);
  const rlimit cpu{seconds, seconds};
  ::setrlimit(RLIMIT_CPU, &cpu);
}

}  // namespace

void Findings::wrong(std::string what) { keep(wrong_, std::move(what)); }
void Findings::note(std::string what) { keep(notes_, std::move(what)); }

/// From the child to its parent.
struct TrialPipe {
  static std::string lines_of(const Findings& findings) {
    std::string lines;
    for (const std::string& what : findings.wrong_) lines += k_wrong + what + '\n';
    for (const std::string& what : findings.notes_) lines += k_note + what + '\n';
    return lines + k_end + '\n';
  }

  /// False when the end is missing.
  static bool read(std::string_view answer, TrialResult& result) {
    while (!answer.empty()) {
      const std::size_t end = answer.find('\n');
      if (end == std::string_view::npos) return false;
      const std::string_view line = answer.substr(0, end);
      answer.remove_prefix(end + 1);
      if (line == std::string_view(&k_end, 1)) return answer.empty();
      if (line.empty() || (line[0] != k_wrong && line[0] != k_note)) return false;
      (line[0] == k_wrong ? result.wrong : result.notes).emplace_back(line.substr(1));
    }
    return false;
  }
};

TrialResult run_trial(const std::function<void(Findings& findings)>& work, const TrialLimits& limits) {
  TrialResult result;
  const steady_clock::time_point began = steady_clock::now();
  int answer_ends[2], said_ends[2];
  if (::pipe2(answer_ends, O_CLOEXEC) != 0) {
    result.wrong.push_back(fmt::format("it could not be tried: {}", std::strerror(errno)));
    return result;
  }
  Descriptor answer_out(answer_ends[0]), answer_in(answer_ends[1]);
  if (::pipe2(said_ends, O_CLOEXEC) != 0) {
    result.wrong.push_back(fmt::format("it could not be tried: {}", std::strerror(errno)));
    return result;
  }
  Descriptor said_out(said_ends[0]), said_in(said_ends[1]);
  void* const memory =
      ::mmap(nullptr, sizeof(observe::RunningTrace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const running = memory == MAP_FAILED ? nullptr : new (memory) observe::RunningTrace;
  std::cout.flush();
  std::cerr.flush();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    result.wrong.push_back(fmt::format("it could not be tried: {}", std::strerror(errno)));
    return result;
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    confine_child(limits);
    ::dup2(said_in.number(), STDERR_FILENO);
    ::dup2(said_in.number(), STDOUT_FILENO);
    if (running != nullptr) observe::trace_running_in(running);
    Findings findings;
    try {
      work(findings);
    } catch (const std::bad_alloc&) {
      findings.wrong(fmt::format("it takes more than {} MiB of memory", limits.memory_bytes >> 20));
    } catch (const std::exception& error) {
      findings.wrong(error.what());
    }
    const std::string lines = TrialPipe::lines_of(findings);
    for (std::size_t sent = 0; sent < lines.size();) {
      const ssize_t put = ::write(answer_in.number(), lines.data() + sent, lines.size() - sent);
      if (put < 0 && errno != EINTR) break;
      if (put > 0) sent += static_cast<std::size_t>(put);
    }
    ::_exit(0);
  }

  ::setpgid(child, child);  // as the child does, in case it has not yet
  answer_in.close();
  said_in.close();
  std::string answer, said;
  const steady_clock::time_point end = began + limits.time;
  bool answers = true, says = true, is_late = false;
  const std::string last_line = std::string("\n") + k_end + '\n';
  while (answers && !is_late && !("\n" + answer).ends_with(last_line)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    pollfd waits[2] = {{answer_out.number(), POLLIN, 0}, {says ? said_out.number() : -1, POLLIN, 0}};
    const int ready = left <= 0 ? 0 : ::poll(waits, 2, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    is_late = ready <= 0;
    if (waits[0].revents != 0) answers = take(answer_out, answer, k_answer_bytes_max);
    if (waits[1].revents != 0) says = take(said_out, said, k_said_bytes_max);
  }
  ::kill(-child, SIGKILL);  // with what it has started
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::fcntl(said_out.number(), F_SETFL, O_NONBLOCK);  // a descendant that left the group may hold the other end
  for (std::size_t before = said.size() + 1; says && said.size() != before && said.size() < k_said_bytes_max;) {
    before = said.size();
    says = take(said_out, said, k_said_bytes_max);
  }
  result.has_answered = !is_late && TrialPipe::read(answer, result);
  if (!result.has_answered) {
    const std::string who =
        running == nullptr
            ? std::string()
            : std::string(running->text, std::min<std::size_t>(running->bytes.load(), sizeof running->text));
    const std::string how =
        is_late ? fmt::format("did not end within {} s", limits.time.count() / 1000) : "was " + how_it_ended(status);
    result.wrong.push_back(fmt::format("the process {}{}{}", how, who.empty() ? "" : " while code ran of " + who,
                                       said.empty() ? "" : ": " + last_lines(said)));
  }
  if (memory != MAP_FAILED) ::munmap(memory, sizeof(observe::RunningTrace));
  result.seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  return result;
}

}  // namespace berth::app
