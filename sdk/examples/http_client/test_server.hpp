// SPDX-License-Identifier: Apache-2.0
/// A server for tests of samples that speak HTTP, on a port of its own.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace http {

/// Answers one request after the other with what the test has prepared, and remembers the request lines.
class TestServer {
 public:
  explicit TestServer(std::deque<std::string> answers) : answers_(std::move(answers)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(file_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(file_, 8) != 0)
      throw std::runtime_error("no port");
    ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~TestServer() {
    ::shutdown(file_, SHUT_RDWR);
    thread_.join();
    ::close(file_);
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// Complete once every prepared answer was given.
  std::vector<std::string> requests;

 private:
  void serve() {
    while (!answers_.empty()) {
      const int connection = ::accept(file_, nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<std::size_t>(got));
      }
      requests.push_back(request.substr(0, request.find(" HTTP/")));
      const std::string answer = answers_.front();
      answers_.pop_front();
      ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(connection);
    }
  }

  const int file_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::deque<std::string> answers_;
  std::thread thread_;
};

inline std::string answer(int status, const std::string& body) {
  return "HTTP/1.0 " + std::to_string(status) + " x\r\n\r\n" + body;
}

}  // namespace http
