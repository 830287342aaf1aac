// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace berth {

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace berth
