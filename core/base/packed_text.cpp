// SPDX-License-Identifier: Apache-2.0
#include "base/packed_text.hpp"

#include <zlib.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "base/check.hpp"

namespace berth {

/// Stands in front of the packed bytes, in the same piece of memory.
struct PackedText::Block {
  std::atomic<std::uint32_t> owners{1};
  std::size_t text_bytes = 0, packed_bytes = 0;

  Bytef* packed() noexcept { return reinterpret_cast<Bytef*>(this + 1); }
};

PackedText::PackedText(std::string_view text) {
  if (text.empty()) return;
  uLongf size = compressBound(text.size());
  std::vector<Bytef> packed(size);
  // The fastest level: texts are packed as they arrive, and most are never read.
  const int done =
      compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_SPEED);
  BERTH_CHECK(done == Z_OK, "zlib cannot deflate {} bytes: {}", text.size(), done);
  block_ = new (::operator new(sizeof(Block) + size)) Block;
  block_->text_bytes = text.size();
  block_->packed_bytes = size;
  std::memcpy(block_->packed(), packed.data(), size);
}

PackedText::PackedText(const PackedText& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
}

PackedText::~PackedText() {
  if (block_ == nullptr || block_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block_->~Block();
  ::operator delete(block_);
}

std::size_t PackedText::text_bytes() const noexcept { return block_ == nullptr ? 0 : block_->text_bytes; }
std::size_t PackedText::packed_bytes() const noexcept { return block_ == nullptr ? 0 : block_->packed_bytes; }

void PackedText::unpack(char* out) const {
  if (block_ == nullptr) return;
  uLongf size = block_->text_bytes;
  const int done = uncompress(reinterpret_cast<Bytef*>(out), &size, block_->packed(), block_->packed_bytes);
  BERTH_CHECK(done == Z_OK && size == block_->text_bytes, "zlib cannot inflate its own text: {}", done);
}

bool operator==(const PackedText& a, const PackedText& b) noexcept {
  if (a.block_ == b.block_) return true;
  // Equal texts are packed alike: by one library, at one level.
  return a.text_bytes() == b.text_bytes() && a.packed_bytes() == b.packed_bytes() &&
         std::memcmp(a.block_->packed(), b.block_->packed(), a.packed_bytes()) == 0;
}

std::string PackedText::text() const {
  std::string out(text_bytes(), '\0');
  unpack(out.data());
  return out;
}

}  // namespace berth
