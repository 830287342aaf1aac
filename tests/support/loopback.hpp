// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "cluster/kube/asio.hpp"

/// What servers of tests have in common.
namespace berth::tests {

/// Gives the server a certificate of its own; returns the authority that its clients have to trust, as PEM.
std::string certify(cluster::kube::asio::ssl::context& context);

/// Listens on a free port of 127.0.0.1 and returns it.
std::uint16_t listen_on_loopback(cluster::kube::asio::ip::tcp::acceptor& acceptor);

}  // namespace berth::tests
