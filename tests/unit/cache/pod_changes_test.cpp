// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

struct ChangesFixture : CacheFixture {
  ChangesFixture() {
    for (const char* name : {"n1", "n2"}) add_node(name);
    refresh();
    snapshot.keep_pod_changes();
    since = snapshot.pod_changes_end();
  }
  /// "+a n1, -b n2" since the last call.
  std::string news() {
    refresh();
    std::string text;
    for (; since != snapshot.pod_changes_end(); ++since) {
      const PodChange& change = snapshot.pod_change(since);
      text += (text.empty() ? "" : ", ") + std::string(change.by > 0 ? "+" : "-") + change.pod->name + " " +
              snapshot.row(change.slot).node->name;
    }
    return text;
  }
  std::uint64_t since = 0;
};

TEST(PodChanges, TellWhatCameAndWent) {
  ChangesFixture f;
  EXPECT_EQ(f.news(), "");
  f.add_pod(f.make_pod("a", "n1"));
  f.add_pod(f.make_pod("b", "n2"));
  EXPECT_EQ(f.news(), "+a n1, +b n2");
  EXPECT_EQ(f.news(), "");
  f.remove_pod("a");
  EXPECT_EQ(f.news(), "-a n1");
  f.add_pod(f.make_pod("c", "n1"));
  f.remove_pod("c");
  EXPECT_EQ(f.news(), "") << "it came and went between two looks";
}

TEST(PodChanges, AnUpdateIsARemovalOfTheOldPodAndAnAdditionOfTheNew) {
  ChangesFixture f;
  f.add_pod(f.make_pod("a", "n1", 100));
  EXPECT_EQ(f.news(), "+a n1");
  auto larger = f.make_pod("a", "n1", 300);
  larger->deleting = true;
  EXPECT_TRUE(f.cache.update_pod(larger).ok());
  f.refresh();
  ASSERT_EQ(f.snapshot.pod_changes_end() - f.since, 2u);
  const PodChange &went = f.snapshot.pod_change(f.since), &came = f.snapshot.pod_change(f.since + 1);
  EXPECT_EQ(went.by, -1);
  EXPECT_FALSE(went.pod->deleting);
  EXPECT_EQ(went.pod->requests->resources[0].request, 100);
  EXPECT_EQ(came.by, 1);
  EXPECT_TRUE(came.pod->deleting);
}

TEST(PodChanges, FollowAssumptionsUntilTheyAreConfirmedOrForgotten) {
  ChangesFixture f;
  {
    const Assumption given_back = f.assume(f.make_pod("a"), "n1");
    EXPECT_EQ(f.news(), "+a n1");
  }
  EXPECT_EQ(f.news(), "-a n1");
  const Assumption kept = f.assume(f.make_pod("b"), "n2");
  EXPECT_EQ(f.news(), "+b n2");
  f.add_pod(f.make_pod("b", "n2"));
  EXPECT_EQ(f.news(), "-b n2, +b n2") << "as it was assumed, and as the API server says";
}

TEST(PodChanges, FollowNodesThatComeAndGo) {
  ChangesFixture f;
  f.add_pod(f.make_pod("a", "n3"));
  EXPECT_EQ(f.news(), "") << "a pod on a node that is not there";
  f.add_node("n3");
  EXPECT_EQ(f.news(), "+a n3");
  f.remove_node("n3");
  f.refresh();
  ASSERT_EQ(f.snapshot.pod_changes_end() - f.since, 1u);
  EXPECT_EQ(f.snapshot.pod_change(f.since).by, -1);
}

TEST(PodChanges, SumUpToWhatIsThereWhateverHappens) {
  ChangesFixture f;
  std::map<std::string, int> sums;
  std::uint32_t random = 12345;
  const auto next = [&](std::uint32_t below) {
    random = random * 1664525 + 1013904223;
    return (random >> 16 & 0x7fff) % below;
  };
  std::map<std::string, std::string> placed;
  for (int step = 0; step < 2000; ++step) {
    const std::string name = "p" + std::to_string(next(40)), node = next(2) == 0 ? "n1" : "n2";
    if (!placed.contains(name)) {
      f.add_pod(f.make_pod(name, node));
      placed[name] = node;
    } else if (next(2) == 0) {
      f.remove_pod(name);
      placed.erase(name);
    } else {
      (void)f.cache.update_pod(f.make_pod(name, node));
      placed[name] = node;
    }
    if (next(3) != 0) continue;
    f.refresh();
    for (; f.since != f.snapshot.pod_changes_end(); ++f.since) {
      const PodChange& change = f.snapshot.pod_change(f.since);
      sums[change.pod->name + " " + f.snapshot.row(change.slot).node->name] += change.by;
    }
    std::erase_if(sums, [](const auto& sum) { return sum.second == 0; });
    std::map<std::string, int> want;
    for (const auto& [pod, on] : placed) want[pod + " " + on] = 1;
    ASSERT_EQ(sums, want) << "after step " << step;
  }
}

TEST(PodChanges, AreForgottenBeyondTheBudget) {
  ChangesFixture f;
  const std::uint64_t begin = f.snapshot.pod_changes_begin();
  for (std::size_t round = 0; round < Snapshot::k_pod_changes_kept / 2 + 10; ++round) {
    f.add_pod(f.make_pod("a", "n1"));
    f.refresh();
    f.remove_pod("a");
    f.refresh();
  }
  EXPECT_GT(f.snapshot.pod_changes_begin(), begin);
  EXPECT_LE(f.snapshot.pod_changes_end() - f.snapshot.pod_changes_begin(), Snapshot::k_pod_changes_kept);
  EXPECT_LE(f.snapshot.pod_change_bytes(), Snapshot::k_pod_change_bytes_max);
  auto large = f.make_pod("large", "n1");
  large->name.assign(Snapshot::k_pod_change_bytes_max / 4, 'x');
  for (int i = 0; i < 6; ++i) {
    large = std::make_shared<model::Pod>(*large);
    large->uid = "uid-large-" + std::to_string(i);
    f.add_pod(large);
  }
  f.refresh();
  EXPECT_LE(f.snapshot.pod_change_bytes(), Snapshot::k_pod_change_bytes_max);
}

TEST(PodChanges, CostNothingWhereNoPolicyAsks) {
  CacheFixture f;
  f.add_node("n1");
  f.add_pod(f.make_pod("a", "n1"));
  f.refresh();
  EXPECT_EQ(f.snapshot.pod_changes_end(), 1u);
  EXPECT_EQ(f.snapshot.pod_change_bytes(), 0u);
}

}  // namespace
}  // namespace berth::cache::testing
