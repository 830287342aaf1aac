// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace berth {

/// "0.1.0": of this build, as CMakeLists.txt has it.
std::string_view product_version() noexcept;

/// "berth 0.1.0".
std::string_view product() noexcept;

/// How clients introduce themselves: "berth/0.1.0/scheduler"; `part` is what asks.
std::string user_agent(std::string_view part = "scheduler");

/// The version of kube-scheduler whose decisions are made.
inline constexpr std::string_view k_upstream_version = "v1.36.2";
/// The same without the patch: "1.36"; and of that what follows the point.
inline constexpr std::string_view k_upstream_release = k_upstream_version.substr(1, k_upstream_version.rfind('.') - 1);
inline constexpr std::string_view k_upstream_minor = k_upstream_release.substr(k_upstream_release.find('.') + 1);

/// Where upstream names its version of Go, and the machine.
inline constexpr std::string_view k_compiler = "none (C++, " __VERSION__ ")";
#if defined(__aarch64__)
inline constexpr std::string_view k_platform = "linux/arm64";
#else
inline constexpr std::string_view k_platform = "linux/amd64";
#endif

}  // namespace berth
