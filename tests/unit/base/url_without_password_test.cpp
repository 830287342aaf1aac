// SPDX-License-Identifier: Apache-2.0
#include "base/url_text.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(UrlWithoutPassword, ShowsEverythingElse) {
  for (const auto& [url, shown] : {
           std::pair{"https://me:secret@host:1/path", "https://me:***@host:1/path"},
           std::pair{"http://me:@host", "http://me:***@host"},
           std::pair{"http://:se:cr@et@host", "http://:***@host"},
           std::pair{"me:secret@host:1", "me:***@host:1"},
           std::pair{"https://me@host:1/a:b@c", "https://me@host:1/a:b@c"},
           std::pair{"http://me:se/cr/et@host/path", "http://me:***@host/path"},
           std::pair{"https://host:1/x", "https://host:1/x"},
           std::pair{"https://host:1/x@y", "https://host:1/x@y"},
           std::pair{"https://[::1]/x@y", "https://[::1]/x@y"},
           std::pair{"http://[::1]:1", "http://[::1]:1"},
           std::pair{"", ""},
       })
    EXPECT_EQ(url_without_password(url), shown);
}

}  // namespace
}  // namespace berth
