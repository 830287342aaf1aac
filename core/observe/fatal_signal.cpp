// SPDX-License-Identifier: Apache-2.0
#include "observe/fatal_signal.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/guarded.hpp"
#include "base/process/explained_end.hpp"
#include "observe/breadcrumb.hpp"

namespace berth::observe {
namespace {

constexpr std::size_t k_stack_bytes = 64 * 1024;
constexpr std::size_t k_objects_max = 512;
constexpr std::size_t k_path_bytes_max = 512;
constexpr std::size_t k_build_id_bytes_max = 32;
constexpr int k_log_patience_ms = 500;

std::atomic<bool> g_log_is_stuck{false};  // it was waited for in vain

struct Signal {
  int number;
  const char* name;
};
constexpr std::array<Signal, 5> k_signals{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};

/// One mapped object. Written before `count` makes it visible, never changed afterwards.
struct MappedObject {
  std::uintptr_t base;
  std::uintptr_t begin;
  std::uintptr_t end;
  char path[k_path_bytes_max];
  char build_id[2 * k_build_id_bytes_max + 1];
};

struct LoadMap {
  Mutex writing;
  std::atomic<std::size_t> count{0};
  std::array<MappedObject, k_objects_max> objects;
};
// Static storage: the handler must not allocate.
LoadMap g_load_map;
char g_record_file[k_path_bytes_max];
std::byte g_first_stack[k_stack_bytes];  // of the thread that installs, for the life of the process
std::atomic<long> g_reporting_thread{0};
MappedObject g_looked_up;  // of the one thread that reports
std::atomic<bool> g_installed{false};

/// Objects that were loaded from memory. Written before `count` makes them visible, never changed afterwards.
struct MappedName {
  const char* loaded_as;
  const char* mapped_as;
  const char* path;
};
struct MappedNames {
  Mutex writing;
  std::atomic<std::size_t> count{0};
  std::array<MappedName, k_objects_max> names;
};
MappedNames g_mapped_names;

/// A line in a fixed buffer; only what is allowed inside a signal handler. Control characters become '?', since names
/// come from strangers.
class Line {
 public:
  Line& text(const char* text) noexcept {
    for (; text != nullptr && *text != '\0'; ++text) put(*text);
    return *this;
  }
  Line& hex(std::uintptr_t value) noexcept {
    char digits[16];
    std::size_t count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value & 15u];
      value >>= 4;
    } while (value != 0);
    text("0x");
    while (count != 0) put(digits[--count]);
    return *this;
  }
  Line& number(std::uint64_t value) noexcept {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0) put(digits[--count]);
    return *this;
  }
  void write_to(int fd) noexcept {
    bytes_[size_] = '\n';
    std::size_t done = 0;
    while (done < size_ + 1) {
      // A log that is not read must not keep a process that crashed from ending. A line fits into what a pipe that takes
      // anything takes at once.
      pollfd asked{fd, POLLOUT, 0};
      if (g_log_is_stuck || ::poll(&asked, 1, k_log_patience_ms) == 0) {
        g_log_is_stuck = true;
        return;
      }
      const ssize_t written = ::write(fd, bytes_ + done, size_ + 1 - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  void put(char byte) noexcept {
    if (size_ + 1 >= sizeof bytes_) return;
    const auto code = static_cast<unsigned char>(byte);
    bytes_[size_++] = code < 0x20 || code == 0x7f ? '?' : byte;
  }
  char bytes_[1536];
  std::size_t size_ = 0;
};

const char* file_name(const char* path) noexcept {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

bool same(const char* a, const char* b) noexcept {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

/// The path of an object by the name that the linker or the kernel has for it. The last one of that name: it is the one
/// that is being loaded.
const char* path_of(const char* known_as) noexcept {
  for (std::size_t i = g_mapped_names.count.load(std::memory_order_acquire); i-- > 0;) {
    const MappedName& name = g_mapped_names.names[i];
    if (same(known_as, name.loaded_as) || same(known_as, name.mapped_as)) return name.path;
  }
  return known_as;
}

void copy_path(const char* path, char (&into)[k_path_bytes_max]) noexcept {
  std::size_t i = 0;
  for (; path[i] != '\0' && i + 1 < k_path_bytes_max; ++i) into[i] = path[i];
  into[i] = '\0';
}

/// Reads /proc/self/maps byte by byte through a small buffer: stdio would allocate.
class Mappings {
 public:
  Mappings() noexcept : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  ~Mappings() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// The next "begin-end … path"; false at the end. The path is empty for memory without a file.
  bool next(std::uintptr_t& begin, std::uintptr_t& end, char (&path)[k_path_bytes_max]) noexcept {
    begin = hex();
    end = hex();
    std::size_t size = 0;
    bool in_path = false;
    while (byte_ != '\n' && byte_ != -1) {
      in_path = in_path || byte_ == '/';
      if (in_path && size + 1 < sizeof path) path[size++] = static_cast<char>(byte_);
      read();
    }
    path[size] = '\0';
    return byte_ != -1;
  }

 private:
  void read() noexcept {
    if (at_ == size_) {
      const ssize_t got = fd_ < 0 ? 0 : ::read(fd_, buffer_, sizeof buffer_);
      size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
      at_ = 0;
    }
    byte_ = at_ < size_ ? static_cast<unsigned char>(buffer_[at_++]) : -1;
  }
  std::uintptr_t hex() noexcept {
    std::uintptr_t value = 0;
    for (read();; read()) {
      if (byte_ >= '0' && byte_ <= '9')
        value = value * 16 + static_cast<unsigned>(byte_ - '0');
      else if (byte_ >= 'a' && byte_ <= 'f')
        value = value * 16 + static_cast<unsigned>(byte_ - 'a' + 10);
      else
        return value;
    }
  }
  const int fd_;
  char buffer_[512];
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  int byte_ = 0;
};

/// What the kernel says about an address; the base is where the file's first mapping begins.
const MappedObject* look_up(std::uintptr_t address) noexcept {
  Mappings mappings;
  char path[k_path_bytes_max];
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  g_looked_up.path[0] = '\0';
  while (mappings.next(begin, end, path)) {
    if (!same(path, g_looked_up.path)) {
      std::memcpy(g_looked_up.path, path, sizeof path);
      g_looked_up.base = begin;
    }
    if (address < begin || address >= end) continue;
    if (path[0] == '\0') return nullptr;
    copy_path(path_of(path), g_looked_up.path);
    return &g_looked_up;
  }
  return nullptr;
}

const MappedObject* object_at(std::uintptr_t address) noexcept {
  const std::size_t count = g_load_map.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const MappedObject& object = g_load_map.objects[i];
    if (address >= object.begin && address < object.end) return &object;
  }
  return look_up(address);
}

/// The instruction that was running. abort() and raise() leave an address in libc, which the report then says.
std::uintptr_t instruction_of(const void* context) noexcept {
  const auto* user = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(user->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(user->uc_mcontext.pc);
#else
  (void)user;
  return 0;
#endif
}

void add_place(Line& line, std::uintptr_t address, const MappedObject* at) noexcept {
  if (at != nullptr) {
    line.text(file_name(at->path)).text("+").hex(address - at->base);
  } else {
    line.text("an unknown object at ").hex(address);
  }
}

void add_build_id(Line& line, const char* build_id) noexcept {
  if (build_id != nullptr && *build_id != '\0') line.text(", build id ").text(build_id);
}

/// "(rack-spread.so+0x1a40, build id 9a22…)"; "(rack-spread.so, in libc.so.6+0x9d1c4, build id 9a22…)" when the plugin
/// had called into another object.
void add_plugin_place(Line& line, const CrumbOwner& owner, std::uintptr_t address, const MappedObject* at) noexcept {
  line.text(" (");
  if (owner.file == nullptr) {
    add_place(line, address, at);
  } else if (at != nullptr && same(at->path, owner.file)) {
    add_place(line, address, at);
  } else {
    line.text(file_name(owner.file)).text(", in ");
    add_place(line, address, at);
  }
  add_build_id(line, owner.build_id);
  line.text(")");
}

void describe(Line& line, const char* signal_name, std::uintptr_t address) noexcept {
  const CrumbOwner* owner = t_breadcrumb.owner.load(std::memory_order_relaxed);
  const Point point = t_breadcrumb.point.load(std::memory_order_relaxed);
  const MappedObject* at = object_at(address);
  line.text("berth: ");
  if (owner != nullptr && owner->plugin == nullptr) {
    line.text("BERTH-P030 ")
        .text(signal_name)
        .text(point == Point::entry ? " in the entry symbol of " : " while loading ");
    line.text(owner->file);
    add_plugin_place(line, *owner, address, at);
    if (point != Point::entry) line.text(", in a constructor of the file");
    return;
  }
  line.text(signal_name);
  if (owner != nullptr) {
    line.text(" in plugin ").text(owner->plugin).text(" ").text(owner->version);
    add_plugin_place(line, *owner, address, at);
    line.text(" ").text(point_name(point));
  } else if (at != nullptr) {
    line.text(" in ");
    add_place(line, address, at);
    if (at->build_id[0] != '\0') line.text(" (build id ").text(at->build_id).text(")");
    line.text(", outside of plugin calls");
  } else {
    line.text(" at ").hex(address).text(", outside of plugin calls");
  }
  if (t_breadcrumb.pod[0] != '\0') line.text(", pod ").text(t_breadcrumb.pod);
  const std::uint32_t first = t_breadcrumb.first_slot.load(std::memory_order_relaxed);
  const std::uint32_t end = t_breadcrumb.end_slot.load(std::memory_order_relaxed);
  const bool by_block = point == Point::filter || point == Point::score;
  if (owner != nullptr && by_block && end > first) line.text(", nodes ").number(first).text("..").number(end - 1);
}

const char* name_of(int number) noexcept {
  for (const Signal& known : k_signals) {
    if (known.number == number) return known.name;
  }
  return "signal";
}

std::atomic<std::uintptr_t> g_trap_begin{0}, g_trap_end{0};
std::atomic<const char*> g_trap_text{nullptr};

/// Null: the address is in no trap.
const char* trap_at(const siginfo_t* info) noexcept {
  if (info == nullptr || info->si_signo != SIGSEGV) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  return address >= g_trap_begin.load() && address < g_trap_end.load() ? g_trap_text.load() : nullptr;
}

void on_fatal_signal(int number, siginfo_t* info, void* context) {
  // SA_RESETHAND has put the default action back: crashing in here ends the process.
  const long self = ::syscall(SYS_gettid);
  long reporting = 0;
  if (!g_reporting_thread.compare_exchange_strong(reporting, self) && reporting != self) {
    for (;;) ::pause();  // another thread is writing and will end the process
  }
  if (reporting == 0) {
    end_is_explained();
    Line line;
    describe(line, name_of(number), instruction_of(context));
    if (const char* const text = trap_at(info); text != nullptr) line.text(text);
    line.write_to(STDERR_FILENO);
    if (g_record_file[0] != '\0') {
      const int fd = ::open(g_record_file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
      if (fd >= 0) {
        line.write_to(fd);
        ::close(fd);
      }
    }
  }
  // A fault would happen again by itself; abort() and signals sent from outside would not.
  ::syscall(SYS_tgkill, ::getpid(), self, number);
}

/// The GNU build id among the notes of one segment. The address sanitizer puts guards between notes that are variables in
/// their sources, and takes reading from one note to the next for an overflow.
__attribute__((no_sanitize_address)) void find_build_id(const char* at, std::size_t size, MappedObject& object) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, at, sizeof header);
    const std::size_t name_bytes = (std::size_t{header.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t desc_bytes = (std::size_t{header.n_descsz} + 3) & ~std::size_t{3};
    const std::size_t total = sizeof header + name_bytes + desc_bytes;
    if (total > size) return;
    const char* name = at + sizeof header;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      const auto* id = reinterpret_cast<const unsigned char*>(name + name_bytes);
      const std::size_t bytes = header.n_descsz < k_build_id_bytes_max ? header.n_descsz : k_build_id_bytes_max;
      for (std::size_t i = 0; i < bytes; ++i) {
        object.build_id[2 * i] = "0123456789abcdef"[id[i] >> 4];
        object.build_id[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
      }
      object.build_id[2 * bytes] = '\0';
      return;
    }
    at += total;
    size -= total;
  }
}

int take_down(dl_phdr_info* info, std::size_t, void*) {
  const std::size_t count = g_load_map.count.load(std::memory_order_relaxed);
  const std::uintptr_t base = info->dlpi_addr;
  for (std::size_t i = 0; i < count; ++i) {
    if (g_load_map.objects[i].base == base) return 0;  // objects are never unloaded
  }
  if (count == k_objects_max) return 1;
  MappedObject& object = g_load_map.objects[count];
  object.base = base;
  object.begin = UINTPTR_MAX;
  object.end = 0;
  object.build_id[0] = '\0';
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = base + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (begin < object.begin) object.begin = begin;
      if (begin + segment.p_memsz > object.end) object.end = begin + segment.p_memsz;
    }
    if (segment.p_type == PT_NOTE && object.build_id[0] == '\0') {
      find_build_id(reinterpret_cast<const char*>(begin), segment.p_memsz, object);
    }
  }
  const char* path = info->dlpi_name != nullptr && info->dlpi_name[0] != '\0' ? info->dlpi_name : "berth";
  copy_path(path_of(path), object.path);
  g_load_map.count.store(count + 1, std::memory_order_release);
  return 0;
}

struct sigaction report_action() {
  struct sigaction action {};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  return action;
}

// What use_signal_stack() was last told by this thread; null: the thread has no stack for signals.
thread_local std::byte* t_signal_stack = nullptr;

void use_signal_stack(std::byte* memory) {
  t_signal_stack = memory;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = k_stack_bytes;
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

void refresh_load_map() {
  const Lock lock(g_load_map.writing);
  ::dl_iterate_phdr(take_down, nullptr);
}

SignalStack::SignalStack() : memory_(std::make_unique<std::byte[]>(k_stack_bytes)) { use_signal_stack(memory_.get()); }

SignalStack::~SignalStack() {
  t_signal_stack = nullptr;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

void name_trap(const void* begin, std::size_t bytes, const char* text) noexcept {
  g_trap_text.store(text);
  g_trap_begin.store(reinterpret_cast<std::uintptr_t>(begin));
  g_trap_end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes);
}

void install_fatal_signal_report(const FatalSignalOptions& options) {
  use_signal_stack(g_first_stack);
  std::strncpy(g_record_file, options.record_file.c_str(), sizeof g_record_file - 1);
  refresh_load_map();
  const struct sigaction action = report_action();
  for (const Signal& known : k_signals) ::sigaction(known.number, &action, nullptr);
  g_installed = true;
}

std::string restore_fatal_signal_report() {
  std::string changed;
  if (!g_installed) return changed;
  const struct sigaction action = report_action();
  for (const Signal& known : k_signals) {
    struct sigaction now {};
    if (::sigaction(known.number, nullptr, &now) != 0) continue;
    const bool ours =
        (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fatal_signal && (now.sa_flags & SA_ONSTACK) != 0;
    if (ours) continue;
    ::sigaction(known.number, &action, nullptr);
    changed.append(changed.empty() ? "" : ", ").append(known.name);
  }
  // The stack of this thread: two threads on one stack would write over each other's report.
  stack_t stack{};
  if (t_signal_stack != nullptr && ::sigaltstack(nullptr, &stack) == 0 && stack.ss_sp != t_signal_stack)
    use_signal_stack(t_signal_stack);
  // A blocked signal is no report either: the kernel then kills without asking the handler.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const Signal& known : k_signals) ::sigaddset(&signals, known.number);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return changed;
}

void name_mapped_object(const char* loaded_as, const char* mapped_as, const char* path) {
  const Lock lock(g_mapped_names.writing);
  const std::size_t count = g_mapped_names.count.load(std::memory_order_relaxed);
  if (count == k_objects_max) return;
  g_mapped_names.names[count] = {loaded_as, mapped_as, path};
  g_mapped_names.count.store(count + 1, std::memory_order_release);
}

}  // namespace berth::observe
