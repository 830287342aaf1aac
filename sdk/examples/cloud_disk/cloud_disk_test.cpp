// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <berth/testkit/bind_call.hpp>
#include <berth/testkit/module.hpp>

#include <deque>
#include <thread>

namespace {
using namespace berth::testkit;

/// Answers one request after the other with what the test has prepared, and remembers the request lines.
class Server {
 public:
  explicit Server(std::deque<std::string> answers) : answers_(std::move(answers)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(file_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(file_, 8) != 0)
      throw std::runtime_error("no port");
    ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(file_, SHUT_RDWR);
    thread_.join();
    ::close(file_);
  }
  std::string args() const {
    return R"({"cloudAddress": "http://127.0.0.1:)" + std::to_string(port_) + R"(", "timeoutMilliseconds": 5000})";
  }
  /// Complete once every prepared answer was given.
  std::vector<std::string> requests;

 private:
  void serve() {
    while (!answers_.empty()) {
      const int connection = ::accept(file_, nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<std::size_t>(got));
      }
      requests.push_back(request.substr(0, request.find(" HTTP/")));
      const std::string answer = answers_.front();
      answers_.pop_front();
      ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(connection);
    }
  }

  const int file_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::deque<std::string> answers_;
  std::thread thread_;
};

std::string answer(int status, const std::string& body) {
  return "HTTP/1.0 " + std::to_string(status) + " x\r\n\r\n" + body;
}

struct Task {
  void (*run)(void*);
  void* arg;
};
std::vector<Task> tasks;

/// Tasks wait until the test runs them.
void install(FakeHost& host) {
  static const berth_executor_v1 executor{sizeof executor,
                                          0,
                                          [](void*, void (*task)(void*), void* arg) -> berth_code {
                                            return tasks.push_back({task, arg}), BERTH_OK;
                                          },
                                          nullptr,
                                          nullptr,
                                          nullptr};
  tasks.clear();
  host.extra_services["berth.executor/1"] = &executor;
}
void run_tasks() {
  for (const Task& task : std::exchange(tasks, {})) task.run(task.arg);
}

class CloudDisk : public testing::Test {
 protected:
  void start(std::deque<std::string> answers) {
    server = std::make_unique<Server>(std::move(answers));
    policy = std::make_unique<Policy>(tested_library(), server->args(), &install);
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
  std::unique_ptr<Server> server;
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

TEST_F(CloudDisk, UndoesNothingWhereNothingWasAttached) {
  start({});
  unreserve();
  EXPECT_TRUE(tasks.empty());
}

TEST_F(CloudDisk, FailsThePodWhenNobodyAnswersOrNobodyUnderstands) {
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
  // Connections are taken by the kernel; nobody accepts them.
  start({});
  const std::string args = server->args();
  const std::string hurried = args.substr(0, args.find("5000")) + "20}";
  policy = std::make_unique<Policy>(tested_library(), hurried, &install);
  ASSERT_EQ(pre_bind(*policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  run_tasks();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "attach disk data 1: no answer in time"}}));
}

TEST(CloudDiskArgs, AreRefusedWhenTheAddressIsNone) {
  EXPECT_THROW(Policy(tested_library(), R"({"cloudAddress": "cloud.example.com"})", &install), CallError);
}

}  // namespace
