// SPDX-License-Identifier: Apache-2.0
/// NetworkTraffic: prefers nodes on whose interface little arrives, as Prometheus has measured it.
///
/// Assumes: node_exporter's node_network_receive_bytes_total, with a label that holds the node's name.
/// Steps:   a task of the executor asks Prometheus for all nodes at once, every few seconds; nothing else waits for it.
///          Score is the bandwidth in bytes per second. Normalised, the busiest node gets 0 and one without traffic
///          100: 100 - raw * 100 / highest, and 100 for all where nothing arrives anywhere. A node without a reading,
///          or with one that is too old, fails the pod's attempt, or gets 50, as the args say.
/// Ties:    left to the host.
#include <berth/plugin.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "../http_client/http_client.hpp"
#include "readings.hpp"

namespace network_traffic {
namespace {

constexpr std::int64_t k_neutral = 50;

/// Of one attempt: whether the reading is too old.
struct State {
  bool stale = false;
};

class NetworkTraffic {
 public:
  using State = network_traffic::State;
  static constexpr berth::Identity identity{.name = "NetworkTraffic",
                                            .version = "1.0.0",
                                            .summary = "Prefers nodes with little network traffic, from Prometheus.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_CLOCK | BERTH_DEP_EXTERNAL};

  static constexpr char args_schema[] = R"json({
    "type": "object",
    "additionalProperties": false,
    "required": ["prometheusAddress", "networkInterface"],
    "properties": {
      "prometheusAddress": {"type": "string", "pattern": "^http://[^/]", "description": "http://HOST[:PORT][/PATH]"},
      "networkInterface": {"type": "string", "minLength": 1, "description": "device whose traffic counts"},
      "timeRangeInMinutes": {"type": "integer", "minimum": 1, "maximum": 1440, "default": 5,
                             "description": "The bandwidth is the mean over this time."},
      "nodeLabel": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "default": "kubernetes_node",
                    "description": "label of the metric that holds the node's name"},
      "periodSeconds": {"type": "integer", "minimum": 1, "maximum": 3600, "default": 15,
                        "description": "How often Prometheus is asked."},
      "staleAfterSeconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 60,
                            "description": "An answer that is older does not count any more."},
      "timeoutMilliseconds": {"type": "integer", "minimum": 1, "maximum": 60000, "default": 2000,
                              "description": "How long an answer may take."},
      "withoutReading": {"type": "string", "enum": ["Error", "Neutral"], "default": "Error",
                         "description": "What a node without a reading is: an error for the pod, or a score of 50."}
    }
  })json";

  static constexpr const char* services[] = {berth::Intern::id, berth::Clock::id, berth::Executor::id,
                                             berth::NodeColumns::id};
  // Scores reject no pod: no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};
  static constexpr berth::Normalize normalization = berth::Normalize::custom;

  explicit NetworkTraffic(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        clock_(setup.service<berth::Clock>()),
        columns_(setup.service<berth::NodeColumns>()),
        log_(setup.find_service<berth::Log>()),
        names_(setup.name()) {
    const berth::Json args = setup.args();
    prometheus_ = address_of(args);
    node_label_ = args["nodeLabel"].string_or("nodeLabel", "kubernetes_node");
    target_ = "/api/v1/query?query=" +
              http::percent_encode(query_text(node_label_, args["networkInterface"].string("networkInterface"),
                                              args["timeRangeInMinutes"].integer_or("timeRangeInMinutes", 5)));
    stale_ns_ = args["staleAfterSeconds"].integer_or("staleAfterSeconds", 60) * 1'000'000'000;
    limit_ = std::chrono::milliseconds(args["timeoutMilliseconds"].integer_or("timeoutMilliseconds", 2000));
    missing_is_error_ = args["withoutReading"].string_or("withoutReading", "Error") == "Error";
    const auto period_ms = static_cast<std::uint32_t>(args["periodSeconds"].integer_or("periodSeconds", 15) * 1000);
    const auto executor = setup.service<berth::Executor>();
    if (executor.submit(&ask, this) != BERTH_OK || executor.every(period_ms, &ask, this) != BERTH_OK)
      throw berth::Failure("the host does not take the task");
  }

  /// Names are looked up here, once for a node and a reading, and not in score.
  berth::Verdict pre_score(const berth::Cycle& cycle, berth::PreScore<State>& out) {
    by_slot_.take(latest_.get(), out.nodes(), columns_.column(cycle, names_), cycle.slot_count(),
                  [&](berth::Id name) { return intern_.text(name); });
    out.make().stale = is_stale(by_slot_.reading());
    return berth::Verdict::ok();
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& block) const {
    if (const State* const state = cycle.state<State>()) {
      rate(block, by_slot_.reading(), state->stale, [&](std::uint32_t row) { return by_slot_[block.slot(row)]; });
      return;
    }
    // A profile may take the plugin away from preScore: the same scores, looked up for each block.
    const std::shared_ptr<const Reading> reading = latest_.get();
    rate(block, *reading, is_stale(*reading),
         [&](std::uint32_t row) { return reading->of(intern_.text(block[names_][row])); });
  }

  void normalize(const berth::Cycle& cycle, std::span<const berth::Slot> nodes, std::span<std::int64_t> scores) const {
    const std::int64_t highest = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
    const bool logs = log_ && log_->enabled(BERTH_LOG_INFO);
    std::string line = "bandwidth by node, raw and final:";
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::int64_t raw = scores[i];
      scores[i] = raw == k_no_reading ? k_neutral
                  : highest == 0      ? BERTH_SCORE_MAX
                                      : BERTH_SCORE_MAX - share(raw, highest);
      if (logs && i < k_logged_nodes)
        line.append(i == 0 ? " " : ", ")
            .append(name_of(cycle, nodes[i]))
            .append(" ")
            .append(std::to_string(raw))
            .append(" ")
            .append(std::to_string(scores[i]));
    }
    if (scores.size() > k_logged_nodes) line += ", and " + std::to_string(scores.size() - k_logged_nodes) + " more";
    if (logs) log_->write(BERTH_LOG_INFO, line);
  }

 private:
  static constexpr std::size_t k_logged_nodes = 20;

  static http::Url address_of(const berth::Json& args) {
    try {
      return http::Url::parse(args["prometheusAddress"].string("prometheusAddress"));
    } catch (const http::Failure& problem) {
      throw berth::BadArgs(std::string("prometheusAddress: ") + problem.what());
    }
  }
  bool is_stale(const Reading& reading) const { return clock_.monotonic_ns() - reading.read_ns > stale_ns_; }
  template <class BandwidthOf>
  void rate(berth::ScoreBlock& block, const Reading& reading, bool stale, BandwidthOf&& bandwidth_of) const {
    block.each_candidate([&](std::uint32_t row) {
      const std::int64_t bandwidth = stale ? k_no_reading : bandwidth_of(row);
      if (bandwidth == k_no_reading && missing_is_error_)
        throw berth::Failure(missing_text(intern_.text(block[names_][row]), reading, stale));
      block(row) = bandwidth;
    });
  }
  /// raw * 100 / highest without overflow.
  static std::int64_t share(std::int64_t raw, std::int64_t highest) {
    return static_cast<std::int64_t>(static_cast<__int128>(raw) * BERTH_SCORE_MAX / highest);
  }
  static std::string missing_text(std::string_view node, const Reading& reading, bool stale) {
    constexpr const char* k_text = "error getting node bandwidth measure: ";
    if (!stale) return k_text + ("no reading for node " + std::string(node));
    return k_text + (reading.problem.empty() ? "the last answer is too old" : reading.problem);
  }
  std::string_view name_of(const berth::Cycle& cycle, berth::Slot node) const {
    return intern_.text(columns_.column(cycle, names_)[node]);
  }

  /// On a thread of the executor.
  static void ask(void* self) { static_cast<NetworkTraffic*>(self)->ask_prometheus(); }
  void ask_prometheus() noexcept {
    try {
      const http::Answer answer = http::exchange("GET", prometheus_, target_, {}, limit_);
      if (answer.status != 200 && answer.body.rfind('{', 0) != 0)
        throw http::Failure("HTTP " + std::to_string(answer.status));
      latest_.replace(parse_answer(answer.body, node_label_), clock_.monotonic_ns());
    } catch (const std::exception& problem) {
      report(problem.what());
    }
  }
  void report(const char* problem) noexcept {
    try {
      latest_.fail(problem);
      if (log_) log_->write(BERTH_LOG_WARN, std::string("no answer from Prometheus: ") + problem);
    } catch (const std::exception&) {  // memory: the values are old soon enough
    }
  }

  berth::Intern intern_;
  berth::Clock clock_;
  berth::NodeColumns columns_;
  std::optional<berth::Log> log_;
  berth::IdColumn names_;
  http::Url prometheus_;
  std::string node_label_, target_;
  std::int64_t stale_ns_ = 0;
  std::chrono::milliseconds limit_{0};
  bool missing_is_error_ = true;
  Latest latest_;
  BySlot by_slot_;  // of the attempt at hand
};

}  // namespace
}  // namespace network_traffic

BERTH_PLUGIN(network_traffic::NetworkTraffic)
