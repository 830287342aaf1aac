// SPDX-License-Identifier: Apache-2.0
// What servers may answer other than one plain 200, where they may redirect their callers to, and proxies before them.
#include <cstdlib>

#include "base/base64.hpp"
#include "extender/redirects.hpp"
#include "extenders/extender_fixture.hpp"
#include "support/servers/connect_proxy.hpp"

namespace berth::tests {
namespace {

TEST(ExtenderWire, AServerMayInsistOnPostAndOnTheExactContentType) {
  ScriptedExtender extender([](const Question& question) {
    if (question.method != "POST") return Answer{"", 405};
    if (question.content_type != "application/json") return Answer{"", 404};
    return all_pass(question);
  });
  EXPECT_TRUE(Attempt(filter_at(extender.url())).placed());
}

TEST(ExtenderWire, AnAnswerMayBePacked) {
  ScriptedExtender extender([](const Question&) {
    return Answer{*decode_base64("H4sIAAAAAAACA6tW8stPSfVLzE0tVrJSiFZKVIqtBQDzqxHKFAAAAA=="), 200, Answer::Way::plain,
                  "Content-Encoding: gzip\r\n"};
  });
  Attempt attempt(filter_at(extender.url()));
  EXPECT_TRUE(attempt.placed()) << attempt.message();
}

TEST(ExtenderWire, AnswersAndTheirHeadersMayBeLarge) {
  ScriptedExtender extender([](const Question&) {
    return Answer{"{\"Padding\": \"" + std::string(4'000'000, 'x') + "\", \"NodeNames\": [\"a\"]}", 200,
                  Answer::Way::plain, "X-Padding: " + std::string(60'000, 'x') + "\r\n"};
  });
  Attempt attempt(filter_at(extender.url()));
  EXPECT_TRUE(attempt.placed()) << attempt.message();
  ScriptedExtender endless([](const Question&) {
    return Answer{"{}", 200, Answer::Way::plain, "X-Padding: " + std::string(200'000, 'x') + "\r\n"};
  });
  Attempt failed(filter_at(endless.url()));
  EXPECT_EQ(failed.code(), framework::Code::error);
  EXPECT_NE(failed.message().find("the connection broke"), std::string::npos) << failed.message();
}

TEST(ExtenderWire, InterimAnswersArePassedOver) {
  ScriptedExtender extender([](const Question& question) {
    Answer answer = all_pass(question);
    answer.before = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    return answer;
  });
  Attempt attempt(filter_at(extender.url()));
  EXPECT_TRUE(attempt.placed()) << attempt.message();
  ScriptedExtender endless([](const Question& question) {
    Answer answer = all_pass(question);
    for (int i = 0; i < 6; ++i) answer.before += "HTTP/1.1 100 Continue\r\n\r\n";
    return answer;
  });
  EXPECT_FALSE(Attempt(filter_at(endless.url())).placed());
}

TEST(ExtenderWire, AnAnswerWithoutABodyIsAFailureOfBindAndIgnoredByPrioritize) {
  ScriptedExtender binder([](const Question&) { return Answer{""}; });
  ExtenderWorld unbound(one_extender(binder, "bindVerb: bind"));
  unbound.node("a");
  unbound.pod("p");
  unbound.run();
  EXPECT_EQ(unbound.place("p"), "");
  ScriptedExtender ranker([](const Question&) { return Answer{""}; });
  ExtenderWorld ranked(one_extender(ranker, "prioritizeVerb: rank, weight: 1"));
  for (const char* const node : {"a", "b"}) ranked.node(node);
  ranked.pod("p");
  ranked.run();
  EXPECT_NE(ranked.place("p"), "");
  EXPECT_EQ(ranker.questions().size(), 1U);
}

TEST(ExtenderWire, NoScoresAreNoFailure) {
  ScriptedExtender extender([](const Question&) { return Answer{"[]"}; });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 1"));
  for (const char* const node : {"a", "b"}) world.node(node);
  world.pod("p");
  world.run();
  EXPECT_NE(world.place("p"), "");
  EXPECT_EQ(extender.questions().size(), 1U);
}

// Redirections.

/// Answers everything with a redirection.
Answer moved(unsigned status, const std::string& to) {
  return {"", status, Answer::Way::plain, "Location: " + to + "\r\n"};
}

TEST(ExtenderRedirect, ThePostIsRepeatedWhereTheServerSays) {
  for (const unsigned status : {307U, 308U}) {
    ScriptedExtender second(all_pass);
    ScriptedExtender first([&](const Question& question) {
      return question.target == "/scheduler/filter"
                 ? moved(status, "../other/filter")
                 : moved(status, "http://127.0.0.1:" + std::to_string(second.port()) + "/there?x=y");
    });
    Attempt attempt(filter_at(first.url()));
    EXPECT_TRUE(attempt.placed()) << attempt.message();
    ASSERT_EQ(first.questions().size(), 2U);
    EXPECT_EQ(first.questions()[1].target, "/other/filter");
    ASSERT_EQ(second.questions().size(), 1U);
    const Question asked = second.questions()[0];
    EXPECT_EQ(asked.method, "POST");
    EXPECT_EQ(asked.target, "/there?x=y");
    EXPECT_EQ(asked.body, first.questions()[0].body);
  }
}

TEST(ExtenderRedirect, AUserGoesAlongOnTheSameServerOnly) {
  ScriptedExtender second(all_pass);
  ScriptedExtender first([&](const Question& question) {
    return question.target == "/filter" ? moved(307, "/again")
                                        : moved(307, "http://127.0.0.1:" + std::to_string(second.port()) + "/filter");
  });
  EXPECT_TRUE(Attempt(filter_at("http://me:secret@127.0.0.1:" + std::to_string(first.port()))).placed());
  EXPECT_NE(first.questions().at(1).authorization, "");
  EXPECT_EQ(second.questions().at(0).authorization, "");
}

TEST(ExtenderRedirect, TheTenthIsOneTooMany) {
  ScriptedExtender extender([](const Question&) { return moved(307, "filter"); });
  Attempt attempt(filter_at(extender.url()));
  EXPECT_EQ(attempt.message(), "Post \"" + extender.url() + "/filter\": stopped after 10 redirects");
  EXPECT_EQ(extender.questions().size(), 10U);
}

TEST(ExtenderRedirect, AllTogetherTakeNoLongerThanTheTimeout) {
  ScriptedExtender extender([](const Question& question) {
    return question.target == "/scheduler/filter" ? moved(307, "silent") : Answer{"", 200, Answer::Way::silent};
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(Attempt(filter_at(extender.url(), "httpTimeout: 100ms")).placed());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
}

TEST(ExtenderRedirect, WhereALocationLeads) {
  const extender::Address from{*net::parse_url("http://me:pw@h:81", "http"), "/a/b?q=1"};
  const auto leads = [&](const char* location) {
    const Result<extender::Address> to = extender::resolve_location(from, location);
    return !to.ok() ? std::string("nowhere")
                    : to->server.scheme + "://" + to->server.user + "@" + to->server.authority() + to->target;
  };
  EXPECT_EQ(leads("/x"), "http://me@h:81/x");
  EXPECT_EQ(leads("x?r#f"), "http://me@h:81/a/x?r");
  EXPECT_EQ(leads("../../x/./y/.."), "http://me@h:81/x/");
  EXPECT_EQ(leads("?r"), "http://me@h:81/a/b?r");
  EXPECT_EQ(leads("https://i"), "https://@i:443/");
  EXPECT_EQ(leads("http://i?r"), "http://@i:80/?r");
  EXPECT_EQ(leads("//i:82/x"), "http://@i:82/x");
  EXPECT_EQ(leads("ftp://i/x"), "nowhere");
  EXPECT_EQ(leads("http://"), "nowhere");
}

// Proxies.

/// A variable of the environment, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Of this machine, and not a loopback address: those are reached without a proxy.
std::string outside(const ScriptedExtender& extender, const char* scheme) {
  return std::string(scheme) + "://0.0.0.0:" + std::to_string(extender.port());
}

TEST(ExtenderProxy, PlainRequestsArePassedOnByTheOneOfHttpProxy) {
  ScriptedExtender extender(all_pass);
  ConnectProxy proxy(false), other(false);
  const Variable plain("HTTP_PROXY", proxy.url()), tls("HTTPS_PROXY", other.url());
  ExtenderWorld world(filter_at(outside(extender, "http")));
  world.node("a");
  for (const char* const pod : {"p", "q"}) world.pod(pod);
  world.run();
  EXPECT_EQ(world.place("q"), "a") << world.message("q");
  EXPECT_EQ(proxy.forwarded(), 2U);
  EXPECT_EQ(proxy.tunnels(), 0U);
  EXPECT_EQ(proxy.authorization(), "Basic " + encode_base64("me:secret"));
  EXPECT_EQ(extender.questions().at(0).target, "/filter");
  EXPECT_EQ(extender.questions().at(0).host, "0.0.0.0:" + std::to_string(extender.port()));
  EXPECT_EQ(other.forwarded() + other.tunnels(), 0U);
}

TEST(ExtenderProxy, TlsGoesThroughATunnelOfTheOneOfHttpsProxy) {
  ScriptedExtender extender(all_pass, {.tls = true});
  ConnectProxy proxy(false);
  const Variable tls("HTTPS_PROXY", proxy.url());
  Attempt attempt(filter_at(outside(extender, "https"), "enableHTTPS: true"));
  EXPECT_TRUE(attempt.placed()) << attempt.message();
  EXPECT_EQ(proxy.tunnels(), 1U);
  EXPECT_EQ(proxy.forwarded(), 0U);
}

TEST(ExtenderProxy, NoProxyLeavesItOut) {
  ScriptedExtender extender(all_pass);
  ConnectProxy proxy(false);
  const Variable plain("HTTP_PROXY", proxy.url()), none("NO_PROXY", "0.0.0.0");
  EXPECT_TRUE(Attempt(filter_at(outside(extender, "http"))).placed());
  EXPECT_EQ(proxy.forwarded(), 0U);
}

}  // namespace
}  // namespace berth::tests
