// SPDX-License-Identifier: Apache-2.0
#include "app/pages/page_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth::app {
namespace {

class Gate : public testing::Test {
 protected:
  Gate() : gate(*PageGate::make()) { gate->listens_on(4321); }

  /// As a browser asks for the page whose address was typed.
  serving::HttpRequest ask() const {
    serving::HttpRequest out;
    out.method = "GET";
    out.path = gate->path();
    out.headers = {{"host", "127.0.0.1:4321"}, {"sec-fetch-site", "none"}};
    return out;
  }
  int status(const serving::HttpRequest& ask) const {
    const serving::Admission admission = gate->judge(ask);
    return admission.refusal ? admission.refusal->status : 200;
  }
  int status_for(const std::vector<std::pair<std::string, std::string>>& headers) const {
    serving::HttpRequest out = ask();
    out.headers = headers;
    return status(out);
  }

  std::shared_ptr<PageGate> gate;
};

TEST_F(Gate, AcceptsRequestsWithTheSecretPath) {
  EXPECT_EQ(status(ask()), 200);
  EXPECT_EQ(status_for({{"host", "localhost:4321"}}), 200) << "curl sends nothing of the site";
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4321"}, {"sec-fetch-site", "same-origin"}}), 200) << "loaded again";
}

TEST_F(Gate, TheSecretHas256BitsAndIsAnotherEachTime) {
  EXPECT_EQ(gate->path().size(), 64 + 2);
  EXPECT_TRUE(std::all_of(gate->path().begin() + 1, gate->path().end() - 1,
                          [](unsigned char c) { return std::isxdigit(c) != 0; }));
  EXPECT_NE((*PageGate::make())->path(), gate->path());
}

TEST_F(Gate, WithoutTheSecretThereIsNoPage) {
  std::string almost = gate->path();
  almost[10] = almost[10] == 'a' ? 'b' : 'a';
  for (const std::string& path : {std::string("/"), std::string(), std::string("/favicon.ico"), almost,
                                  gate->path() + "x", gate->path().substr(0, gate->path().size() - 1)}) {
    serving::HttpRequest other = ask();
    other.path = path;
    EXPECT_EQ(status(other), 404) << path;
  }
}

TEST_F(Gate, AnotherNameOfTheLoopbackIsRefused) {
  EXPECT_EQ(status_for({}), 421);
  for (const char* host :
       {"", "127.0.0.1", "127.0.0.1:4322", "evil.example:4321", "127.0.0.1:4321.evil.example", "[::1]:4321"})
    EXPECT_EQ(status_for({{"host", host}}), 421) << host;
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4321"}, {"host", "evil.example"}}), 421);
}

TEST_F(Gate, PagesOfOtherSitesAreRefused) {
  for (const char* site : {"cross-site", "same-site", "something"})
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4321"}, {"sec-fetch-site", site}}), 403) << site;
}

TEST_F(Gate, OnlyGetIsAnswered) {
  for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", ""}) {
    serving::HttpRequest other = ask();
    other.method = method;
    EXPECT_EQ(status(other), 405) << method;
  }
}

TEST_F(Gate, RequestsAreRefusedBeforeThePortIsKnown) {
  const std::shared_ptr<PageGate> early = *PageGate::make();
  serving::HttpRequest first = ask();
  first.path = early->path();
  first.headers = {{"host", "127.0.0.1:0"}};
  EXPECT_EQ(early->judge(first).refusal->status, 421);
}

}  // namespace
}  // namespace berth::app
