// SPDX-License-Identifier: Apache-2.0
#include "serving/health.hpp"

#include <gtest/gtest.h>

namespace berth::serving {
namespace {

HttpResponse ask(bool shutting_down, const std::string& path,
                 std::vector<std::pair<std::string, std::string>> query = {}) {
  const auto routes =
      health_routes("readyz",
                    {{"ping", [] { return Status(Unit{}); }},
                     {"shutdown", [=] { return shutting_down ? Status(Error{"going"}) : Status(Unit{}); }}},
                    std::make_shared<HealthRecord>());
  HttpRequest out;
  out.query = std::move(query);
  for (const Route& route : routes)
    if (route.path == path) return route.handler(out);
  return {404, ""};
}

TEST(Health, IsAWordWhenAllIsWellAndAListWhenAsked) {
  EXPECT_EQ(ask(false, "/readyz").body, "ok");
  EXPECT_EQ(ask(false, "/readyz", {{"verbose", ""}}).body, "[+]ping ok\n[+]shutdown ok\nreadyz check passed\n");
}

TEST(Health, AFailureIsNamedAndItsReasonIsKept) {
  const HttpResponse reply = ask(true, "/readyz");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n");
  EXPECT_EQ(ask(true, "/readyz/shutdown").body, "internal server error: going\n");
  EXPECT_EQ(ask(true, "/readyz/ping").body, "ok");
}

TEST(Health, ChecksCanBeExcluded) {
  EXPECT_EQ(ask(true, "/readyz", {{"exclude", "shutdown"}}).body, "ok");
  EXPECT_EQ(ask(true, "/readyz", {{"exclude", "shutdown"}, {"exclude", "x"}, {"verbose", "1"}}).body,
            "[+]ping ok\n[+]shutdown excluded: ok\n"
            "warn: some health checks cannot be excluded: no matches for \"x\"\nreadyz check passed\n");
}

}  // namespace
}  // namespace berth::serving
