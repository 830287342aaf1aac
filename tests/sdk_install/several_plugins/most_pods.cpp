// SPDX-License-Identifier: Apache-2.0
/// test.example/MostPods: the more pods a node has, the higher its score.
#include <berth/plugin.hpp>

#include <algorithm>
#include <array>

namespace {

class MostPods {
 public:
  static constexpr berth::Identity identity{.name = "test.example/MostPods",
                                            .version = "1.0.0",
                                            .summary = "Fills nodes one after the other.",
                                            .deps = BERTH_DEP_NODE_USAGE};
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit MostPods(berth::Setup& setup) : pods_(setup.pods()) {}

  std::int64_t score_each(const berth::Cycle&, berth::Row node) const {
    return std::min<std::int64_t>(100, 10 * node[pods_]);
  }

 private:
  berth::IntColumn pods_;
};

}  // namespace

BERTH_PLUGIN(MostPods)
