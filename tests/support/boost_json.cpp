// SPDX-License-Identifier: Apache-2.0
// Boost.JSON without its library.
#include <boost/json/src.hpp>
