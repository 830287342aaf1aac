// SPDX-License-Identifier: Apache-2.0
/// Reads arbitrary bytes as a server's answer, through everything that an HTTP client does with one but the connection:
/// announces, header, chunks, trailers, gzip, then a list or a watch. The first byte says what was asked for, the second
/// into what pieces the network cuts it: however it does, the same must come of it, and never more than is allowed.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "net/wire/answer_parser.hpp"

namespace {

using namespace berth;
using net::AnswerParser;

constexpr std::uint64_t k_body_bytes_max = 100'000;

struct Outcome {
  bool is_good = false;
  int status = 0;
  std::string content_type, body;
};

Outcome read(std::string_view bytes, std::size_t piece_bytes, const AnswerParser::Limits& limits) {
  AnswerParser answer(limits);
  boost::beast::flat_buffer buffer;
  Outcome out;
  for (;;) {
    const Result<AnswerParser::Step> step = answer.step(buffer);
    if (!step.ok()) {
      BERTH_CHECK(!step.error().message.empty() && step.error().message.size() < 1024,
                  "an error says why, in few words");
      break;
    }
    if (*step == AnswerParser::Step::end) {
      out.is_good = true;
      break;
    }
    if (*step == AnswerParser::Step::piece) {
      BERTH_CHECK(!answer.piece().empty() && answer.piece().size() <= limits.piece_bytes, "a piece of {} bytes",
                  answer.piece().size());
      out.body += answer.piece();
      BERTH_CHECK(!limits.body_bytes_max || out.body.size() <= *limits.body_bytes_max, "more than is allowed");
      if (out.body.size() > 64 * k_body_bytes_max) break;  // a stream that unpacks without end; memory is ours
    }
    if (*step != AnswerParser::Step::more) continue;
    BERTH_CHECK(buffer.size() <= net::k_unparsed_bytes_max + piece_bytes, "{} bytes wait", buffer.size());
    const std::size_t size = std::min(piece_bytes, bytes.size());
    const auto room = buffer.prepare(size);
    std::copy_n(bytes.data(), size, static_cast<char*>(room.data()));
    buffer.commit(size);
    bytes.remove_prefix(size);
    if (size == 0) answer.source_ended();
  }
  out.status = answer.status();
  out.content_type = answer.content_type();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  AnswerParser::Limits limits;
  limits.takes_gzip = (data[0] & 1) != 0;
  limits.piece_bytes = (data[0] & 2) != 0 ? 16 * 1024 : 7;
  limits.body_bytes_max = k_body_bytes_max;
  if ((data[0] & 4) != 0) limits.body_bytes_max.reset();
  const Outcome whole = read(bytes, std::max<std::size_t>(bytes.size(), 1), limits);
  const Outcome cut = read(bytes, std::max<std::size_t>(data[1], 1), limits);
  BERTH_CHECK(whole.is_good == cut.is_good, "good or not depends on how it is cut");
  if (!whole.is_good) return 0;
  BERTH_CHECK(whole.status == cut.status && whole.content_type == cut.content_type && whole.body == cut.body,
              "what is read depends on how it is cut");

  const auto layout = decode::wire_layout_of("core/v1/pods");
  const auto list =
      cluster::kube::make_list_body(whole.content_type, layout, "input",
                                    [](const text::Document*, const decode::TypeHint&, const text::Diagnostics&) {});
  if (list->add(whole.body).ok()) (void)list->end();
  const auto watch = cluster::kube::make_watch_body(
      whole.content_type, layout, "input",
      [](std::string_view, const text::Document*, const text::Value*, const text::Diagnostics&) {});
  (void)watch->add(whole.body);
  return 0;
}
