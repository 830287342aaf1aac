// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

/// The parts of the page, as they stood in this folder at build time; digests in hex are of exactly these texts.
namespace berth::report::page {

std::string_view body() noexcept;
std::string_view style() noexcept;
std::string_view style_sha256() noexcept;
std::string_view script() noexcept;  // one module: the scripts of the folder in the order of core/report/CMakeLists.txt
std::string_view script_sha256() noexcept;

}  // namespace berth::report::page
