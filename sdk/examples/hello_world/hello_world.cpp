// SPDX-License-Identifier: Apache-2.0
/// HelloWorldPlugin: a score that comes from its args, to see how args, defaults and their mistakes travel.
///
/// Assumes: nothing about the cluster; a label that no node carries gives every node 0.
/// Steps:   a node whose label `xxx` has the value `yyy` scores `zzz`, any other scores 0.
/// Ties:    left to the host.
#include <berth/plugin.hpp>

#include <array>
#include <string>

namespace {

class HelloWorldPlugin {
 public:
  static constexpr berth::Identity identity{.name = "HelloWorldPlugin",
                                            .version = "1.0.0",
                                            .summary = "Scores nodes that carry the label of its args.",
                                            .deps = BERTH_DEP_NODE_STATIC};

  // The host checks the args before the constructor runs, with the position of each mistake, and fills in the defaults.
  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "xxx": {"type": "string", "description": "Key of a node label. Without it every node scores 0."},
      "yyy": {"type": "string", "default": "123", "description": "Its value."},
      "zzz": {"type": "integer", "minimum": 0, "maximum": 100, "default": 0, "description": "What such a node scores."}
    }
  })";

  // Scores reject no pod: no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit HelloWorldPlugin(berth::Setup& setup) {
    const berth::Json args = setup.args();
    const std::string xxx = args["xxx"].string_or("xxx", "");
    const std::string yyy = args["yyy"].string_or("yyy", "123");
    points_ = args["zzz"].integer_or("zzz", 0);
    label_ = setup.label(xxx);
    value_ = setup.service<berth::Intern>()(yyy);
    if (const auto log = setup.find_service<berth::Log>())
      log->write(BERTH_LOG_INFO,
                 "hello, world: xxx=\"" + xxx + "\" yyy=\"" + yyy + "\" zzz=" + std::to_string(points_));
  }

  std::int64_t score_each(const berth::Cycle&, berth::Row node) const { return node[label_] == value_ ? points_ : 0; }

 private:
  berth::IdColumn label_;
  berth::Id value_ = 0;
  std::int64_t points_ = 0;
};

}  // namespace

BERTH_PLUGIN(HelloWorldPlugin)
