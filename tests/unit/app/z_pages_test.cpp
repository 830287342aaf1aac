// SPDX-License-Identifier: Apache-2.0
#include "app/pages/z_pages.hpp"

#include <gtest/gtest.h>

#include "app/pages/accept_header.hpp"

namespace berth::app {
namespace {

constexpr std::int64_t k_started_ns = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z, a Tuesday

class ZPages : public testing::Test {
 protected:
  ZPages() : clock(k_started_ns) { clock.advance(std::chrono::seconds(3 * 3600 + 4 * 60 + 5)); }

  serving::HttpResponse get(const std::string& path, const std::string& accept) {
    ZPagesParts parts{clock};
    parts.started_wall_ns = k_started_ns;
    parts.compiler = "none (C++)";
    parts.binary_version = "v1.36.2";
    parts.emulation_version = "1.35";
    parts.paths = {"/configz", "/readyz"};
    parts.flags = {{"config", ""}, {"leader-elect-resource-name", "kube-scheduler"}};
    serving::HttpRequest ask;
    ask.path = path;
    if (!accept.empty()) ask.headers = {{"accept", accept}};
    for (const serving::Route& route : z_routes(parts))
      if (route.path == path) return route.handler(ask);
    return {404};
  }
  std::string warning(const serving::HttpResponse& reply) {
    for (const auto& [name, value] : reply.headers)
      if (name == "Warning") return value;
    return "";
  }

  ManualClock clock;
};

TEST_F(ZPages, AreTextForCallersWhoNameNothingElse) {
  const std::string head =
      "\nkube-scheduler statusz\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
      "compatibility guarantees and is for debugging purposes only.\n";
  for (const char* accept : {"", " ", "text/plain", "*/*", "text/*", "application/json, text/plain;q=0.5",
                             "application/json;v=foo;g=config.k8s.io;as=Statusz,*/*", "text/plain;charset=utf-8"}) {
    const serving::HttpResponse reply = get("/statusz", accept);
    EXPECT_EQ(reply.status, 200) << accept;
    EXPECT_EQ(reply.content_type, "text/plain; charset=utf-8") << accept;
    EXPECT_EQ(reply.body,
              head +
                  "\nStarted: Tue Nov 14 22:13:20 UTC 2023\nUp: 3 hr 04 min 05 sec\nGo version: none (C++)\n"
                  "Binary version: v1.36.2\nEmulation version: 1.35\nPaths: /configz /readyz\n")
        << accept;
  }
  EXPECT_TRUE(get("/flagz", "").body.ends_with("only.\nconfig=\nleader-elect-resource-name=kube-scheduler\n"));
}

TEST_F(ZPages, AreJsonForCallersWhoNameTheKind) {
  const serving::HttpResponse status = get("/statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz");
  EXPECT_EQ(status.status, 200);
  EXPECT_EQ(status.content_type, "application/json;g=config.k8s.io;v=v1beta1;as=Statusz");
  const std::string expected =
      R"({"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kube-scheduler"},)"
      R"-("startTime":"2023-11-14T22:13:20Z","uptimeSeconds":11045,"goVersion":"none (C++)",)-"
      R"("binaryVersion":"v1.36.2","emulationVersion":"1.35","paths":["/configz","/readyz"]})"
      "\n";
  EXPECT_EQ(status.body, expected);
  EXPECT_EQ(warning(status), "");
  const serving::HttpResponse flags = get("/flagz", "application/*;v=v1beta1;g=config.k8s.io;as=Flagz");
  EXPECT_EQ(flags.content_type, "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
  const std::string expected_flags =
      R"({"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"kube-scheduler"},)"
      R"("flags":{"config":"","leader-elect-resource-name":"kube-scheduler"}})"
      "\n";
  EXPECT_EQ(flags.body, expected_flags);
}

TEST_F(ZPages, AreYamlAndCborAsWell) {
  const serving::HttpResponse yaml = get("/flagz", "application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz");
  EXPECT_EQ(yaml.content_type, "application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz");
  EXPECT_EQ(
      yaml.body,
      "kind: Flagz\napiVersion: config.k8s.io/v1beta1\nmetadata:\n  name: kube-scheduler\nflags:\n  config: \"\"\n"
      "  leader-elect-resource-name: kube-scheduler\n");
  const serving::HttpResponse cbor = get("/flagz", "application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz");
  EXPECT_EQ(cbor.content_type, "application/cbor;g=config.k8s.io;v=v1beta1;as=Flagz");
  EXPECT_TRUE(
      cbor.body.starts_with("\xd9\xd9\xf7\xa4\x44kind\x45"
                            "Flagz\x4a"
                            "apiVersion"))
      << cbor.body;
}

TEST_F(ZPages, OfTheOldVersionComeWithAWarning) {
  const std::string old = "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz";
  const std::string recent = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz";
  const serving::HttpResponse first = get("/statusz", old + "," + recent);
  EXPECT_NE(first.body.find("\"config.k8s.io/v1alpha1\""), std::string::npos) << first.body;
  EXPECT_EQ(warning(first),
            "299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\"");
  const serving::HttpResponse second = get("/statusz", recent + "," + old);
  EXPECT_NE(second.body.find("\"config.k8s.io/v1beta1\""), std::string::npos) << second.body;
  EXPECT_EQ(warning(second), "");
  EXPECT_NE(get("/statusz", old + ";q=0.1," + recent).body.find("v1beta1"), std::string::npos);
}

TEST_F(ZPages, RefuseEverythingElse) {
  for (const char* accept :
       {"application/xml", "application/json", "application/json;v=v1beta1;g=config.k8s.io",
        "application/json;v=v2;g=config.k8s.io;as=Statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
        "application/json;v=v1beta1;as=Statusz", "text/plain;as=Statusz", "text/html", "nonsense"}) {
    const serving::HttpResponse reply = get("/statusz", accept);
    EXPECT_EQ(reply.status, 406) << accept;
    EXPECT_EQ(reply.content_type, "application/json") << accept;
    EXPECT_NE(reply.body.find(R"("reason":"NotAcceptable","code":406)"), std::string::npos) << reply.body;
  }
}

TEST_F(ZPages, AreThereAsTheirGatesSay) {
  ZPagesParts parts{clock};
  parts.has_statusz = false;
  ASSERT_EQ(z_routes(parts).size(), 1U);
  EXPECT_EQ(z_routes(parts).front().path, "/flagz");
}

TEST(AcceptHeader, ListsTheBestFirst) {
  const auto order = [](const char* header) {
    std::string out;
    for (const MediaRange& range : parse_accept(header))
      out += std::string(range.type) + "/" + std::string(range.subtype) + " ";
    return out;
  };
  EXPECT_EQ(order("a/b;q=0.1, c/d, */*, e/*, f/g;q=0.5"), "c/d e/* */* f/g a/b ");
  EXPECT_EQ(order("a/b;q=nan,c/d;q=1e999,e/f;q=-1,g/h;q=x,i/j"), "i/j a/b c/d e/f g/h ") << "no quality is the worst";
  EXPECT_EQ(order(",, ;q=1, a, a/b/c, /, *"), "*/* ");
  EXPECT_EQ(parse_accept("a/b;v=1;v=2;q=0.5; w = 3 ").front().parameter("v"), "2");
  EXPECT_EQ(parse_accept("a/b;v=1;v=2;q=0.5; w = 3 ").front().parameter("w"), "3");
}

}  // namespace
}  // namespace berth::app
