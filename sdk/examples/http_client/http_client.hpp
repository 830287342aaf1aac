// SPDX-License-Identifier: Apache-2.0
/// One HTTP exchange over a plain socket, for samples that talk to something else than the API server.
///
/// Threads:  any, but it blocks: call it from tasks of the executor, never from a call of the scheduling thread.
/// Failure:  Failure with a sentence. The limit is for connecting, sending and receiving together; names are looked up
///           by the system's resolver, whose patience is its own (/etc/resolv.conf).
/// Not here: TLS, redirects, connections that are kept.
///           HTTP/1.0 makes the server say all and hang up.
#pragma once
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace http {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Answer {
  int status = 0;
  std::string body;
};

/// http://HOST[:PORT][/PATH]; an IPv6 HOST stands in brackets.
struct Url {
  std::string host, port, path;  // host without brackets

  /// Throws Failure for anything else.
  static Url parse(std::string_view text) {
    constexpr std::string_view k_scheme = "http://";
    if (text.substr(0, k_scheme.size()) != k_scheme)
      throw Failure("\"" + std::string(text) + "\" is no http:// address");
    const std::string_view rest = text.substr(k_scheme.size());
    const std::string_view authority = rest.substr(0, rest.find('/'));
    // An IPv6 address has colons of its own, within its brackets.
    const std::size_t brackets_end = authority.substr(0, 1) == "[" ? authority.find(']') : 0;
    const std::size_t colon = authority.find(':', brackets_end);
    std::string_view host = authority.substr(0, colon);
    if (brackets_end > 0 && host.size() == brackets_end + 1) host = host.substr(1, brackets_end - 1);
    Url url{std::string(host), "80", std::string(rest.substr(authority.size()))};
    if (colon != std::string_view::npos) url.port = authority.substr(colon + 1);
    while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
    if (host.empty() || host.front() == '[' || url.port.empty())
      throw Failure("\"" + std::string(text) + "\" names no host and port");
    return url;
  }
  /// As it stands in the address.
  std::string authority() const { return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port; }
};

/// For the value of a query parameter or a part of a path.
inline std::string percent_encode(std::string_view text) {
  constexpr std::string_view k_plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr char k_hex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (k_plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out.append({'%', k_hex[byte >> 4], k_hex[byte & 15]});
    }
  }
  return out;
}

namespace detail {

using Deadline = std::chrono::steady_clock::time_point;
constexpr std::size_t k_max_answer_bytes = std::size_t{16} << 20;

class Socket {
 public:
  explicit Socket(int file) noexcept : file_(file) {}
  ~Socket() {
    if (file_ >= 0) ::close(file_);
  }
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int file() const noexcept { return file_; }

 private:
  int file_;
};

/// Until the socket can be read or written (POLLIN, POLLOUT).
inline void wait_for(const Socket& socket, short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) throw Failure("no answer in time");
    pollfd entry{socket.file(), events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw Failure(std::string("poll: ") + std::strerror(errno));
  }
}

/// To the first address of the list that takes the connection. Each may use its share of the time that is left, so that
/// one which does not answer leaves some to the next.
inline Socket connect_any(const addrinfo* addresses, const std::string& name, Deadline deadline) {
  int left = 0;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) ++left;
  std::string problem = "no address";
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next, --left) {
    Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.file() >= 0 && ::connect(socket.file(), address->ai_addr, address->ai_addrlen) == 0) return socket;
    int error = errno;
    if (socket.file() >= 0 && error == EINPROGRESS) {
      const auto now = std::chrono::steady_clock::now();
      try {
        wait_for(socket, POLLOUT, now + (deadline - now) / left);
      } catch (const Failure& late) {
        problem = late.what();
        continue;
      }
      socklen_t size = sizeof error;
      ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) return socket;
    }
    problem = std::strerror(error);
  }
  throw Failure(name + ": " + problem);
}

inline Socket connect(const Url& url, Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); code != 0)
    throw Failure(url.host + ": " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  return connect_any(addresses.get(), url.authority(), deadline);
}

inline void send_all(const Socket& socket, std::string_view text, Deadline deadline) {
  while (!text.empty()) {
    wait_for(socket, POLLOUT, deadline);
    const ssize_t sent = ::send(socket.file(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Failure(std::string("send: ") + std::strerror(errno));
    }
  }
}

inline std::string receive_all(const Socket& socket, Deadline deadline) {
  std::string text;
  char buffer[16384];
  for (;;) {
    wait_for(socket, POLLIN, deadline);
    const ssize_t got = ::recv(socket.file(), buffer, sizeof buffer, 0);
    if (got == 0) return text;
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Failure(std::string("receive: ") + std::strerror(errno));
    }
    if (text.size() > k_max_answer_bytes) throw Failure("the answer is too long");
  }
}

inline Answer parse_answer(const std::string& text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string::npos || text.compare(0, 7, "HTTP/1.") != 0 || head < 12) throw Failure("that is no HTTP");
  Answer answer;
  std::from_chars(text.data() + 9, text.data() + 12, answer.status);
  answer.body = text.substr(head + 4);
  return answer;
}

}  // namespace detail

/// `target` is appended to the path of `url`.
inline Answer exchange(std::string_view method, const Url& url, std::string_view target, std::string_view body,
                       std::chrono::milliseconds limit) {
  const detail::Deadline deadline = std::chrono::steady_clock::now() + limit;
  const detail::Socket socket = detail::connect(url, deadline);
  std::string request = std::string(method) + " " + url.path + std::string(target) +
                        " HTTP/1.0\r\nHost: " + url.authority() + "\r\nConnection: close\r\n";
  if (!body.empty())
    request += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  detail::send_all(socket, request + "\r\n" + std::string(body), deadline);
  return detail::parse_answer(detail::receive_all(socket, deadline));
}

}  // namespace http
