// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

// Internal to core/decode: the files of core/decode/wire, made part of the binary by CMakeLists.txt.
namespace berth::decode {

std::span<const std::string_view> wire_packages() noexcept;

}  // namespace berth::decode
