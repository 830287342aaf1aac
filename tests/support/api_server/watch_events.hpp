// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "support/api_server/api_store.hpp"

/// What a watch says, one line of JSON each.
namespace berth::tests {

std::string event_text(std::string_view type, const std::string& object);
std::string bookmark_text(const ApiResource& resource, std::uint64_t version, bool end_of_list);
/// What a watcher with that selector sees of a change; empty: nothing.
std::string seen_change(const Change& change, const std::string& selector);

}  // namespace berth::tests
