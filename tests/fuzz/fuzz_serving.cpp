// SPDX-License-Identifier: Apache-2.0
/// What a caller sends to the server, through the reader that the server uses. The first byte says how the rest is split;
/// however that is, the same requests have to come out, and never may more be kept than a header and a body.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "serving/request_reader.hpp"

namespace {

using berth::serving::HttpRequest;
using berth::serving::RequestReader;
using Progress = RequestReader::Progress;

void expect(bool holds) {
  if (!holds) std::abort();
}

struct Seen {
  std::vector<HttpRequest> asks;
  bool is_refused = false;
};

void judge(const HttpRequest& ask) {
  expect(ask.body.size() <= RequestReader::k_body_bytes_max);
  expect(ask.headers.size() <= RequestReader::k_fields_max);
  expect(ask.query.size() <= RequestReader::k_query_max);
  expect(ask.header("transfer-encoding").empty());
  std::size_t bytes = 0;
  for (const auto& [name, value] : ask.headers) bytes += name.size() + value.size();
  expect(bytes <= RequestReader::k_header_bytes_max);
}

/// `split` 0: in pieces as large as the reader takes them.
Seen read_all(std::string_view bytes, std::uint32_t split) {
  Seen seen;
  RequestReader reader;
  std::uint32_t random = split;
  Progress progress = reader.begin();
  for (;;) {
    expect(reader.kept_bytes() <= std::size_t{256} << 10);
    if (progress == Progress::refused) {
      expect(reader.refusal().status >= 400 && reader.refusal().why[0] != '\0');
      seen.is_refused = true;
      return seen;
    }
    if (progress == Progress::complete) {
      static_cast<void>(reader.keeps_connection());
      expect(reader.version() == 10 || reader.version() == 11);
      seen.asks.push_back(reader.take_ask());
      judge(seen.asks.back());
      progress = reader.begin();
      continue;
    }
    if (bytes.empty()) return seen;
    const std::span<char> room = reader.room();
    expect(!room.empty());
    random = random * 1664525 + 1013904223;
    const std::size_t wanted = split == 0 ? bytes.size() : split < 8 ? split : 1 + (random >> 16) % split;
    const std::size_t size = std::min({wanted, room.size(), bytes.size()});
    std::copy_n(bytes.data(), size, room.data());
    bytes.remove_prefix(size);
    progress = reader.take(size);
  }
}

bool is_same(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.headers == b.headers && a.body == b.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read_all(bytes, 0), pieces = read_all(bytes, data[0]);
  // At the edge of the limits, a piece more or less decides whether Beast or the reader's count comes first.
  if (bytes.size() > RequestReader::k_header_bytes_max / 2) return 0;
  expect(whole.asks.size() == pieces.asks.size());
  for (std::size_t i = 0; i < whole.asks.size(); ++i) expect(is_same(whole.asks[i], pieces.asks[i]));
  expect(whole.is_refused || !pieces.is_refused);
  return 0;
}
