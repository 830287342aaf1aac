// SPDX-License-Identifier: Apache-2.0
/// URLs, as Go's url.ParseRequestURI reads them.
#pragma once
#include <string_view>

namespace berth::cel {

/// Parts of the text as written.
struct Url {
  std::string_view whole;
  std::string_view scheme;
  std::string_view host;  ///< with its port
  std::string_view hostname;
  std::string_view port;
  std::string_view path;
  std::string_view query;
};

/// False if it is no absolute URL and no absolute path.
bool parse_url(std::string_view text, Url& url);

}  // namespace berth::cel
