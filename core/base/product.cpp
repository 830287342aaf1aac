// SPDX-License-Identifier: Apache-2.0
#include "base/product.hpp"

namespace berth {

std::string_view product_version() noexcept { return BERTH_PRODUCT_VERSION; }
std::string_view product() noexcept { return "berth " BERTH_PRODUCT_VERSION; }
std::string user_agent(std::string_view part) { return std::string("berth/" BERTH_PRODUCT_VERSION "/").append(part); }

}  // namespace berth
