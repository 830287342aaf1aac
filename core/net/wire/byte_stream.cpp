// SPDX-License-Identifier: Apache-2.0
#include "net/wire/byte_stream.hpp"

namespace berth::net {

template class BytesOver<beast::tcp_stream>;
template class BytesOver<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace berth::net
