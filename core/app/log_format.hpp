// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

namespace spdlog {
class formatter;
}

namespace berth::app {

/// Lines as klog writes them: "I1120 15:04:05.123456    1234 berth] text".
std::unique_ptr<spdlog::formatter> make_text_format();

/// One JSON object a line, as upstream's: {"ts":1763651045123.456,"level":"info","msg":"text","v":0}. Whatever the text
/// holds, the line stays one valid object: what is not UTF-8 becomes U+FFFD.
std::unique_ptr<spdlog::formatter> make_json_format();

/// The log's level for a verbosity of upstream's: 0 says what happens, 2 why, 4 everything.
void log_up_to(int verbosity);
int verbosity() noexcept;

}  // namespace berth::app
