// SPDX-License-Identifier: Apache-2.0
#include "extender/redirects.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/guarded.hpp"
#include "base/url_text.hpp"

namespace berth::extender {
namespace {

using net::HttpClient;
using net::Url;

/// "." and ".." of a path, as RFC 3986 section 5.2.4 has them.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  bool ends_open = false;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    ends_open = part == "." || part == "..";
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!ends_open) parts.push_back(part);
    begin = end + 1;
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return ends_open || out.empty() ? out + "/" : out;
}

}  // namespace

Result<Address> resolve_location(const Address& from, std::string_view location) {
  location = location.substr(0, location.find('#'));
  std::string_view query = location.substr(std::min(location.find('?'), location.size()));
  std::string_view path = location.substr(0, location.size() - query.size());
  Address to = from;
  const std::size_t colon = path.find("://");
  const std::size_t scheme =
      colon != std::string_view::npos && path.find('/') == colon + 1 ? colon : std::string_view::npos;
  if (scheme != std::string_view::npos || path.starts_with("//")) {
    const std::size_t host = scheme == std::string_view::npos ? 2 : scheme + 3;
    const std::size_t end = std::min(path.find('/', host), path.size());
    Result<Url> server =
        net::parse_url(scheme == std::string_view::npos ? from.server.scheme + ":" + std::string(path.substr(0, end))
                                                        : path.substr(0, end),
                       from.server.scheme);
    if (!server.ok()) return server.error();
    if (server->scheme != "http" && server->scheme != "https")
      return Error{fmt::format("{} is neither http:// nor https://", url_without_password(location))};
    to.server = std::move(*server);
    path = path.substr(end);
    to.target = without_dots(path);
  } else if (path.starts_with('/')) {
    to.target = without_dots(path);
  } else {
    const std::string_view old_path = std::string_view(from.target).substr(0, from.target.find('?'));
    to.target = path.empty() ? std::string(old_path)
                             : without_dots(std::string(old_path.substr(0, old_path.rfind('/') + 1)).append(path));
  }
  to.target += query;
  return to;
}

Result<HttpClient*> Redirects::client_of(const Url& server) {
  const Lock lock(mutex_);
  if (stopped_) return Error{"the client was stopped"};
  for (const auto& [known, client] : clients_)
    if (known == server) return client.get();
  if (clients_.size() == k_servers_max)
    return Error{fmt::format("it sends its callers to more than {} servers", k_servers_max)};
  Result<std::unique_ptr<HttpClient>> made = make_(server);
  if (!made.ok()) return made.error();
  clients_.emplace_back(server, std::move(*made));
  return clients_.back().second.get();
}

void Redirects::stop() noexcept {
  std::vector<HttpClient*> clients;
  {
    const Lock lock(mutex_);
    stopped_ = true;  // nothing is added any more
    for (const auto& [server, client] : clients_) clients.push_back(client.get());
  }
  for (HttpClient* client : clients) client->stop();
}

}  // namespace berth::extender
