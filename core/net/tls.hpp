// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "net/asio.hpp"
#include "net/endpoint.hpp"

// Internal to HTTP clients.
namespace berth::net {

struct Endpoint::Tls {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

}  // namespace berth::net
