// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/lease/leader_elector.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <atomic>
#include <functional>

#include "support/servers/silent_server.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
constexpr std::int64_t k_ms = 1'000'000;

/// The system's time, and what was added to it: a process that was stopped, or a machine that was suspended, finds more.
class JumpingClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const noexcept override { return system_.monotonic_ns() + jumped_ns_.load(); }
  std::int64_t wall_ns() const noexcept override { return system_.wall_ns() + jumped_ns_.load(); }
  void jump(std::chrono::nanoseconds by) { jumped_ns_ += by.count(); }

 private:
  const SystemClock system_{};
  std::atomic<std::int64_t> jumped_ns_{0};
};

/// One candidate, and what it was told.
struct Candidate {
  /// `slowness` stretches all durations.
  /// `patience` stretches lease and deadline further.
  Candidate(ApiServer& server, const std::string& identity, std::int64_t slowness = 1, std::int64_t patience = 1)
      : Candidate([&server](const Clock& time) { return endpoint_of(server, time); }, identity, slowness, patience) {}
  Candidate(const std::function<std::shared_ptr<net::Endpoint>(const Clock&)>& reach, const std::string& identity,
            std::int64_t slowness = 1, std::int64_t patience = 1)
      : endpoint(reach(clock)) {
    LeaderElectorOptions options;
    options.identity = identity;
    options.lease_duration_ns = patience * slowness * 2000 * k_ms;
    options.renew_deadline_ns = patience * slowness * 1000 * k_ms;
    options.retry_period_ns = slowness * 200 * k_ms;
    options.seed = std::hash<std::string>{}(identity);
    LeaderElectorCalls calls;
    calls.on_started = [this] {
      signal.change([this] {
        leads = true;
        led_ns = clock.monotonic_ns();
      });
    };
    calls.on_lost = [this] {
      signal.change([this] {
        has_lost = true;
        lost_ns = clock.monotonic_ns();
      });
    };
    calls.on_ended = [this] { signal.change([this] { has_ended = true; }); };
    calls.may_renew = [this] { return may_renew.load(); };
    net::HttpClientOptions client;
    client.on_call = [this](const net::CallReport&) {
      sent_by_ns = clock.monotonic_ns();
      clock.jump(std::chrono::nanoseconds(answers_take_ns.load()));
    };
    elector.emplace(threads, endpoint, clock, options, calls, client);
    elector->start();
  }

  JumpingClock clock;
  std::atomic<std::int64_t> answers_take_ns{0}, sent_by_ns{0};  // of the clock
  net::IoThreads threads{1};
  std::shared_ptr<net::Endpoint> endpoint;
  Signal signal;
  bool leads = false, has_lost = false, has_ended = false;
  std::int64_t led_ns = 0, lost_ns = 0;
  std::atomic<bool> may_renew{true};
  std::optional<LeaderElector> elector;  // goes first
};

class Election : public testing::Test {
 protected:
  json::value lease() {
    const auto found = server.store().get(*server.store().find("coordination.k8s.io", "v1", "leases"), "kube-system",
                                          "kube-scheduler");
    return found.ok() ? json::parse((*found.value)->text) : json::value();
  }
  /// Looks again and again, which the store's changes raise_priority.
  template <typename Condition>
  bool wait(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    std::uint64_t version = 0;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      version = server.await_change(version, std::chrono::milliseconds(50));
    }
    return true;
  }
  std::string holder() { return text_at(lease(), "/spec/holderIdentity"); }
  /// As another process would write it.
  void write_holder(const std::string& identity) {
    json::value changed = lease();
    changed.as_object()["spec"].as_object()["holderIdentity"] = identity;
    const auto written = server.store().update(*server.store().find("coordination.k8s.io", "v1", "leases"),
                                               "kube-system", "kube-scheduler", std::move(changed));
    EXPECT_TRUE(written.ok());
  }

  ApiServer server;
};

TEST_F(Election, TheFirstLeadsAndTheOthersWait) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  EXPECT_EQ(holder(), "first");
  Candidate second(server, "second");
  // The standby follows the lease instead of asking again and again.
  ASSERT_TRUE(wait([&] { return server.request_counts()["WATCH leases"] != 0; }));
  EXPECT_FALSE(second.elector->is_leading());
  EXPECT_GT(first.elector->last_renewed_ns(), 0);
}

TEST_F(Election, TheLeaseIsFollowedFromTheFirstLookOn) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  // Its retry period is longer than this test waits for anything: what comes within it comes from the watch.
  Candidate second(server, "second", 1000);
  ASSERT_TRUE(wait([&] { return server.request_counts()["WATCH leases"] != 0; }));
  first.elector->release(std::chrono::milliseconds(k_patience));
  ASSERT_TRUE(second.signal.wait([&] { return second.leads; }));
}

TEST_F(Election, ALeaseThatIsGivenBackIsTakenAtOnce) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  Candidate second(server, "second");
  ASSERT_TRUE(wait([&] { return server.request_counts()["WATCH leases"] != 0; }));
  first.elector->release(std::chrono::milliseconds(k_patience));
  ASSERT_TRUE(second.signal.wait([&] { return second.leads; }));
  EXPECT_EQ(holder(), "second");
  EXPECT_EQ(lease().at("spec").at("leaseTransitions").as_int64(), 1);
  EXPECT_FALSE(first.has_lost) << "who gives back does not lose";
}

TEST_F(Election, ALeaderThatMayNotRenewLosesTheLease) {
  Candidate stuck(server, "stuck");
  ASSERT_TRUE(stuck.signal.wait([&] { return stuck.leads; }));
  Candidate other(server, "other");
  const std::int64_t before_ns = stuck.clock.monotonic_ns();
  stuck.may_renew = false;
  ASSERT_TRUE(stuck.signal.wait([&] { return stuck.has_lost; }));
  // Not before the deadline, and before another replica may lead.
  EXPECT_GE(stuck.lost_ns - stuck.elector->last_renewed_ns(), 1000 * k_ms);
  EXPECT_LT(stuck.lost_ns - before_ns, 2000 * k_ms);
  ASSERT_TRUE(other.signal.wait([&] { return other.leads; }));
  EXPECT_LT(stuck.lost_ns, other.led_ns);
  EXPECT_EQ(holder(), "other");
}

TEST_F(Election, ALostLeaseIsGivenBackIfNoOtherReplicaHasIt) {
  Candidate stuck(server, "stuck");
  ASSERT_TRUE(stuck.signal.wait([&] { return stuck.leads; }));
  stuck.may_renew = false;
  ASSERT_TRUE(stuck.signal.wait([&] { return stuck.has_ended; }));
  EXPECT_TRUE(stuck.has_lost);
  EXPECT_EQ(holder(), "");
}

TEST_F(Election, AServerThatNoLongerAnswersCostsTheLeaseInTime) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  Faults faults;
  faults.unanswered = 1;
  server.inject(faults);
  ASSERT_TRUE(first.signal.wait([&] { return first.has_lost; }));
  EXPECT_LT(first.lost_ns - first.elector->last_renewed_ns(), 2000 * k_ms) << "by then another may lead";
  ASSERT_TRUE(first.signal.wait([&] { return first.has_ended; })) << "the elector does not wait for such a server";
}

TEST(ElectionAlone, AServerThatDoesNotFinishTheTlsHandshakeIsTriedAgainSoon) {
  SilentServer server;
  const Candidate only(
      [&server](const Clock& clock) {
        ClientConfig config;
        config.server = *net::parse_url("https://" + server.authority(), "https");
        return *cluster::kube::make_endpoint(std::move(config), clock, [](const char*) { return std::string(); });
      },
      "only");
  const auto arrived = server.await_connections(2);
  ASSERT_EQ(arrived.size(), 2U);
  // An attempt may take a second here, and the pause after it a fraction of one; a handshake would get ten.
  EXPECT_LT(arrived[1] - arrived[0], std::chrono::seconds(5));
}

TEST_F(Election, ReleasingLeavesALeaseThatAnotherReplicaHolds) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  write_holder("successor");
  first.elector->release(std::chrono::milliseconds(k_patience));
  EXPECT_EQ(holder(), "successor");
}

TEST_F(Election, ARenewalCountsFromWhenItWasSent) {
  Candidate first(server, "first", 1, 1000);
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  // Each answer takes long by the clock that counts, and no time by any other.
  first.answers_take_ns = 50'000 * k_ms;
  const std::int64_t before_ns = first.elector->last_renewed_ns();
  ASSERT_TRUE(wait([&] { return first.elector->last_renewed_ns() > before_ns + 100'000 * k_ms; }));
  first.answers_take_ns = 0;
  EXPECT_LE(first.elector->last_renewed_ns(), first.sent_by_ns.load());
  EXPECT_TRUE(first.elector->is_leading());
}

TEST_F(Election, ALeaderThatSeesAnotherHolderStopsLeading) {
  // What is left of its own deadline is hours.
  Candidate first(server, "first", 1, 10'000);
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  write_holder("usurper");
  ASSERT_TRUE(first.signal.wait([&] { return first.has_lost; }));
  EXPECT_FALSE(first.elector->is_leading());
  EXPECT_FALSE(first.elector->reign()->holds());
  ASSERT_TRUE(first.signal.wait([&] { return first.has_ended; }));
  EXPECT_EQ(holder(), "usurper");
}

TEST_F(Election, ALeaderThatWasSuspendedForTooLongSendsNoRenewal) {
  Candidate first(server, "first", 1, 10'000);
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  const std::string renewed = text_at(lease(), "/spec/renewTime");
  ASSERT_TRUE(wait([&] { return text_at(lease(), "/spec/renewTime") != renewed; })) << "it renews";
  const std::uint64_t ticket = first.elector->reign()->ticket();
  first.clock.jump(std::chrono::hours(24));
  EXPECT_FALSE(first.elector->reign()->admits(ticket)) << "at once, whatever any thread does";
  ASSERT_TRUE(first.signal.wait([&] { return first.has_ended; }));
  EXPECT_TRUE(first.has_lost);
  EXPECT_EQ(holder(), "") << "given back: no other process had taken it";
}

TEST_F(Election, LeasesWithMissingOrExtremeFieldsAreTaken) {
  const auto& leases = *server.store().find("coordination.k8s.io", "v1", "leases");
  for (const char* spec :
       {"null", "{}", R"({"holderIdentity":"gone","leaseDurationSeconds":0})",
        R"({"holderIdentity":"","leaseTransitions":2147483647,"renewTime":"9999-12-31T23:59:59Z"})"}) {
    server.create(
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kube-scheduler","namespace":"kube-system"},"spec":)" +
        std::string(spec) + "}");
    {
      Candidate taker(server, "taker");
      ASSERT_TRUE(taker.signal.wait([&] { return taker.leads; })) << spec;
      EXPECT_EQ(holder(), "taker") << spec;
      EXPECT_GT(lease().at("spec").at("leaseTransitions").as_int64(), 0) << spec;
      EXPECT_LE(lease().at("spec").at("leaseTransitions").as_int64(), 2147483647) << spec;
    }
    ASSERT_TRUE(server.store().remove(leases, "kube-system", "kube-scheduler", {}).ok());
  }
}

TEST_F(Election, ARenewalKeepsLabelsThatOtherClientsSet) {
  Candidate first(server, "first");
  ASSERT_TRUE(first.signal.wait([&] { return first.leads; }));
  json::value labelled = lease();
  labelled.as_object()["metadata"].as_object()["labels"] = {{"kept", "yes"}};
  const auto& leases = *server.store().find("coordination.k8s.io", "v1", "leases");
  ASSERT_TRUE(server.store().update(leases, "kube-system", "kube-scheduler", std::move(labelled)).ok());
  // The next renewal meets a version that it does not know, and looks.
  ASSERT_TRUE(wait([&] { return first.elector->slow_renewals() != 0; }));
  const std::string renewed = text_at(lease(), "/spec/renewTime");
  ASSERT_TRUE(wait([&] { return text_at(lease(), "/spec/renewTime") != renewed; }));
  EXPECT_EQ(text_at(lease(), "/metadata/labels/kept"), "yes");
  EXPECT_TRUE(first.elector->is_leading());
}

}  // namespace
}  // namespace berth::tests
