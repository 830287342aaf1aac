// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "berth/testkit/real_host.h"

namespace berth::testkit {

/// berth itself, with plugins from their files, on a cluster in memory and a clock that moves when it is told to: for tests
/// of several plugins together. What belongs to one plugin alone is quicker to test with FakeHost.
///
/// Link:    berth::real_host (find_package(BerthPlugin)); the library is that of the same package.
/// Threads: one at a time.
/// Errors:  std::runtime_error, with a text that says what is wrong and where.
class RealHost {
 public:
  struct Options {
    std::string configuration;     // KubeSchedulerConfiguration, YAML or JSON; empty: the default one
    std::string plugin_directory;  // berth's own plugin files and others; empty: the configuration's, or the usual one
    std::int64_t wall_ns = 0;      // what time it is; 0: 2026-01-01T00:00:00Z
  };
  struct Decision {
    std::string pod;      // "namespace/name"
    std::string node;     // empty: none
    std::string message;  // why there is none, as in the pod's condition
    std::string post_filter_message;
    std::string nominated_node;
    std::vector<std::string> victims;
    std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
    std::int64_t wall_ns = 0;  // when it was made, by the host's clock
    std::string json;          // with scores, and who rejected which node
  };

  explicit RealHost(const Options& options) {
    berth_real_host_options given{};
    given.struct_size = sizeof given;
    if (!options.configuration.empty()) given.configuration = options.configuration.c_str();
    if (!options.plugin_directory.empty()) given.plugin_directory = options.plugin_directory.c_str();
    given.wall_ns = options.wall_ns;
    Error error;
    host_.reset(berth_real_host_new(&given, &error.text));
    if (host_ == nullptr) error.raise();
  }

  /// Objects as `kubectl apply -f` takes them; when one of them is wrong, nothing changes.
  void apply(const std::string& manifests) {
    Error error;
    if (berth_real_host_apply(host_.get(), manifests.c_str(), &error.text) != 0) error.raise();
  }
  /// resource: "pods", "nodes", "core/v1/persistentvolumeclaims" …; false: there was none.
  bool remove(const std::string& resource, const std::string& ns, const std::string& name) {
    return berth_real_host_remove(host_.get(), resource.c_str(), ns.c_str(), name.c_str()) == 0;
  }
  /// Moves the clock, and decides about what may be tried at each moment until then.
  void advance(std::chrono::nanoseconds duration = std::chrono::nanoseconds(0)) {
    Error error;
    if (berth_real_host_advance(host_.get(), duration.count(), &error.text) != 0) error.raise();
  }

  /// All since the last call, in order.
  std::vector<Decision> take_decisions() {
    std::vector<Decision> out;
    const std::size_t count = berth_real_host_decision_count(host_.get());
    for (std::size_t i = 0; i < count; ++i) {
      const berth_real_host_decision& d = *berth_real_host_decision_at(host_.get(), i);
      out.push_back({d.pod,
                     d.node,
                     d.message,
                     d.post_filter_message,
                     d.nominated_node,
                     {d.victims, d.victims + d.victim_count},
                     d.evaluated_nodes,
                     d.feasible_nodes,
                     d.wall_ns,
                     d.json});
    }
    berth_real_host_forget_decisions(host_.get());
    return out;
  }
  /// The node that the pod is bound to; empty while it waits. nullopt: there is no such pod.
  std::optional<std::string> node_of(const std::string& ns, const std::string& name) {
    const char* const node = berth_real_host_node_of(host_.get(), ns.c_str(), name.c_str());
    return node == nullptr ? std::nullopt : std::optional<std::string>(node);
  }

 private:
  struct Error {
    char* text = nullptr;
    Error() = default;
    Error(const Error&) = delete;
    Error& operator=(const Error&) = delete;
    ~Error() { berth_real_host_free_text(text); }
    [[noreturn]] void raise() const { throw std::runtime_error(text == nullptr ? "no memory" : text); }
  };
  struct Free {
    void operator()(berth_real_host* host) const noexcept { berth_real_host_free(host); }
  };
  std::unique_ptr<berth_real_host, Free> host_;
};

}  // namespace berth::testkit
