// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "observe/log.hpp"

namespace berth::app {

/// One object: {"ts":1763651045123.456,"caller":"binding/binder.cpp:51","level":"info","msg":"Message","v":0,"key":…}.
/// Errors have no "v". Whatever a text holds, the line stays valid: what is not UTF-8 becomes U+FFFD.
/// Source: kubernetes v1.36 component-base/logs/json. Departs: "level" is berth's own.
void log_as_json(const observe::LogLine& line, std::string& out);

}  // namespace berth::app
