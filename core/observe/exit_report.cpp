// SPDX-License-Identifier: Apache-2.0
#include "observe/exit_report.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/process/explained_end.hpp"

namespace berth::observe {
namespace {

constexpr int k_report_patience_ms = 500;

std::atomic<const CrumbOwner*> g_loading{nullptr};
std::atomic<RunningTrace*> g_trace{nullptr};

void note_running(std::string_view name, std::string_view version) noexcept {
  RunningTrace* const trace = g_trace.load();
  if (trace == nullptr) return;
  trace->bytes = 0;
  std::size_t size = 0;
  const auto add = [&](std::string_view text) {
    text = text.substr(0, sizeof trace->text - size);
    std::copy(text.begin(), text.end(), trace->text + size);
    size += text.size();
  };
  add(name);
  if (!version.empty()) add(" ");
  add(version);
  trace->bytes = static_cast<std::uint32_t>(size);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// A text in a fixed buffer, since the thread that exits may hold the locks of the heap and of the streams.
class Sentence {
 public:
  Sentence& operator<<(std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (size_ + 1 < bytes_.size()) bytes_[size_++] = byte < 0x20 || byte == 0x7f ? '?' : c;
    }
    return *this;
  }
  void write() {
    bytes_[size_++] = '\n';
    for (std::size_t done = 0; done < size_;) {
      pollfd asked{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&asked, 1, k_report_patience_ms) == 0) return;  // a log that is not read keeps no process from ending
      const ssize_t written = ::write(STDERR_FILENO, bytes_.data() + done, size_ - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  std::array<char, 1536> bytes_{};
  std::size_t size_ = 0;
};

void judge_exit(std::string_view call) {
  const CrumbOwner* owner = t_breadcrumb.owner.load(std::memory_order_relaxed);
  const Point point = t_breadcrumb.point.load(std::memory_order_relaxed);
  const bool own_thread = owner != nullptr;
  if (owner == nullptr) owner = g_loading.load();
  if (owner == nullptr) return;
  Sentence line;
  line << "berth: BERTH-P030 " << call;
  if (owner->plugin == nullptr) {
    const bool entry = own_thread && point == Point::entry;
    line << (entry ? " in the entry symbol of " : " while loading ") << (owner->file != nullptr ? owner->file : "?");
    if (!entry) line << ", in a constructor of the file";
  } else {
    line << " in plugin " << owner->plugin << " " << (owner->version != nullptr ? owner->version : "");
    if (owner->file != nullptr) line << " (" << base_name(owner->file) << ")";
    line << " " << point_name(point);
  }
  line << "; a plugin may not end the process";
  line.write();
  end_is_explained();
  ::_exit(1);
}

}  // namespace

void install_exit_report() {
  static std::atomic<bool> installed{false};
  if (installed.exchange(true)) return;
  std::atexit([] { judge_exit("exit()"); });
  std::at_quick_exit([] { judge_exit("quick_exit()"); });
}

void loading_file(const CrumbOwner* file) noexcept {
  g_loading = file;
  note_running(file != nullptr && file->file != nullptr ? file->file : "", {});
}

void trace_running_in(RunningTrace* trace) noexcept { g_trace = trace; }

RunningPlugin::RunningPlugin(const CrumbOwner& owner) noexcept {
  note_running(owner.plugin != nullptr ? owner.plugin : "", owner.version != nullptr ? owner.version : "");
}

RunningPlugin::~RunningPlugin() { note_running({}, {}); }

}  // namespace berth::observe
