// SPDX-License-Identifier: Apache-2.0
#include "net/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.hpp"

namespace berth::net {

namespace {
constexpr int k_gzip_window = 15 + 16;  // zlib's way to say: a gzip header and trailer
}

struct Inflate::Stream {
  z_stream z{};
  bool ended = false;
  bool has_more = false;  // the last output was full
};

Inflate::Inflate() : stream_(std::make_unique<Stream>()) {
  const int status = inflateInit2(&stream_->z, k_gzip_window);
  BERTH_CHECK(status == Z_OK, "zlib cannot start: {}", status);
}

Inflate::~Inflate() {
  if (stream_) inflateEnd(&stream_->z);
}
Inflate::Inflate(Inflate&&) noexcept = default;

Status Inflate::add(std::string_view& packed, std::string& out, std::size_t bytes_max) {
  z_stream& z = stream_->z;
  std::array<char, 16 * 1024> chunk;
  for (std::size_t left = bytes_max; left > 0 && (!packed.empty() || stream_->has_more);) {
    if (stream_->ended) return Error{"the gzip stream goes on after its end"};
    const std::size_t given = std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    z.avail_in = static_cast<uInt>(given);
    z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    z.avail_out = static_cast<uInt>(std::min(chunk.size(), left));
    const std::size_t room = z.avail_out;
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return Error{"the server's gzip is broken: " + std::string(z.msg == nullptr ? "no reason" : z.msg)};
    const std::size_t got = room - z.avail_out;
    packed.remove_prefix(given - z.avail_in);
    out.append(chunk.data(), got);
    left -= got;
    stream_->ended = status == Z_STREAM_END;
    stream_->has_more = !stream_->ended && z.avail_out == 0;
    if (status == Z_BUF_ERROR && got == 0 && !packed.empty()) return Error{"the server's gzip cannot be unpacked"};
  }
  return Unit{};
}

bool Inflate::has_more() const noexcept { return stream_->has_more; }

bool Inflate::complete() const noexcept { return stream_->ended; }

std::string gzip(std::string_view text) {
  z_stream z{};
  const int started = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, k_gzip_window, 8, Z_DEFAULT_STRATEGY);
  BERTH_CHECK(started == Z_OK, "zlib cannot start: {}", started);
  std::string out(deflateBound(&z, text.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&z, Z_FINISH);
  BERTH_CHECK(status == Z_STREAM_END, "zlib cannot finish: {}", status);
  out.erase(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace berth::net
