// SPDX-License-Identifier: Apache-2.0
#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

enum class State { absent, assumed, added };

struct StateFixture : CacheFixture {
  explicit StateFixture(State state) {
    add_node("n");
    if (state == State::assumed) held = assume(make_pod("p", "", 100), "n");
    if (state == State::added) add_pod(make_pod("p", "n", 100));
  }
  State state() const {
    const auto found = cache.find_pod("uid-p");
    return !found ? State::absent : found->assumed ? State::assumed : State::added;
  }
  Assumption held;
};

enum class Call { assume, add, update, remove, forget };

struct Transition {
  State before;
  Call call;
  const char* error;  // empty: accepted
  State after;
};

class PodStates : public ::testing::TestWithParam<Transition> {};

TEST_P(PodStates, AcceptOrRefuseInUpstreamsWords) {
  const Transition& t = GetParam();
  StateFixture f(t.before);
  Status status = Unit{};
  Assumption second;
  switch (t.call) {
    case Call::assume: {
      auto result = f.cache.assume(f.make_pod("p"), f.symbols.intern("n"));
      if (result.ok())
        second = std::move(result).value();
      else
        status = result.error();
      break;
    }
    case Call::add:
      status = f.cache.add_pod(f.make_pod("p", "n", 100));
      break;
    case Call::update:
      status = f.cache.update_pod(f.make_pod("p", "n", 250));
      break;
    case Call::remove:
      status = f.cache.remove_pod(*f.make_pod("p", "n"));
      break;
    case Call::forget:
      f.held.forget();
      break;
  }
  EXPECT_EQ(status.ok() ? "" : status.error().message, t.error);
  EXPECT_EQ(f.state(), t.after);
  EXPECT_EQ(f.cache.counts().assumed_pods, t.after == State::assumed ? 1u : 0u);
  EXPECT_EQ(f.cache.is_assumed("uid-p"), t.after == State::assumed);
}

INSTANTIATE_TEST_SUITE_P(
    Upstream, PodStates,
    ::testing::Values(
        Transition{State::absent, Call::assume, "", State::assumed},
        Transition{State::assumed, Call::assume, "pod uid-p(default/p) is in the cache, so can't be assumed",
                   State::assumed},
        Transition{State::added, Call::assume, "pod uid-p(default/p) is in the cache, so can't be assumed",
                   State::added},
        Transition{State::assumed, Call::forget, "", State::absent},
        Transition{State::absent, Call::add, "", State::added}, Transition{State::assumed, Call::add, "", State::added},
        Transition{State::added, Call::add, "pod uid-p(default/p) was already in added state", State::added},
        Transition{State::absent, Call::update,
                   "pod uid-p(default/p) is not added to scheduler cache, so cannot be updated", State::absent},
        Transition{State::assumed, Call::update, "assumed pod uid-p(default/p) should not be updated", State::assumed},
        Transition{State::added, Call::update, "", State::added},
        Transition{State::absent, Call::remove,
                   "pod uid-p(default/p) is not found in scheduler cache, so cannot be removed from it", State::absent},
        Transition{State::assumed, Call::remove, "", State::absent},
        Transition{State::added, Call::remove, "", State::absent}));

TEST(CachedPods, NeedAUid) {
  CacheFixture f;
  auto pod = f.make_pod("p", "n");
  pod->uid = {};
  EXPECT_EQ(f.cache.add_pod(pod).error().message, "cannot get cache key for pod with empty UID");
  EXPECT_EQ(f.cache.assume(pod, f.symbols.intern("n")).error().message, "cannot get cache key for pod with empty UID");
}

TEST(CachedPods, AnUpdateChargesTheNewAmounts) {
  StateFixture f(State::added);
  ASSERT_TRUE(f.cache.update_pod(f.make_pod("p", "n", 250)).ok());
  EXPECT_EQ(f.cpu_milli_of("n"), 250);
  EXPECT_EQ(f.row("n").nonzero_cpu_milli, 250);
}

TEST(CachedPods, AnUpdateToAnotherNodeIsReportedAndFollowed) {
  StateFixture f(State::added);
  f.add_node("m");
  const Status status = f.cache.update_pod(f.make_pod("p", "m", 100));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "pod uid-p(default/p) was updated on m but had been added to n");
  EXPECT_EQ(f.cpu_milli_of("n"), 0);
  EXPECT_EQ(f.cpu_milli_of("m"), 100);
}

TEST(CachedPods, RemovalSwapsTheLastIntoTheHole) {
  CacheFixture f;
  f.add_node("n");
  for (const char* name : {"a", "b", "c", "d"}) f.add_pod(f.make_pod(name, "n"));
  f.remove_pod("b");
  f.refresh();
  EXPECT_EQ(f.pods_on("n"), (std::vector<std::string>{"a", "d", "c"}));
  ASSERT_TRUE(f.cache.update_pod(f.make_pod("a", "n")).ok());
  f.refresh();
  EXPECT_EQ(f.pods_on("n"), (std::vector<std::string>{"c", "d", "a"})) << "an update is a removal and an addition";
}

TEST(CachedPods, AHandleIsGoodUntilTheRefreshAfterItsRemoval) {
  CacheFixture f;
  f.add_node("n");
  f.add_pod(f.make_pod("p", "n"));
  f.refresh();
  const PodHandle handle = f.row("n").pods.at(0);
  f.remove_pod("p");
  f.add_pod(f.make_pod("q", "n"));
  ASSERT_NE(f.cache.pod(handle), nullptr);
  EXPECT_EQ(f.cache.pod(handle)->name, "p");
  f.refresh();
  EXPECT_EQ(f.cache.pod(handle), nullptr);
}

TEST(UsedPorts, AreASetWithoutCounts) {
  CacheFixture f;
  f.add_node("n");
  const model::HostPort port{f.symbols.intern("0.0.0.0"), f.symbols.intern("TCP"), 8080, 1};
  for (const char* name : {"p", "q"}) {
    auto pod = f.make_pod(name, "n");
    pod->spec.edit().host_ports = {port};
    f.add_pod(pod);
  }
  f.refresh();
  const auto used = f.cache.lists().ports.members(f.row("n").port_set);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0], port);
  f.remove_pod("p");
  f.refresh();
  EXPECT_EQ(f.row("n").port_set, 0u) << "one of two users leaving frees the port";
}

TEST(CachedPods, KeepTheirPortsWhenAPodThatWasTriedInTheirPlaceGoes) {
  CacheFixture f;
  f.add_node("n");
  const auto with_port = [&](const std::string& name, const std::string& node) {
    auto pod = f.make_pod(name, node);
    pod->spec.edit().host_ports = {{f.symbols.intern("0.0.0.0"), f.symbols.intern("TCP"), 8080, 1}};
    return pod;
  };
  f.add_pod(with_port("victim", "n"));
  { const Assumption tried = f.assume(with_port("p", ""), "n", Assume::tried); }
  f.refresh();
  EXPECT_EQ(f.cache.lists().ports.members(f.row("n").port_set).size(), 1u) << "the victim has it still";
  {
    const Assumption tried = f.assume(with_port("p", ""), "n", Assume::tried);
    f.remove_pod("victim");
  }
  f.refresh();
  EXPECT_EQ(f.row("n").port_set, 0u) << "no pod has it";
}

TEST(AssumedPods, GiveTheirResourcesBackWhenDropped) {
  CacheFixture f;
  f.add_node("n");
  {
    const Assumption held = f.assume(f.make_pod("p", "", 100), "n");
    EXPECT_EQ(f.cpu_milli_of("n"), 100);
    EXPECT_EQ(held.node_name(), f.symbols.intern("n"));
    EXPECT_EQ(held.slot(), f.slot("n"));
  }
  EXPECT_EQ(f.cpu_milli_of("n"), 0);
  EXPECT_FALSE(f.cache.find_pod("uid-p").has_value());
}

TEST(AssumedPods, StayAfterConfirm) {
  CacheFixture f;
  f.add_node("n");
  {
    Assumption held = f.assume(f.make_pod("p", "", 100), "n");
    held.confirm();
    EXPECT_FALSE(held.active());
  }
  EXPECT_EQ(f.cpu_milli_of("n"), 100);
  EXPECT_TRUE(f.cache.is_assumed("uid-p")) << "until the watch says so";
}

TEST(AssumedPods, LetGoOfWhatTheWatchHasConfirmed) {
  CacheFixture f;
  f.add_node("n");
  f.add_node("m");
  {
    const Assumption held = f.assume(f.make_pod("p", "", 100), "n");
    f.add_pod(f.make_pod("p", "m", 100));
  }
  EXPECT_EQ(f.cpu_milli_of("n"), 0);
  EXPECT_EQ(f.cpu_milli_of("m"), 100) << "the API server's node counts";
  EXPECT_FALSE(f.cache.is_assumed("uid-p"));
}

TEST(AssumedPods, LetGoOfWhatTheWatchHasRemoved) {
  CacheFixture f;
  f.add_node("n");
  Assumption held = f.assume(f.make_pod("p", "", 100), "n");
  f.remove_pod("p");
  f.refresh();
  f.add_pod(f.make_pod("other", "n", 30));  // takes over the handle
  held.forget();
  EXPECT_EQ(f.cpu_milli_of("n"), 30);
}

TEST(AssumedPods, MoveTheirDuty) {
  CacheFixture f;
  f.add_node("n");
  Assumption first = f.assume(f.make_pod("p", "", 100), "n");
  Assumption second = f.assume(f.make_pod("q", "", 20), "n");
  first = std::move(second);  // p is forgotten, q is taken over
  EXPECT_FALSE(f.cache.find_pod("uid-p").has_value());
  EXPECT_EQ(f.cpu_milli_of("n"), 20);
  EXPECT_FALSE(second.active());  // NOLINT: a moved-from assumption is empty
  EXPECT_EQ(first.pod()->name, "q");
  Assumption& same = first;
  first = std::move(same);
  EXPECT_TRUE(first.active());
  const Assumption third(std::move(first));
  EXPECT_TRUE(third.active());
  EXPECT_EQ(f.cpu_milli_of("n"), 20);
}

TEST(PodsOnNodes, KeepOneEntryPerPodAndVolume) {
  CacheFixture f;
  f.add_node("n");
  const model::NodeVolume shared{1, f.symbols.intern("claim"), 0, 0, 1, 0},
      own{1, f.symbols.intern("disk"), 0, 0, 3, 0};
  const auto with = [&](const std::string& name, std::vector<model::NodeVolume> volumes) {
    auto pod = f.make_pod(name, "n");
    pod->node_volumes = std::move(volumes);
    return pod;
  };
  const auto there = [&] {
    f.refresh();
    const auto volumes = f.cache.lists().volumes.members(f.row("n").volume_set);
    return std::vector<model::NodeVolume>(volumes.begin(), volumes.end());
  };
  const auto a = with("a", {own, shared}), b = with("b", {shared});
  EXPECT_EQ(there(), std::vector<model::NodeVolume>{});
  ASSERT_TRUE(f.cache.add_pod(a).ok());
  ASSERT_TRUE(f.cache.add_pod(b).ok());
  EXPECT_EQ(there().size(), 3u);
  ASSERT_TRUE(f.cache.remove_pod(*a).ok());
  EXPECT_EQ(there(), std::vector<model::NodeVolume>{shared}) << "b still uses it";
  ASSERT_TRUE(f.cache.remove_pod(*b).ok());
  EXPECT_EQ(there(), std::vector<model::NodeVolume>{});
  EXPECT_EQ(f.row("n").volume_set, 0u);
}

}  // namespace
}  // namespace berth::cache::testing
