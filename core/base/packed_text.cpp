// SPDX-License-Identifier: Apache-2.0
#include "base/packed_text.hpp"

#include <zlib.h>

#include "base/check.hpp"

namespace berth {

PackedText::PackedText(std::string_view text) {
  if (text.empty()) return;
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  // The fastest level: texts are packed as they arrive, and most are never read.
  const int done = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_SPEED);
  BERTH_CHECK(done == Z_OK, "zlib cannot deflate {} bytes: {}", text.size(), done);
  packed.resize(size);
  packed.shrink_to_fit();
  packed_ = std::make_shared<const std::string>(std::move(packed));
  text_bytes_ = text.size();
}

std::string PackedText::text() const {
  std::string out(text_bytes_, '\0');
  if (packed_ == nullptr) return out;
  uLongf size = text_bytes_;
  const int done = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                              reinterpret_cast<const Bytef*>(packed_->data()), packed_->size());
  BERTH_CHECK(done == Z_OK && size == text_bytes_, "zlib cannot inflate its own text: {}", done);
  return out;
}

}  // namespace berth
