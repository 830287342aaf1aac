// SPDX-License-Identifier: Apache-2.0
// bench.example.com/Headroom: a filter as an author outside the tree would write it. Keeps pods off nodes with less than
// 512 MiB of memory to spare, and off nodes with more than 100 pods.
#include <berth/plugin.hpp>

namespace {

class Headroom {
 public:
  static constexpr berth::Identity identity{.name = "bench.example.com/Headroom",
                                            .version = "1.0.0",
                                            .summary = "Keeps nodes from running full.",
                                            .deps = BERTH_DEP_NODE_USAGE | BERTH_DEP_NODE_STATIC};
  static constexpr berth::ReasonText reasons[] = {{"node(s) had no headroom", "NoHeadroom"}};
  static constexpr berth::Rejection rejection = berth::unschedulable(1);

  explicit Headroom(berth::Setup& setup) : memory_(setup.free("memory")), pods_(setup.pods()) {}

  berth::Mask filter(const berth::Cycle&, berth::Rows nodes) const {
    return nodes[memory_] >= 512 * 1024 * 1024 && nodes[pods_] <= 100;
  }

 private:
  berth::IntColumn memory_, pods_;
};

}  // namespace

BERTH_PLUGIN(Headroom)
