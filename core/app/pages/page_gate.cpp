// SPDX-License-Identifier: Apache-2.0
#include "app/pages/page_gate.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

namespace berth::app {
namespace {

constexpr std::size_t k_secret_bytes = 32;

serving::Admission refused(int status, std::string text) {
  serving::HttpResponse reply{status, std::move(text)};
  if (status == 405) reply.headers.emplace_back("Allow", "GET");
  return std::optional(std::move(reply));
}

}  // namespace

Result<std::shared_ptr<PageGate>> PageGate::make() {
  std::array<unsigned char, k_secret_bytes> secret{};
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    return Error{"the system has no random bytes for the secret of the page"};
  std::shared_ptr<PageGate> gate(new PageGate(fmt::format("/{:02x}/", fmt::join(secret, ""))));
  if (!gate->expected_) return Error{"no digest can be made of the secret of the page"};
  return gate;
}

/// A page of another site that had its name resolved to the loopback asks for that name.
bool PageGate::is_for_us(const serving::HttpRequest& ask) const {
  const std::uint16_t port = port_;
  const auto is_host = [](const auto& field) { return field.first == "host"; };
  if (port == 0 || std::count_if(ask.headers.begin(), ask.headers.end(), is_host) != 1) return false;
  const std::string_view host = ask.header("host");
  return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
}

serving::Admission PageGate::judge(const serving::HttpRequest& ask) const {
  if (!is_for_us(ask)) return refused(421, "this is no server of that name\n");
  const std::string_view site = ask.header("sec-fetch-site");
  if (!site.empty() && site != "none" && site != "same-origin")
    return refused(403, "pages of other sites are not answered\n");
  if (ask.method != "GET") return refused(405, "only GET is answered\n");
  // By their digests, so that the time says nothing of how much of a guess was right.
  const auto given = digest_.of(ask.path);
  if (!given || given != expected_) return refused(404, "there is no such page: berth ui has printed the address\n");
  return {std::nullopt, true};
}

}  // namespace berth::app
