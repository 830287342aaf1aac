// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/kube/asio.hpp"
#include "cluster/kube/endpoint.hpp"

// Internal to cluster/kube.
namespace berth::cluster::kube {

struct Endpoint::Tls {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

}  // namespace berth::cluster::kube
