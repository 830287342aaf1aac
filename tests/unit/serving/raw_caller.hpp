// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace berth::tests {

/// A caller on this machine that writes what bytes it likes, over TLS or plain, and waits at most a minute for an answer.
/// Threads: one.
class RawCaller {
 public:
  enum class Kind : std::uint8_t { plain, connected_only, tls };

  explicit RawCaller(std::uint16_t port, Kind kind = Kind::tls, int newest_tls = 0) {
    std::signal(SIGPIPE, SIG_IGN);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    const timeval patience{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (is_connected_ && kind == Kind::tls) is_connected_ = shake_hands(newest_tls);
  }
  ~RawCaller() { hang_up(); }
  RawCaller(const RawCaller&) = delete;
  RawCaller& operator=(const RawCaller&) = delete;

  bool is_connected() const noexcept { return is_connected_; }
  /// With a certificate and its key, in PEM, when they are given. Requires: Kind::connected_only.
  bool shake_hands(int newest_tls = 0, const std::string& certificate = {}, const std::string& key = {}) {
    context_ = SSL_CTX_new(TLS_client_method());
    if (newest_tls != 0) SSL_CTX_set_max_proto_version(context_, newest_tls);
    if (!certificate.empty()) present(certificate, key);
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, socket_);
    return SSL_connect(tls_) == 1;
  }
  /// False once the server has ended the connection and that is known here.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t piece = std::min<std::size_t>(bytes.size(), 1 << 14);
      const long sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(piece))
                                        : ::send(socket_, bytes.data(), piece, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Says that nothing more will be sent, and still listens.
  void end_sending() { ::shutdown(socket_, SHUT_WR); }
  /// True when the server says something, or ends the connection, in that time.
  bool hears_within(std::chrono::milliseconds time) const {
    pollfd socket{socket_, POLLIN, 0};
    return ::poll(&socket, 1, static_cast<int>(time.count())) > 0;
  }
  /// Reads until the text stands in what has come, or the connection ends.
  std::string read_until(std::string_view text) {
    while (text.empty() || taken_.find(text) == std::string::npos)
      if (!read_more()) break;
    return std::exchange(taken_, {});
  }
  /// Everything that comes until the server ends the connection.
  std::string read_to_end() { return read_until(""); }
  /// True when the server has ended the connection, or ends it within a minute.
  bool is_ended() {
    while (read_more()) {
    }
    return has_ended_;
  }
  /// One whole answer, with as much body as its Content-Length says; empty: the connection ended.
  std::string read_answer() {
    std::size_t head = 0;
    while ((head = taken_.find("\r\n\r\n")) == std::string::npos)
      if (!read_more()) return {};
    head += 4;
    const std::size_t length = taken_.find("Content-Length: ");
    const std::size_t body = length < head ? std::strtoul(taken_.c_str() + length + 16, nullptr, 10) : 0;
    while (taken_.size() < head + body)
      if (!read_more()) break;
    std::string out = taken_.substr(0, head + body);
    taken_.erase(0, out.size());
    return out;
  }
  /// The status line of the answer to a request.
  std::string status_of(std::string_view request) {
    send(request);
    const std::string answer = read_answer();
    return answer.substr(0, answer.find("\r\n"));
  }
  SSL* tls() const noexcept { return tls_; }
  void hang_up() {
    if (tls_ != nullptr) SSL_free(std::exchange(tls_, nullptr));
    if (context_ != nullptr) SSL_CTX_free(std::exchange(context_, nullptr));
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  void present(const std::string& certificate, const std::string& key) {
    const std::unique_ptr<BIO, int (*)(BIO*)> certificate_text(BIO_new_mem_buf(certificate.data(), -1), BIO_free);
    const std::unique_ptr<BIO, int (*)(BIO*)> key_text(BIO_new_mem_buf(key.data(), -1), BIO_free);
    const std::unique_ptr<X509, void (*)(X509*)> own(
        PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr), X509_free);
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> secret(
        PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    SSL_CTX_use_certificate(context_, own.get());
    SSL_CTX_use_PrivateKey(context_, secret.get());
  }
  bool read_more() {
    std::array<char, 4096> piece{};
    errno = 0;
    const long size = tls_ != nullptr ? SSL_read(tls_, piece.data(), static_cast<int>(piece.size()))
                                      : ::recv(socket_, piece.data(), piece.size(), 0);
    if (size <= 0) {
      has_ended_ = errno != EAGAIN && errno != EWOULDBLOCK;
      return false;
    }
    taken_.append(piece.data(), static_cast<std::size_t>(size));
    return true;
  }

  int socket_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* tls_ = nullptr;
  bool is_connected_ = false, has_ended_ = false;
  std::string taken_;
};

}  // namespace berth::tests
