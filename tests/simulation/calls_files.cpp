// SPDX-License-Identifier: Apache-2.0
// Descriptors as the C library has them: those of the simulation end in its network, all others in the C library.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "simulation/network.hpp"
#include "simulation/real_calls.hpp"

namespace {

using namespace berth::simulation;

Kernel& kernel() { return Kernel::the(); }
Network& network() { return Network::the(); }
bool is_simulated() { return kernel().self() != nullptr; }

/// As the C library gives results back.
template <typename T = int>
T result_of(long value) {
  if (value >= 0) return static_cast<T>(value);
  errno = static_cast<int>(-value);
  return -1;
}

template <typename T>
std::shared_ptr<T> found(int descriptor) {
  return is_simulated() ? network().find_as<T>(descriptor) : nullptr;
}

std::int64_t due_after_ms(int limit_ms) {
  return limit_ms < 0 ? k_never : kernel().now_ns() + static_cast<std::int64_t>(limit_ms) * 1'000'000;
}

int tell_address(std::uint16_t port, sockaddr* into, socklen_t* size) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memcpy(into, &address, std::min<std::size_t>(*size, sizeof address));
  *size = sizeof address;
  return 0;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (!is_simulated()) return REAL(socket)(domain, type, protocol);
  if (domain != AF_INET && domain != AF_INET6) return result_of(-EAFNOSUPPORT);
  return network().add(std::make_shared<Socket>());
}

int bind(int descriptor, const sockaddr* address, socklen_t size) noexcept {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(bind)(descriptor, address, size);
  one->local_port = ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
  return 0;
}

int listen(int descriptor, int backlog) noexcept {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(listen)(descriptor, backlog);
  auto listener = std::make_shared<Listener>();
  listener->owner = one->owner;
  listener->port = one->local_port;
  listener->watched_by = one->watched_by;
  network().listen(listener);
  network().replace(descriptor, listener);
  return 0;
}

int accept4(int descriptor, sockaddr* address, socklen_t* size, int flags) {
  if (!is_simulated()) return REAL(accept4)(descriptor, address, size, flags);
  const auto listener = found<Listener>(descriptor);
  if (!listener) return result_of(-EBADF);
  if (listener->arrived.empty()) return result_of(-EAGAIN);
  const std::shared_ptr<Socket> next = listener->arrived.front();
  listener->arrived.erase(listener->arrived.begin());
  if (address != nullptr) tell_address(next->remote_port, address, size);
  return network().add(next);
}

int accept(int descriptor, sockaddr* address, socklen_t* size) {
  if (!is_simulated()) return REAL(accept)(descriptor, address, size);
  return accept4(descriptor, address, size, 0);
}

int connect(int descriptor, const sockaddr* address, socklen_t size) {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(connect)(descriptor, address, size);
  network().connect(one, ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port));
  return result_of(-EINPROGRESS);
}

ssize_t send(int descriptor, const void* bytes, size_t size, int flags) {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(send)(descriptor, bytes, size, flags);
  return result_of<ssize_t>(network().send(*one, {static_cast<const char*>(bytes), size}));
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(sendmsg)(descriptor, message, flags);
  std::string all;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i)
    all.append(static_cast<const char*>(message->msg_iov[i].iov_base), message->msg_iov[i].iov_len);
  return result_of<ssize_t>(network().send(*one, all));
}

ssize_t recv(int descriptor, void* into, size_t size, int flags) {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(recv)(descriptor, into, size, flags);
  return result_of<ssize_t>(network().receive(*one, static_cast<char*>(into), size, (flags & MSG_PEEK) != 0));
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(recvmsg)(descriptor, message, flags);
  long all = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    const iovec& part = message->msg_iov[i];
    const long got = network().receive(*one, static_cast<char*>(part.iov_base), part.iov_len, (flags & MSG_PEEK) != 0);
    if (got < 0) return all > 0 ? all : result_of<ssize_t>(got);
    all += got;
    if (static_cast<std::size_t>(got) < part.iov_len) break;
  }
  return all;
}

int shutdown(int descriptor, int how) noexcept {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(shutdown)(descriptor, how);
  if (how != SHUT_RD) network().shut(*one);
  return 0;
}

int getsockopt(int descriptor, int level, int name, void* value, socklen_t* size) noexcept {
  const auto one = found<Socket>(descriptor);
  if (!one)
    return is_simulated() && found<File>(descriptor) ? 0 : REAL(getsockopt)(descriptor, level, name, value, size);
  const int answer = level == SOL_SOCKET && name == SO_ERROR ? std::exchange(one->error, 0) : 0;
  std::memcpy(value, &answer, std::min<std::size_t>(*size, sizeof answer));
  return 0;
}

int setsockopt(int descriptor, int level, int name, const void* value, socklen_t size) noexcept {
  return found<File>(descriptor) ? 0 : REAL(setsockopt)(descriptor, level, name, value, size);
}

int getsockname(int descriptor, sockaddr* address, socklen_t* size) noexcept {
  const auto file = found<File>(descriptor);
  if (!file) return REAL(getsockname)(descriptor, address, size);
  const auto one = std::dynamic_pointer_cast<Socket>(file);
  const auto listener = std::dynamic_pointer_cast<Listener>(file);
  return tell_address(listener ? listener->port : one ? one->local_port : 0, address, size);
}

int getpeername(int descriptor, sockaddr* address, socklen_t* size) noexcept {
  const auto one = found<Socket>(descriptor);
  if (!one) return REAL(getpeername)(descriptor, address, size);
  return one->state == Socket::State::open ? tell_address(one->remote_port, address, size) : result_of(-ENOTCONN);
}

int ioctl(int descriptor, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const auto file = found<File>(descriptor);
  if (!file) return REAL(ioctl)(descriptor, request, argument);
  const auto one = std::dynamic_pointer_cast<Socket>(file);
  if (request == FIONREAD && one) *static_cast<int*>(argument) = static_cast<int>(one->inbox.size() - one->inbox_begin);
  return 0;
}

int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (found<File>(descriptor)) return command == F_GETFL ? O_RDWR | O_NONBLOCK : 0;
  return REAL(fcntl)(descriptor, command, argument);
}

int close(int descriptor) { return found<File>(descriptor) ? network().close(descriptor) : REAL(close)(descriptor); }

int eventfd(unsigned int count, int flags) noexcept {
  if (!is_simulated()) return REAL(eventfd)(count, flags);
  auto made = std::make_shared<Event>();
  made->count = count;
  return network().add(std::move(made));
}

/// Who has none waits with epoll's own limit.
int timerfd_create(clockid_t clock, int flags) noexcept {
  if (!is_simulated()) return REAL(timerfd_create)(clock, flags);
  return result_of(-ENOSYS);
}

ssize_t read(int descriptor, void* into, size_t size) {
  const auto file = found<File>(descriptor);
  if (!file) return REAL(read)(descriptor, into, size);
  if (const auto one = std::dynamic_pointer_cast<Socket>(file))
    return result_of<ssize_t>(network().receive(*one, static_cast<char*>(into), size, false));
  const auto event = std::dynamic_pointer_cast<Event>(file);
  if (!event || event->count == 0) return result_of<ssize_t>(-EAGAIN);
  std::memcpy(into, &event->count, sizeof event->count);
  event->count = 0;
  return sizeof event->count;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (is_simulated() && descriptor == STDERR_FILENO) {
    Machine& machine = *kernel().self()->machine;
    if (machine.keeps_log) {
      machine.log.append(static_cast<const char*>(bytes), size);
      return static_cast<ssize_t>(size);
    }
  }
  const auto file = found<File>(descriptor);
  if (!file) return REAL(write)(descriptor, bytes, size);
  if (const auto one = std::dynamic_pointer_cast<Socket>(file))
    return result_of<ssize_t>(network().send(*one, {static_cast<const char*>(bytes), size}));
  const auto event = std::dynamic_pointer_cast<Event>(file);
  if (!event) return result_of<ssize_t>(-EINVAL);
  std::uint64_t more = 0;
  std::memcpy(&more, bytes, sizeof more);
  event->count += more;
  event->changed();
  return sizeof more;
}

int epoll_create1(int flags) noexcept {
  if (!is_simulated()) return REAL(epoll_create1)(flags);
  return network().add(std::make_shared<Epoll>());
}

int epoll_create(int size) noexcept {
  if (!is_simulated()) return REAL(epoll_create)(size);
  return network().add(std::make_shared<Epoll>());
}

int epoll_ctl(int descriptor, int operation, int of, epoll_event* event) noexcept {
  const auto epoll = found<Epoll>(descriptor);
  if (!epoll) return REAL(epoll_ctl)(descriptor, operation, of, event);
  const auto file = network().find(of);
  if (!file) return result_of(-EBADF);
  if (operation == EPOLL_CTL_DEL) {
    epoll->forget(of);
    return 0;
  }
  if (operation == EPOLL_CTL_ADD) file->watched_by.emplace_back(epoll, of);
  epoll->entries[of] = {event->events, event->data.u64};
  epoll->due.insert(of);
  if ((file->ready() & (event->events | EPOLLERR | EPOLLHUP)) != 0) kernel().wake(epoll.get(), 1);
  return 0;
}

int epoll_wait(int descriptor, epoll_event* into, int most, int limit_ms) {
  const auto epoll = found<Epoll>(descriptor);
  if (!epoll) return REAL(epoll_wait)(descriptor, into, most, limit_ms);
  const std::int64_t due_ns = due_after_ms(limit_ms);
  for (;;) {
    int count = 0;
    for (auto next = epoll->due.begin(); next != epoll->due.end() && count < most;) {
      const int of = *next;
      const Epoll::Entry& entry = epoll->entries.at(of);
      next = (entry.events & EPOLLET) != 0 ? epoll->due.erase(next) : std::next(next);
      const auto file = network().find(of);
      const std::uint32_t ready = file ? file->ready() & (entry.events | EPOLLERR | EPOLLHUP) : 0;
      if (ready == 0) continue;
      into[count].events = ready;
      into[count].data.u64 = entry.data;
      ++count;
    }
    if (count > 0 || limit_ms == 0) return count;
    if (!kernel().wait_for(epoll.get(), due_ns)) limit_ms = 0;
  }
}

int poll(pollfd* all, nfds_t count, int limit_ms) {
  if (!is_simulated()) return REAL(poll)(all, count, limit_ms);
  const std::int64_t due_ns = due_after_ms(limit_ms);
  for (;;) {
    int ready_count = 0;
    for (nfds_t i = 0; i < count; ++i) {
      all[i].revents = 0;
      const auto file = network().find(all[i].fd);
      if (file)
        all[i].revents =
            static_cast<short>(file->ready() & (static_cast<unsigned short>(all[i].events) | POLLERR | POLLHUP));
      else
        REAL(poll)(&all[i], 1, 0);
      ready_count += all[i].revents != 0;
    }
    if (ready_count > 0 || limit_ms == 0) return ready_count;
    if (!kernel().wait_for(&network(), due_ns)) limit_ms = 0;
  }
}

}  // extern "C"
