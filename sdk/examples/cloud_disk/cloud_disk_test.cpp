// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/bind_call.hpp>
#include <berth/testkit/module.hpp>

#include <functional>

#include "../http_client/test_server.hpp"

namespace {
using namespace berth::testkit;
using http::answer;

struct Task {
  void (*run)(void*);
  void* arg;
};
std::vector<Task> tasks;
/// Set: the host takes no task. It is called while the host decides that.
std::function<void()> refuses;

/// Tasks wait until the test runs them.
void install(FakeHost& host) {
  static const berth_executor_v1 executor{sizeof executor,
                                          0,
                                          [](void*, void (*task)(void*), void* arg) -> berth_code {
                                            if (refuses) return refuses(), BERTH_ERROR;
                                            return tasks.push_back({task, arg}), BERTH_OK;
                                          },
                                          nullptr,
                                          nullptr,
                                          nullptr};
  tasks.clear();
  refuses = nullptr;
  host.extra_services["berth.executor/1"] = &executor;
}
void run_tasks() {
  for (const Task& task : std::exchange(tasks, {})) task.run(task.arg);
}

class CloudDisk : public testing::Test {
 protected:
  void start(std::deque<std::string> answers) {
    server = std::make_unique<http::TestServer>(std::move(answers));
    policy = std::make_unique<Policy>(tested_library(), args(5000), &install);
  }
  std::string args(int timeout_ms) const {
    return R"({"cloudAddress": ")" + server->address() + R"(", "timeoutMilliseconds": )" + std::to_string(timeout_ms) +
           "}";
  }
  void unreserve() {
    Attempt attempt(*policy, pod, {});
    policy->ops<berth_reserve_ops_v1>("berth.reserve/1")->unreserve(policy->self(), attempt.cycle(), 0);
  }
  void post_bind() {
    Attempt attempt(*policy, pod, {});
    policy->ops<berth_bind_ops_v1>("berth.bind/1")->post_bind(policy->self(), attempt.cycle(), call.raw());
  }
  berth_code check(const PodSpec& checked) {
    Attempt attempt(*policy, checked, {});
    NoteRecord note;
    std::uint32_t flags = 0;
    return policy->ops<berth_bind_ops_v1>("berth.bind/1")
        ->pre_bind_check(policy->self(), attempt.cycle(), 0, &flags, note.raw());
  }

  const PodSpec pod{.name = "db", .annotations = {{"example.com/disk", "data 1"}}};
  std::unique_ptr<http::TestServer> server;
  std::unique_ptr<Policy> policy;
  RecordedCall call{"node-7"};
};

TEST_F(CloudDisk, TakesNoPartForPodsWithoutADisk) {
  start({});
  EXPECT_EQ(check({.name = "web"}), static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(check(pod), static_cast<berth_code>(BERTH_OK));
}

TEST_F(CloudDisk, AttachesInTheBackgroundAndCompletesThen) {
  start({answer(200, "")});
  ASSERT_EQ(pre_bind(*policy, pod, call), (Outcome{BERTH_ASYNC, ""}));
  EXPECT_TRUE(call.outcomes.empty()) << "the calling thread asked the cloud";
  run_tasks();
  EXPECT_EQ(call.outcomes, std::vector<Outcome>{Outcome{}});
  EXPECT_EQ(server->requests, std::vector<std::string>{"POST /disks/data%201/attach?node=node-7"});
}

TEST_F(CloudDisk, SaysWhatTheCloudSaidAndDetachesWhatMayBeAttached) {
  start({answer(507, "node-7 takes no more disks"), answer(200, "")});
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "attach disk data 1: node-7 takes no more disks"}}));
  unreserve();
  run_tasks();
  ASSERT_EQ(server->requests.size(), 2u);
  EXPECT_EQ(server->requests[1], "POST /disks/data%201/detach?node=node-7");
  unreserve();
  EXPECT_TRUE(tasks.empty()) << "detached twice";
}

TEST_F(CloudDisk, LeavesTheDiskWhereThePodWasBound) {
  start({answer(200, "")});
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  post_bind();
  unreserve();
  EXPECT_TRUE(tasks.empty());
}

TEST_F(CloudDisk, DetachesBeforeTheNextAttemptAttachesAgain) {
  start({answer(507, "full"), answer(200, ""), answer(200, "")});
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  unreserve();
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  EXPECT_EQ(tasks.size(), 1u) << "two threads would ask about one disk";
  run_tasks();
  EXPECT_EQ(server->requests, (std::vector<std::string>{"POST /disks/data%201/attach?node=node-7",
                                                        "POST /disks/data%201/detach?node=node-7",
                                                        "POST /disks/data%201/attach?node=node-7"}));
  ASSERT_EQ(call.outcomes.size(), 2u);
  EXPECT_EQ(call.outcomes[1], Outcome{});
}

TEST_F(CloudDisk, CompletesEveryQueuedCallWhenTheHostTakesNoTask) {
  start({});
  RecordedCall other{"node-8"};
  refuses = [&] {
    // Another thread comes in between.
    EXPECT_EQ(pre_bind(*policy, pod, other).code, static_cast<berth_code>(BERTH_ASYNC));
  };
  EXPECT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  const std::vector<Outcome> refused{{BERTH_ERROR, "the host does not take the task"}};
  EXPECT_EQ(call.outcomes, refused);
  EXPECT_EQ(other.outcomes, refused);
}

TEST_F(CloudDisk, LogsADetachmentThatTheHostDoesNotTake) {
  start({answer(200, "")});
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  refuses = [] {};
  unreserve();
  ASSERT_FALSE(policy->host().log.empty());
  EXPECT_EQ(policy->host().log.back().message, "detach disk data 1: the host does not take the task");
}

TEST_F(CloudDisk, UndoesNothingWhereNothingWasAttached) {
  start({});
  unreserve();
  EXPECT_TRUE(tasks.empty());
}

TEST_F(CloudDisk, FailsThePodWhenTheCloudCannotBeReachedOrSpeaksNoHttp) {
  policy = std::make_unique<Policy>(tested_library(), R"({"cloudAddress": "http://127.0.0.1:1"})", &install);
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  ASSERT_EQ(call.outcomes.size(), 1u);
  EXPECT_EQ(call.outcomes[0], (Outcome{BERTH_ERROR, "attach disk data 1: 127.0.0.1:1: Connection refused"}));
  start({"220 mail.example.com ESMTP\r\n\r\n"});
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  ASSERT_EQ(call.outcomes.size(), 2u);
  EXPECT_EQ(call.outcomes[1], (Outcome{BERTH_ERROR, "attach disk data 1: that is no HTTP"}));
}

TEST_F(CloudDisk, GivesUpOnACloudThatDoesNotAnswer) {
  // Connections are taken by the kernel and never accepted.
  start({});
  policy = std::make_unique<Policy>(tested_library(), args(20), &install);
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "attach disk data 1: no answer in time"}}));
}

TEST(CloudDiskArgs, AreRefusedWhenTheAddressIsNone) {
  EXPECT_THROW(Policy(tested_library(), R"({"cloudAddress": "cloud.example.com"})", &install), CallError);
}

}  // namespace
