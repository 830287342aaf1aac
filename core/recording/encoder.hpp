// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "base/symbols.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// Records as payloads of one segment: texts and parts of pods that come again are written once and counted then.
///
/// Budget:  it remembers k_words_max words of k_word_bytes_max together, k_parts_max parts of each type and of
///          k_part_bytes_max as written together; what comes beyond is written out each time. Words that come again
///          make a segment larger where it is read, by copied_bytes_max() at most; then they are written out as well.
/// Threads: one. The symbols outlive it.
class Encoder {
 public:
  static constexpr std::size_t k_words_max = 32'768, k_word_bytes_max = std::size_t{1} << 20;
  static constexpr std::size_t k_parts_max = 2'048, k_part_bytes_max = std::size_t{1} << 20;
  /// Of so many bytes of payloads, words that came before take so many at most, each time that they come again.
  static constexpr std::size_t copied_bytes_max(std::size_t payload_bytes) noexcept {
    return (std::size_t{1} << 20) + 16 * payload_bytes;
  }

  explicit Encoder(const SymbolTable& symbols);
  ~Encoder();
  /// The payload; good until the next call. A record that is larger than k_payload_bytes_max: empty, and what follows
  /// is to be the beginning of a segment: begin_segment().
  const std::string& encode(const Record& record, std::int64_t segment_began_ns);
  /// Forgets what was written: the next record is the first of a segment.
  void begin_segment();

 private:
  struct Tables;
  const SymbolTable& symbols_;
  std::unique_ptr<Tables> tables_;
  std::string payload_;
};

}  // namespace berth::recording
