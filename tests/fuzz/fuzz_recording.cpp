// SPDX-License-Identifier: Apache-2.0
// Any bytes as a segment of a recording: what is read of it can be written, and is then read as the same. Checksums are made
// right first, so that what stands behind them is reached. The cluster that it comes to, written as a whole state, is that
// cluster again.
#include <cstdint>
#include <string>

#include "base/check.hpp"
#include "recording/decoder.hpp"
#include "recording/encoder.hpp"
#include "recording/reader.hpp"
#include "recording/record_json.hpp"
#include "recording/state.hpp"

namespace {

std::string json_of(const std::vector<berth::recording::Record>& records, const berth::SymbolTable& symbols) {
  std::string out;
  for (const berth::recording::Record& record : records) out += json_line(record, symbols) + '\n';
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::recording;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  berth::SymbolTable symbols;
  {
    Reader reader = Reader::of_bytes(std::string(bytes), "as it is", symbols);
    for (Record record; reader.next(record);) (void)json_line(record, symbols);
  }
  if (size < k_header_bytes) return 0;
  std::string mended = header_bytes({1, 1, 0, 0});
  std::string_view rest = bytes.substr(k_header_bytes);
  while (rest.size() > k_frame_bytes) {
    const auto length =
        static_cast<std::uint8_t>(rest[0]) | static_cast<std::size_t>(static_cast<std::uint8_t>(rest[1])) << 8;
    const std::string_view payload = rest.substr(k_frame_bytes, length);
    append_frame(mended, payload);
    rest.remove_prefix(k_frame_bytes + payload.size());
  }
  Reader reader = Reader::of_bytes(mended, "mended", symbols);
  Encoder encoder(symbols);
  Decoder decoder(symbols);
  State state;
  for (Record record; reader.next(record);) {
    const std::string line = json_line(record, symbols);
    const std::string& payload = encoder.encode(record, 0);
    if (payload.empty()) return 0;  // larger than any record: words that came again are written out
    const berth::Result<Record> again = decoder.decode(payload, 0);
    BERTH_CHECK(again.ok(), "what is written cannot be read: {}", again.ok() ? "" : again.error().message);
    Record same = *again;
    same.wall_ns = record.wall_ns;
    // An annotation that is never written.
    BERTH_CHECK(line.find("last-applied-configuration") != std::string::npos || json_line(same, symbols) == line,
                "it is read differently: {} and {}", line, json_line(same, symbols));
    state.apply(record);
  }
  const std::vector<Record> whole = state.records(0);
  State same;
  for (const Record& record : whole) same.apply(record);
  const std::string first = json_of(whole, symbols), second = json_of(same.records(0), symbols);
  BERTH_CHECK(same.is_complete() && first == second, "a whole state is another cluster: {} and {}", first, second);
  return 0;
}
