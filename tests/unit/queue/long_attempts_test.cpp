// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

PodPtr pod_with_claim(const std::string& name, std::int32_t priority = 0, const std::string& ns = "default") {
  auto pod = make_pod(name, priority);
  pod->ns = ns;
  model::PodSpec spec;
  spec.resource_claims = std::vector<model::PodClaim>{{"device", "claim", ""}};
  pod->spec = std::move(spec);
  return pod;
}

/// An attempt that takes so long, and fails with an error.
void fail_slowly(QueueFixture& f, const std::string& name, std::chrono::nanoseconds took) {
  Ticket ticket = f.pop(name);
  f.clock.advance(took);
  EXPECT_TRUE(f.queue->requeue(std::move(ticket), {}, nullptr).ok());
}

TEST(LongAttempts, LetPodsOfAnotherKindGoFirst) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2", "slow-3"}) f.add(pod_with_claim(name, 10));
  f.add("plain-1");
  f.add("plain-2");
  fail_slowly(f, "slow-1", 10s);
  EXPECT_EQ(f.pop_name(), "plain-1");
  EXPECT_EQ(f.pop_name(), "plain-2");
  EXPECT_EQ(f.queue->counts().long_attempts, 1U);
}

TEST(LongAttempts, LoseNoTimeThatNoOtherPodWants) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2"}) f.add(pod_with_claim(name));
  fail_slowly(f, "slow-1", 10s);
  EXPECT_EQ(f.pop_name(), "slow-2");
}

TEST(LongAttempts, LetOtherPodsGoFirstForAsLongAsTheyTook) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2"}) f.add(pod_with_claim(name, 10));
  for (const char* name : {"plain-1", "plain-2"}) f.add(name);
  fail_slowly(f, "slow-1", 10s);
  EXPECT_EQ(f.pop_name(), "plain-1");
  f.clock.advance(10s);
  EXPECT_EQ(f.pop_name(), "slow-2");
  EXPECT_EQ(f.pop_name(), "plain-2");
}

TEST(LongAttempts, OfOneNamespaceDoNotConcernAnother) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2"}) f.add(pod_with_claim(name, 10));
  f.add(pod_with_claim("other", 5, "elsewhere"));
  fail_slowly(f, "slow-1", 10s);
  EXPECT_EQ(f.pop_name(), "other");
  EXPECT_EQ(f.pop_name(), "slow-2");
}

TEST(LongAttempts, AreThoseOfASecondOrMore) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2"}) f.add(pod_with_claim(name, 10));
  f.add("plain");
  fail_slowly(f, "slow-1", 999ms);
  EXPECT_EQ(f.pop_name(), "slow-2");
  EXPECT_EQ(f.queue->counts().long_attempts, 0U);
}

TEST(LongAttempts, EndWithTheNextPopWhileTheBindingGoesOn) {
  QueueFixture f;
  for (const char* name : {"slow-1", "slow-2"}) f.add(pod_with_claim(name, 10));
  f.add("plain");
  Ticket binding = f.pop("slow-1");
  f.clock.advance(2s);
  EXPECT_EQ(f.pop_name(), "plain");
  f.clock.advance(60s);
  f.queue->done(std::move(binding));
  EXPECT_EQ(f.queue->counts().long_attempts, 1U);
}

TEST(LongAttempts, DoNotCountTheTimeBetweenTwoAttempts) {
  QueueFixture f;
  f.add(pod_with_claim("slow-1", 10));
  EXPECT_EQ(f.pop_name(), "slow-1");
  f.clock.advance(60s);
  f.add(pod_with_claim("slow-2", 10));
  f.add("plain");
  EXPECT_EQ(f.pop_name(), "slow-2");
}

TEST(LongAttempts, AreOfAtMostSixtyFourKindsAtATime) {
  QueueFixture f;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "slow-" + std::to_string(i);
    f.add(pod_with_claim(name, 10, "ns-" + std::to_string(i)));
    fail_slowly(f, name, 2s);
  }
  EXPECT_EQ(f.queue->counts().long_attempts, 100U);
}

/// Whatever comes and goes, none is lost and none comes twice, and active pods are counted right.
TEST(LongAttempts, LoseNoPod) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  QueueFixture f;
  std::map<std::string, PodPtr> waiting;
  for (int step = 0; step < 2'000; ++step) {
    const std::string name = "p" + std::to_string(step);
    switch (random() % 4) {
      case 0:
      case 1:
        waiting[name] = random() % 2 == 0 ? f.add(name, static_cast<std::int32_t>(random() % 3))
                                          : f.add(pod_with_claim(name, static_cast<std::int32_t>(random() % 3),
                                                                 "ns-" + std::to_string(random() % 5)));
        break;
      case 2:
        if (!waiting.empty()) {
          const auto gone = std::next(waiting.begin(), static_cast<long>(random() % waiting.size()));
          f.queue->remove(*gone->second);
          waiting.erase(gone);
        }
        break;
      default:
        if (std::optional<Ticket> ticket = f.queue->pop()) {
          EXPECT_EQ(waiting.erase(ticket->pod()->name), 1U);
          f.clock.advance(std::chrono::milliseconds(random() % 3'000));
          f.queue->done(std::move(*ticket));
        } else {
          EXPECT_TRUE(waiting.empty());
        }
    }
    ASSERT_EQ(f.queue->sizes().active, waiting.size());
  }
}

}  // namespace
}  // namespace berth::queue::testing
