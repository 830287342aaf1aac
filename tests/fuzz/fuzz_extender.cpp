// SPDX-License-Identifier: Apache-2.0
/// Reads arbitrary bytes as what an extender answers; the first byte says to which question.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "extender/messages.hpp"

namespace {

template <typename T>
void check_failure(const berth::Result<T>& answer) {
  if (!answer.ok()) BERTH_CHECK(!answer.error().message.empty(), "refused without a reason");
}

void check_reasons(const berth::extender::Extender::Failures& failures) {
  for (const auto& [node, why] : failures)
    BERTH_CHECK(why.size() <= berth::k_excerpt_bytes_max, "a reason of {} bytes", why.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::extender;
  if (size < 1) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
    case 1: {
      const auto answer = filter_answer(body, data[0] % 5 == 0);
      check_failure(answer);
      if (!answer.ok()) break;
      check_reasons(answer->failed);
      check_reasons(answer->unresolvable);
      break;
    }
    case 2:
      check_failure(prioritize_answer(body));
      break;
    case 3:
      check_failure(preempt_answer(body));
      break;
    default:
      check_failure(bind_answer(body));
  }
  return 0;
}
