// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/wire/byte_stream.hpp"

/// What servers of tests have in common.
namespace berth::tests {

/// Gives the server a certificate of its own; returns the authority that its clients have to trust, as PEM.
std::string certify(asio::ssl::context& context);

/// Listens on a free port of 127.0.0.1 and returns it.
std::uint16_t listen_on_loopback(asio::ip::tcp::acceptor& acceptor);

/// A connection as a server has it, over TLS when `tls` is there; nothing when the client's handshake fails.
/// Requires: tls outlives the connection.
asio::awaitable<std::shared_ptr<net::ByteStream>> welcome(asio::ip::tcp::socket socket, asio::ssl::context* tls);

using Serve = std::function<asio::awaitable<void>(std::shared_ptr<net::ByteStream>)>;

/// Takes connections until the acceptor is closed and has each of them served at once. arrived() is called for each.
/// Requires: acceptor, tls and what serve knows outlive the threads of io.
asio::awaitable<void> serve_connections(asio::io_context& io, asio::ip::tcp::acceptor& acceptor,
                                        asio::ssl::context* tls, Serve serve, std::function<void()> arrived);

}  // namespace berth::tests
