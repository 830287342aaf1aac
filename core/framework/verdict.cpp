// SPDX-License-Identifier: Apache-2.0
#include "framework/verdict.hpp"

namespace berth::framework {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::success:
      return "Success";
    case Code::error:
      return "Error";
    case Code::unschedulable:
      return "Unschedulable";
    case Code::unresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::wait:
      return "Wait";
    case Code::skip:
      return "Skip";
    case Code::pending:
      return "Pending";
    case Code::async:
      return "Async";
  }
  return "Unknown";
}

std::string Verdict::message() const {
  std::string text;
  for (const std::string& reason : reasons) {
    if (!text.empty()) text += ", ";
    text += reason;
  }
  return text;
}

}  // namespace berth::framework
