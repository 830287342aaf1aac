// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

constexpr std::int64_t k_mebibyte = 1024 * 1024;

Scores score(std::vector<ImageRefSpec> images, std::vector<std::vector<ImageSpec>> nodes,
             std::uint32_t containers = 1) {
  std::vector<NodeSpec> specs(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) specs[i] = {.name = "n" + std::to_string(i), .images = nodes[i]};
  Policy policy(tested_library());
  return Attempt(policy, {.images = std::move(images), .containers = containers}, specs).score();
}

TEST(ImageLocality, ScalesSizesByTheShareOfNodesThatHaveTheImage) {
  EXPECT_EQ(score({{"gcr.io/250:latest"}}, {{{"gcr.io/250:latest", 250 * k_mebibyte, 1}}, {}}), (Scores{10, 0}));
  EXPECT_EQ(score({{"gcr.io/250:latest"}},
                  {{{"gcr.io/250:latest", 250 * k_mebibyte, 2}}, {{"gcr.io/250:latest", 250 * k_mebibyte, 2}}}),
            (Scores{23, 23}));
}

TEST(ImageLocality, AddsUpImages) {
  // (40 + 250) MiB / 2 on the first node, 10 MiB / 2 on the second.
  const std::vector<ImageSpec> first = {{"gcr.io/40:latest", 40 * k_mebibyte}, {"gcr.io/250:latest", 250 * k_mebibyte}};
  const std::vector<ImageSpec> second = {{"gcr.io/10:latest", 10 * k_mebibyte}};
  EXPECT_EQ(score({{"gcr.io/40:latest"}, {"gcr.io/250:latest"}}, {first, second}, 2),
            (Scores{100 * (145 - 23) / (2000 - 23), 0}));
  EXPECT_EQ(score({{"gcr.io/250:latest"}, {"gcr.io/250:latest"}}, {first, second}, 2),
            (Scores{100 * (250 - 23) / (2000 - 23), 0}))
      << "an image that two containers use counts twice";
}

TEST(ImageLocality, StaysWithinTheThresholds) {
  EXPECT_EQ(score({{"big"}}, {{{"big", 4000 * k_mebibyte}}}), Scores{100});
  EXPECT_EQ(score({{"small"}}, {{{"small", 22 * k_mebibyte}}}), Scores{0});
  EXPECT_EQ(score({{"edge"}}, {{{"edge", 1000 * k_mebibyte}}}), Scores{100});
  EXPECT_EQ(score({}, {{{"big", 4000 * k_mebibyte}}}), Scores{0});
}

TEST(ImageLocality, CountsVolumesButDoesNotRaiseTheThresholdForThem) {
  EXPECT_EQ(score({{"a"}, {"v", BERTH_IMAGE_VOLUME}}, {{{"a", 100 * k_mebibyte}, {"v", 400 * k_mebibyte}}}),
            Scores{100 * (500 - 23) / (1000 - 23)});
  EXPECT_EQ(score({{"i", BERTH_IMAGE_INIT_CONTAINER}, {"a"}}, {{{"i", 400 * k_mebibyte}}}, 2),
            Scores{100 * (400 - 23) / (2000 - 23)});
}

TEST(ImageLocality, TruncatesEachScaledSize) {
  // 1/3 of 100000001 bytes is 33333333.67; two of them must not round up together.
  const std::int64_t size = 100000001;
  const std::int64_t sum = 2 * static_cast<std::int64_t>(static_cast<double>(size) * (1.0 / 3.0));
  EXPECT_EQ(score({{"a"}, {"b"}}, {{{"a", size}, {"b", size}}, {}, {}}, 1)[0],
            100 * (sum - 23 * k_mebibyte) / (1000 * k_mebibyte - 23 * k_mebibyte));
}

TEST(ImageLocality, ScoresManyNodesOnceEach) {
  std::vector<std::vector<ImageSpec>> nodes;
  for (int i = 0; i < 130; ++i) nodes.push_back({{"a", (i % 70) * 100 * k_mebibyte, 130}});
  const Scores scores = score({{"a"}}, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int64_t mebibytes = std::clamp<std::int64_t>(static_cast<std::int64_t>(i % 70) * 100, 23, 1000);
    EXPECT_EQ(scores[i], 100 * (mebibytes - 23) / (1000 - 23)) << i;
  }
}

}  // namespace
