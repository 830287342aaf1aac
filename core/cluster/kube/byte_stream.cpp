// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/byte_stream.hpp"

namespace berth::cluster::kube {

template class BytesOver<beast::tcp_stream>;
template class BytesOver<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace berth::cluster::kube
