// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace berth::loader {

/// Names within a few typing errors of `wanted`, or that differ only in what stands before the '/', or in upper and
/// lower case; nearest first, at most three.
std::vector<std::string> near_names(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace berth::loader
