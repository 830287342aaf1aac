// SPDX-License-Identifier: Apache-2.0
// How extenders are reached, and what becomes of a pod when one is not.
#include <thread>

#include "base/base64.hpp"
#include "extender/messages.hpp"
#include "extenders/extender_fixture.hpp"
#include "net/gzip.hpp"
#include "support/child_process.hpp"
#include "support/servers/loopback.hpp"
#include "support/test_authority.hpp"

namespace berth::tests {
namespace {

TEST(ExtenderTransport, PostsJsonToPrefixAndVerb) {
  ScriptedExtender extender(all_pass);
  Attempt attempt(filter_at(extender.url() + "///"));
  EXPECT_TRUE(attempt.placed()) << attempt.message();
  const Question asked = extender.questions().at(0);
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.target, "/scheduler/filter");
  EXPECT_EQ(asked.content_type, "application/json");
}

TEST(ExtenderTransport, AUserInTheUrlLogsIn) {
  for (const bool tls : {false, true}) {
    ScriptedExtender extender(all_pass, {.tls = tls});
    const std::string scheme = tls ? "https" : "http";
    Attempt attempt(
        filter_at(scheme + "://me:secret@127.0.0.1:" + std::to_string(extender.port()), "enableHTTPS: true"));
    EXPECT_TRUE(attempt.placed()) << attempt.message();
    EXPECT_EQ(extender.questions().at(0).authorization, "Basic " + encode_base64("me:secret"));
    EXPECT_EQ(extender.questions().at(0).target, "/filter");
  }
}

TEST(ExtenderTransport, APasswordInTheUrlIsNotShown) {
  ScriptedExtender failing([](const Question&) { return Answer{"", 500}; });
  const auto with_user = [](std::uint16_t port) { return "http://me:secret@127.0.0.1:" + std::to_string(port) + "/"; };
  Attempt answered(filter_at(with_user(failing.port())));
  EXPECT_EQ(answered.message(), "failed filter with extender at URL http://me:***@127.0.0.1:" +
                                    std::to_string(failing.port()) + "/filter, code 500");
  std::uint16_t closed = 0;
  { closed = ScriptedExtender(all_pass).port(); }
  Attempt refused(filter_at(with_user(closed)));
  EXPECT_EQ(refused.message().find("Post \"http://me:***@127.0.0.1:"), 0U) << refused.message();
  EXPECT_EQ(refused.message().find("secret"), std::string::npos) << refused.message();
  const extender::Extenders& extenders = *answered.world.simulation->scheduler().views().extenders;
  EXPECT_EQ(extenders.all()[0]->name(), "http://me:***@127.0.0.1:" + std::to_string(failing.port()) + "/");
  for (const char* unusable : {"http://me:secret@h:99999", "http://me:secret@h/?x"}) {
    ExtenderWorld world("[{urlPrefix: \"" + std::string(unusable) + "\"}]");
    ASSERT_EQ(world.errors.size(), 1U);
    EXPECT_EQ(world.errors[0].find("secret"), std::string::npos) << world.errors[0];
  }
}

TEST(ExtenderTransport, OneConnectionServesManyCalls) {
  ScriptedExtender extender(all_pass);
  ExtenderWorld world(filter_at(extender.url()));
  world.node("a", 100);
  for (int i = 0; i < 50; ++i) world.pod("p" + std::to_string(i));
  world.run();
  EXPECT_EQ(extender.questions().size(), 50U);
  EXPECT_EQ(extender.connections(), 1U);
}

TEST(ExtenderTransport, WhatWasWrittenIsNotWrittenAgainWhenTheConnectionEndsWithoutAnAnswer) {
  for (const bool tls : {false, true}) {
    ScriptedExtender extender(
        [&](const Question& question) {
          Answer answer;
          if (question.body.at("PodName") == "second") answer.way = Answer::Way::hang_up;
          return answer;
        },
        {.tls = tls});
    ExtenderWorld world(one_extender(extender, "enableHTTPS: true, bindVerb: bind"));
    world.node("a");
    world.pod("first");
    world.run();
    world.pod("second");
    world.run();
    EXPECT_EQ(world.place("first"), "a");
    EXPECT_EQ(world.place("second"), "");
    EXPECT_EQ(extender.questions().size(), 2U);
    EXPECT_EQ(extender.connections(), 1U);
  }
}

TEST(ExtenderTransport, AConnectionThatWasClosedWhileItWasIdleIsReplacedBeforeAnythingIsWritten) {
  for (const bool tls : {false, true}) {
    ScriptedExtender extender(all_pass, {.tls = tls});
    ExtenderWorld world(one_extender(extender, "enableHTTPS: true, filterVerb: filter"));
    world.node("a", 10);
    for (const char* const pod : {"p", "q", "r"}) {
      world.pod(pod);
      world.run();
      EXPECT_EQ(world.place(pod), "a") << world.message(pod);
      extender.close_connections();
    }
    EXPECT_EQ(extender.questions().size(), 3U);
    EXPECT_EQ(extender.connections(), 3U);
  }
}

TEST(ExtenderTransport, AnswersMayComeInPiecesOrEndWithTheConnection) {
  for (const Answer::Way way : {Answer::Way::chunked, Answer::Way::until_close}) {
    ScriptedExtender extender([&](const Question& question) {
      Answer answer = all_pass(question);
      answer.way = way;
      return answer;
    });
    ExtenderWorld world(filter_at(extender.url()));
    world.node("a");
    for (const char* pod : {"p", "q"}) world.pod(pod);
    world.run();
    for (const char* pod : {"p", "q"}) EXPECT_EQ(world.place(pod), "a") << world.message(pod);
    EXPECT_EQ(extender.connections(), way == Answer::Way::chunked ? 1U : 2U);
  }
}

TEST(ExtenderTransport, EveryStatusBut200IsAFailureAndNothingIsTriedAgain) {
  for (const unsigned status : {201U, 204U, 302U, 404U, 429U, 500U, 503U}) {
    ScriptedExtender extender([&](const Question&) {
      Answer answer;
      answer.status = status;
      answer.headers = "Retry-After: 1\r\nLocation: /elsewhere\r\n";
      if (status == 204) answer.body.clear();
      return answer;
    });
    Attempt attempt(filter_at(extender.url()));
    EXPECT_EQ(attempt.code(), framework::Code::error);
    EXPECT_EQ(attempt.message(), "failed filter with extender at URL " + extender.url() + "/filter, code " +
                                     std::to_string(status) + (status == 302 ? ", Location: /elsewhere" : ""));
    EXPECT_EQ(extender.questions().size(), 1U) << status;
  }
}

TEST(ExtenderTransport, ARefusedConnectionIsAFailure) {
  std::string url;
  {
    ScriptedExtender gone(all_pass);
    url = gone.url();
  }
  Attempt attempt(filter_at(url));
  EXPECT_EQ(attempt.code(), framework::Code::error);
  EXPECT_EQ(attempt.message().find("Post \"" + url + "/filter\": "), 0U) << attempt.message();
  EXPECT_TRUE(Attempt(filter_at(url, "ignorable: true")).placed());
}

TEST(ExtenderTransport, WhatIsNoAnswerIsAFailure) {
  const std::pair<const char*, Answer> cases[] = {
      {"the answer is empty", Answer{""}},
      {"the answer is no JSON", Answer{"<html>"}},
      {"the answer is no JSON", Answer{"{\"NodeNames\": [\"a\""}},
      {"the answer is not an object", Answer{"[]"}},
      {"NodeNames is not a list", Answer{"{\"NodeNames\": \"a\"}"}},
      {"NodeNames[] is not a string", Answer{"{\"NodeNames\": [1]}"}},
      {"FailedNodes is not an object", Answer{"{\"NodeNames\": [\"a\"], \"FailedNodes\": []}"}},
      {"FailedNodes[a] is not a string", Answer{"{\"NodeNames\": [], \"FailedNodes\": {\"a\": {}}}"}},
      {"Error is not a string", Answer{"{\"Error\": 1}"}},
      {"Nodes is not an object", Answer{"{\"Nodes\": []}"}},
      {"has no metadata", Answer{"{\"Nodes\": {\"items\": [{}]}}"}},
      {"the connection broke", Answer{"{\"NodeNames\": [\"a\"]}", 200, Answer::Way::cut_short}}};
  for (const auto& [words, answer] : cases) {
    const Answer given = answer;
    ScriptedExtender extender([given](const Question&) { return given; });
    Attempt attempt(filter_at(extender.url()));
    EXPECT_EQ(attempt.code(), framework::Code::error) << words;
    EXPECT_NE(attempt.message().find(words), std::string::npos) << attempt.message();
  }
}

TEST(ExtenderTransport, AfterTheFirstValueNothingIsRead) {
  ScriptedExtender extender(
      [](const Question&) { return Answer{" {\"NodeNames\": [\"a\"], \"Error\": \"\"}\n}garbage"}; });
  EXPECT_TRUE(Attempt(filter_at(extender.url())).placed());
}

// Answers that are too much.

/// As ignorable and not: an attempt that fails, and one that does without.
void expect_failure(const Answer& answer, const std::string& words) {
  ScriptedExtender extender([answer](const Question&) { return answer; });
  Attempt attempt(filter_at(extender.url()));
  EXPECT_EQ(attempt.code(), framework::Code::error) << words;
  EXPECT_NE(attempt.message().find(words), std::string::npos) << attempt.message();
  EXPECT_LE(attempt.message().size(), 1200U);
  EXPECT_TRUE(Attempt(filter_at(extender.url(), "ignorable: true")).placed()) << words;
}

TEST(ExtenderBounds, ATrailerThatTheParserThrowsAtIsAFailure) {
  const std::string trailer = "0\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n";
  expect_failure({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + trailer, 200, Answer::Way::raw},
                 "there is too much around its chunks");
}

TEST(ExtenderBounds, ABombIsAFailureOfAFewMebibytes) {
  const std::string packed = net::gzip(std::string(64 << 20, ' '));
  expect_failure({packed, 200, Answer::Way::plain, "Content-Encoding: gzip\r\n"}, "bytes that are read, unpacked");
}

TEST(ExtenderBounds, WhatItSaysIsCut) {
  expect_failure({R"({"Error":")" + std::string(4'000'000, 'e') + R"("})"}, "(4000000 bytes)");
  expect_failure({"no", 302, Answer::Way::plain, "Location: /" + std::string(50'000, 'l') + "\r\n"}, "code 302");
  const std::string why(1'000'000, 'w');
  const auto answer = extender::filter_answer(R"({"NodeNames":[],"FailedNodes":{"a":")" + why + R"("}})", true);
  ASSERT_TRUE(answer.ok());
  EXPECT_LE(answer->failed.at("a").size(), 1024U);
}

TEST(ExtenderBounds, TheLimitGrowsWithTheQuestion) {
  constexpr std::size_t k_nodes = 20, k_room = 4 << 20;
  for (const auto& [bytes, fits] :
       {std::pair{k_room + k_nodes * 1024, true}, std::pair{k_room + k_nodes * 1024 + 65'536, false}}) {
    ScriptedExtender extender([bytes = bytes](const Question& question) {
      Answer answer = all_pass(question);
      answer.body.insert(0, bytes - answer.body.size(), ' ');
      return answer;
    });
    ExtenderWorld world(filter_at(extender.url(), "httpTimeout: 60s"));
    for (std::size_t i = 0; i < k_nodes; ++i) world.node("n" + std::to_string(i));
    world.pod("p");
    world.run();
    EXPECT_EQ(!world.place("p").empty(), fits) << world.message("p");
  }
}

TEST(ExtenderBounds, NodesWithVictimsAreReadInTimeThatGrowsWithTheirNumber) {
  // One name costs a look-up; a hundred thousand that each looked through all others would take minutes.
  std::string body = R"({"NodeNameToMetaVictims":{)";
  for (int i = 0; i < 100'000; ++i) body += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  const auto answer = extender::preempt_answer(body + "}}");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->size(), 100'000U);
}

TEST(ExtenderTransport, ASlowOneIsGivenUpAfterItsTimeout) {
  for (const Answer::Way way : {Answer::Way::silent, Answer::Way::drip}) {
    ScriptedExtender extender([&](const Question&) { return Answer{"{", 200, way}; });
    const auto began = std::chrono::steady_clock::now();
    Attempt attempt(filter_at(extender.url(), "httpTimeout: 120ms"));
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(attempt.code(), framework::Code::error);
    EXPECT_GE(took, std::chrono::milliseconds(120));
    EXPECT_LT(took, std::chrono::seconds(4)) << "five seconds are the default";
    EXPECT_NE(attempt.message().find("Post \"" + extender.url() + "/filter\": "), std::string::npos)
        << attempt.message();
    EXPECT_TRUE(Attempt(filter_at(extender.url(), "httpTimeout: 50ms, ignorable: true")).placed());
  }
}

TEST(ExtenderTransport, AServerThatNeverAcceptsIsGivenUpAfterTheTimeout) {
  // A listening socket whose queue is full: connecting takes for ever.
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io);
  const std::uint16_t port = listen_on_loopback(acceptor);
  ASSERT_EQ(::listen(acceptor.native_handle(), 0), 0);
  boost::asio::ip::tcp::socket filler(io);
  const boost::asio::ip::tcp::endpoint to(boost::asio::ip::make_address("127.0.0.1"), port);
  filler.connect(to);
  const auto began = std::chrono::steady_clock::now();
  Attempt attempt(filter_at("http://127.0.0.1:" + std::to_string(port), "httpTimeout: 100ms"));
  EXPECT_EQ(attempt.code(), framework::Code::error) << attempt.message();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
}

TEST(ExtenderTransport, TheDefaultTimeoutIsFiveSeconds) {
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders: "
      "[{urlPrefix: http://x, httpTimeout: 0s}, {urlPrefix: http://y}]",
      "f", problems);
  for (const config::Extender& extender : raw.values.extenders) EXPECT_EQ(extender.http_timeout_ns, 5'000'000'000);
}

// TLS.

/// PEM as a file of the configuration.
class Files {
 public:
  std::string operator()(const std::string& name, const std::string& text) { return directory_.write(name, text); }

 private:
  TemporaryDirectory directory_;
};

TEST(ExtenderTls, EnableHttpsWithoutAnAuthorityVerifiesNothing) {
  ScriptedExtender extender(all_pass, {.tls = true});
  EXPECT_TRUE(Attempt(filter_at(extender.url(), "enableHTTPS: true")).placed());
  EXPECT_TRUE(Attempt(filter_at(extender.url(), "tlsConfig: {insecure: true}")).placed());
  Attempt verified(filter_at(extender.url()));  // against the system's roots
  EXPECT_EQ(verified.code(), framework::Code::error);
  EXPECT_NE(verified.message().find("certificate"), std::string::npos) << verified.message();
}

TEST(ExtenderTls, AnAuthorityIsVerifiedAgainst) {
  ScriptedExtender extender(all_pass, {.tls = true});
  const TestAuthority stranger("stranger");
  Files files;
  const auto with = [&](const std::string& tls) {
    return filter_at(extender.url(), "enableHTTPS: true, tlsConfig: {" + tls + "}");
  };
  EXPECT_TRUE(Attempt(with("caFile: " + files("ca", extender.authority()))).placed());
  EXPECT_TRUE(Attempt(with("caData: " + encode_base64(extender.authority()))).placed());
  EXPECT_FALSE(Attempt(with("caData: " + encode_base64(stranger.certificate()))).placed());
  EXPECT_TRUE(Attempt(with("caFile: /nonexistent, caData: " + encode_base64(extender.authority()))).placed())
      << "data wins";
  EXPECT_TRUE(Attempt(with("serverName: localhost, caData: " + encode_base64(extender.authority()))).placed());
  EXPECT_FALSE(Attempt(with("serverName: other.example.com, caData: " + encode_base64(extender.authority()))).placed());
}

TEST(ExtenderTls, AClientCertificateIsShown) {
  const TestAuthority authority("clients");
  const SignedPair pair = authority.sign("scheduler");
  ScriptedExtender extender(all_pass, {.tls = true, .client_authority = authority.certificate()});
  Files files;
  EXPECT_FALSE(Attempt(filter_at(extender.url(), "enableHTTPS: true")).placed());
  EXPECT_TRUE(
      Attempt(filter_at(extender.url(), "enableHTTPS: true, tlsConfig: {certData: " + encode_base64(pair.certificate) +
                                            ", keyData: " + encode_base64(pair.key) + "}"))
          .placed());
  EXPECT_TRUE(
      Attempt(filter_at(extender.url(), "enableHTTPS: true, tlsConfig: {certFile: " + files("crt", pair.certificate) +
                                            ", keyFile: " + files("key", pair.key) + "}"))
          .placed());
}

TEST(ExtenderTls, WhatCannotBeUsedIsSaidAtTheStart) {
  for (const auto& [fields, words] :
       {std::pair{"urlPrefix: \"https://h\", tlsConfig: {caFile: /nonexistent/ca}",
                  "certificate authority /nonexistent/ca cannot be read"},
        std::pair{"urlPrefix: \"https://h\", tlsConfig: {caData: bm8gUEVN}",
                  "the certificate authority cannot be used"},
        std::pair{"urlPrefix: \"http://h/x?y=z\"", "http://h/x?y=z"},
        std::pair{"urlPrefix: \"http://h:99999\"", "99999"},
        std::pair{"urlPrefix: \"http://h\", filterVerb: \"two words\"", "\"two words\" cannot be a verb"}}) {
    ExtenderWorld world("[{" + std::string(fields) + "}]");
    ASSERT_EQ(world.errors.size(), 1U) << fields;
    EXPECT_NE(world.errors[0].find(words), std::string::npos) << world.errors[0];
    EXPECT_EQ(world.errors[0].find("berth.yaml:3:13  extenders[0]: extender "), 0U) << world.errors[0];
    EXPECT_EQ(world.simulation, nullptr);
  }
}

// Ends.

TEST(ExtenderWait, CancelEndsItAtOnceAndFailsTheAttemptWhateverMayBeIgnored) {
  ScriptedExtender extender([](const Question&) { return Answer{"", 200, Answer::Way::silent}; });
  ExtenderWorld world(filter_at(extender.url(), "httpTimeout: 60s, ignorable: true"));
  world.node("a");
  world.pod("p");
  std::thread stopper([&] {
    EXPECT_TRUE(extender.await_questions(1));
    world.simulation->scheduler().stop_deciding();
  });
  const auto began = std::chrono::steady_clock::now();
  world.run();
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_EQ(world.decisions["p"].code, framework::Code::error);
  EXPECT_EQ(world.decisions["p"].message, "berth is shutting down");
}

TEST(ExtenderWait, CancelFailsAPodWhoseNodesWaitForPoints) {
  ScriptedExtender extender([](const Question&) { return Answer{"", 200, Answer::Way::silent}; });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 1, httpTimeout: 60s"));
  for (const char* name : {"a", "b"}) world.node(name);
  world.pod("p");
  std::thread stopper([&] {
    EXPECT_TRUE(extender.await_questions(1));
    world.simulation->scheduler().stop_deciding();
  });
  world.run();
  stopper.join();
  EXPECT_EQ(world.place("p"), "");
  EXPECT_EQ(world.message("p"), "berth is shutting down");
  const model::PodPtr pod = world.simulation->cluster().find_pod("ns", "p");
  EXPECT_EQ(world.simulation->scheduler().explain(pod).error, "berth is shutting down");
}

}  // namespace
}  // namespace berth::tests
