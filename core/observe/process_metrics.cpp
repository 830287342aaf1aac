// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "observe/heap.hpp"
#include "observe/metric_page.hpp"

namespace berth::observe {
namespace {

/// Fields of /proc/self/stat after the program's name, which may hold blanks; the first is the state.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::vector<std::string> out;
  for (std::string field; rest >> field;) out.push_back(std::move(field));
  return out;
}

std::optional<double> boot_time_s() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  return std::nullopt;
}

std::optional<double> open_files() {
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return std::nullopt;
  double count = -1;  // the directory itself
  while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.';
  ::closedir(directory);
  return count;
}

double limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<double>(limit.rlim_cur);
}

}  // namespace

void add_process_metrics(MetricPage& page) {
  constexpr std::size_t k_user_ticks = 11, k_system_ticks = 12, k_threads = 17, k_start_ticks = 19,
                        k_virtual_bytes = 20, k_resident_pages = 21;
  const auto gauge = [&](const char* name, const char* help, double value) {
    page.add_one(MetricKind::gauge, name, help, value);
  };
  const std::vector<std::string> fields = stat_fields();
  if (fields.size() > k_resident_pages) {
    const double hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto number = [&](std::size_t i) { return std::stod(fields[i]); };
    page.add_one(MetricKind::counter, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                 (number(k_user_ticks) + number(k_system_ticks)) / hertz);
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", number(k_virtual_bytes));
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
          number(k_resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    // Dashboards look for a leak in them.
    gauge("go_threads", "Number of OS threads of this process.", number(k_threads));
    gauge("go_goroutines", "Number of OS threads of this process, which has no goroutines.", number(k_threads));
    if (const auto booted = boot_time_s())
      gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
            *booted + number(k_start_ticks) / hertz);
  }
  gauge("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
        limit_of(RLIMIT_AS));
  gauge("process_max_fds", "Maximum number of open file descriptors.", limit_of(RLIMIT_NOFILE));
  const HeapUse heap = heap_use();
  page.add(MetricKind::gauge, "berth_heap_bytes",
           "Bytes of malloc's heap, by state: 'in_use' by blocks that were not freed, 'free' for later ones. Resident "
           "memory that grows while 'in_use' does not is kept by malloc.",
           {{{{"state", "free"}}, static_cast<double>(heap.free_bytes)},
            {{{"state", "in_use"}}, static_cast<double>(heap.in_use_bytes)}});
  if (const auto count = open_files()) gauge("process_open_fds", "Number of open file descriptors.", *count);
}

}  // namespace berth::observe
