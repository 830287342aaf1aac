// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace berth::text {

/// The part of a JSON text that find_path() finds in its document, as it is written there; empty: there is none. Of a name that
/// occurs twice the last counts. For text that is to be written again without any change.
///
/// Requires: the text is JSON; of another one some part is returned. Any thread.
std::string_view json_at(std::string_view json, std::string_view path);

}  // namespace berth::text
