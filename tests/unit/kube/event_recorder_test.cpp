// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/write/event_recorder.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <algorithm>
#include <regex>

#include "serving/https_server.hpp"
#include "support/servers/scripted_extender.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

/// A server that answers as a test says, one request at a time, and remembers what was asked.
class EventRecorderTest : public testing::Test {
 protected:
  using Answers = std::vector<std::pair<int, std::string>>;  // statuses and reasons

  void serve(Answers answers) {
    serving::HttpsServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.keys = *serving::make_self_signed({"127.0.0.1"}, clock.wall_ns());
    auto made = serving::HttpsServer::make(
        options,
        {{"/apis/",
          [this, answers = std::move(answers)](const serving::HttpRequest& ask) -> serving::HttpResponse {
            const std::lock_guard lock(mutex_);
            if (ask.method == "GET") return {200, "{}", "application/json"};  // which events there are
            asked_.push_back(ask);
            const auto& [status, reason] = answers[std::min(asked_.size(), answers.size()) - 1];
            return {status, R"({"kind":"Status","message":"m","reason":")" + reason + "\"}", "application/json"};
          }}},
        {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    server_ = std::move(*made);
    ClientConfig config;
    config.server = *net::parse_url("https://127.0.0.1:" + std::to_string(server_->port()), "https");
    config.tls.authority.data = options.keys.authority;
    net::HttpClientOptions client;
    client.qps = -1;
    recorder_ = std::make_unique<EventRecorder>(
        threads_, *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }), clock,
        [](std::string_view, std::string_view) { return model::PodPtr(); }, "host-1", client);
  }
  Status record(const std::string& pod, const std::string& note = {}, bool is_explained = false) {
    cluster::EventRecord event;
    event.note = note;
    event.is_explained = is_explained;
    event.regarding = {"default", pod, "u"};
    event.reason = "FailedScheduling";
    event.action = "Scheduling";
    event.controller = "default-scheduler";
    auto answered = std::make_shared<std::promise<Status>>();
    auto answer = answered->get_future();
    recorder_->record(event, [answered](Status status) { answered->set_value(std::move(status)); });
    if (answer.wait_for(k_patience) != std::future_status::ready) return Error{"no answer in time"};
    return answer.get();
  }
  std::vector<std::string> methods() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const serving::HttpRequest& ask : asked_) out.push_back(ask.method);
    return out;
  }
  std::string note_of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return text_at(json::parse(asked_[index].body), "/note");
  }
  std::string name_of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return text_at(json::parse(asked_[index].body), "/metadata/name");
  }

  SystemClock clock;

 private:
  std::mutex mutex_;  // guards asked_
  std::vector<serving::HttpRequest> asked_;
  std::unique_ptr<serving::HttpsServer> server_;
  net::IoThreads threads_{1};
  std::unique_ptr<EventRecorder> recorder_;
};

TEST_F(EventRecorderTest, AnEventIsNamedAfterItsPodUnlessThatIsTooLong) {
  serve({{201, ""}});
  EXPECT_TRUE(record("web-0").ok());
  EXPECT_TRUE(std::regex_match(name_of(0), std::regex("web-0\\.[0-9a-f]{16}"))) << name_of(0);
  EXPECT_TRUE(record(std::string(250, 'p')).ok());
  EXPECT_TRUE(
      std::regex_match(name_of(1), std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << name_of(1);
}

TEST_F(EventRecorderTest, WhatTheServerRefusesIsNotSentAgain) {
  serve({{500, "InternalError"}});
  EXPECT_FALSE(record("web-0").ok());
  EXPECT_EQ(methods(), std::vector<std::string>{"POST"});
}

TEST_F(EventRecorderTest, ASeriesWhoseEventCameBackMeanwhileIsPatchedAgain) {
  serve({{201, ""}, {404, "NotFound"}, {409, "AlreadyExists"}, {200, ""}});
  EXPECT_TRUE(record("web-0").ok());
  EXPECT_TRUE(record("web-0").ok());
  EXPECT_EQ(methods(), (std::vector<std::string>{"POST", "PATCH", "POST", "PATCH"}));
}

// A server refuses another note for an event that is there, and what a series adds to is not told at all.
TEST_F(EventRecorderTest, WhatWouldMakeAPodFitIsAnEventOfItsOwnAndOneSeries) {
  serve({{201, ""}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(record("web-0", "no").ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(record("web-0", "no\nfits " + std::to_string(i), true).ok());
  EXPECT_EQ(methods(), (std::vector<std::string>{"POST", "PATCH", "POST", "PATCH"}));
  EXPECT_EQ(note_of(2), "no\nfits 0");
  EXPECT_EQ(note_of(3), "");
  EXPECT_TRUE(record("web-0", "no").ok());
  EXPECT_EQ(methods().size(), 4U) << "that series goes on";
}

TEST_F(EventRecorderTest, AtTheLimitEventsThatWereSeenOnceAreForgottenBeforeSeries) {
  serve({{201, ""}});
  EXPECT_TRUE(record("seen-once").ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(record("series").ok());
  for (std::size_t i = 0; i < EventRecorder::k_series_max; ++i) ASSERT_TRUE(record("p" + std::to_string(i)).ok());
  const std::size_t before = methods().size();
  EXPECT_TRUE(record("series").ok());
  EXPECT_EQ(methods().size(), before) << "counted here";
  EXPECT_TRUE(record("seen-once").ok());
  EXPECT_EQ(methods().back(), "POST") << "the first of its kind again";
}

TEST_F(EventRecorderTest, ASeriesWithoutRepetitionsEnds) {
  serve({{201, ""}, {404, "NotFound"}, {403, "Forbidden"}});
  EXPECT_TRUE(record("web-0").ok());
  EXPECT_EQ(record("web-0").error().code, ErrorCode::forbidden);
  EXPECT_EQ(methods(), (std::vector<std::string>{"POST", "PATCH", "POST"}));
}

TEST_F(EventRecorderTest, ARetryThatIsPendingIsAnsweredWhenTheRecorderEnds) {
  ScriptedExtender server([](const ScriptedExtender::Question& question) {
    return question.method == "GET" ? ScriptedExtender::Answer{}
                                    : ScriptedExtender::Answer{"", 200, ScriptedExtender::Answer::Way::hang_up};
  });
  ClientConfig config;
  config.server = *net::parse_url(server.url(), "http");
  net::IoThreads threads(1);
  Result<Unit> outcome = Unit{};
  {
    EventRecorder recorder(threads,
                           *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }),
                           clock, [](std::string_view, std::string_view) { return model::PodPtr(); }, "host-1", {});
    cluster::EventRecord event;
    event.regarding = {"default", "web-0", "u"};
    recorder.record(event, [&](Status status) { outcome = std::move(status); });
    ASSERT_TRUE(server.await_questions(2));
  }
  EXPECT_FALSE(outcome.ok());
}

}  // namespace
}  // namespace berth::tests
