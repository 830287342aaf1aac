// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/extender.hpp"
#include "config/features.hpp"

/// What a resolved configuration says: plain values, complete, valid, in the order in which plugins are called.
///
/// Made by config::resolve(); read by the framework (profiles) and by the wiring (everything else). Threads: immutable.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config. Departs: `percentageOfNodesToScore` that is absent means every
/// node, not "adaptive"; a written 0 is adaptive.
namespace berth::config {

/// Extension points that a profile can list, in the order in which one pod meets them.
enum class Point : std::uint8_t {
  queue_sort,
  pre_enqueue,
  pre_filter,
  filter,
  post_filter,
  pre_score,
  score,
  reserve,
  permit,
  pre_bind,
  bind,
  post_bind
};
inline constexpr std::size_t k_point_count = 12;
/// As written in a configuration: "queueSort", "preFilter".
inline constexpr std::array<std::string_view, k_point_count> k_point_names = {
    "queueSort", "preEnqueue", "preFilter", "filter",  "postFilter", "preScore",
    "score",     "reserve",    "permit",    "preBind", "bind",       "postBind"};
constexpr std::size_t index_of(Point point) noexcept { return static_cast<std::size_t>(point); }
constexpr std::string_view name_of(Point point) noexcept { return k_point_names[index_of(point)]; }

/// One plugin at one extension point.
struct EnabledPlugin {
  std::string name;
  std::int32_t weight = 0;  // at Point::score never 0 (negative is legal, as upstream); 0 elsewhere
  bool absent = false;      // an upstream plugin that berth does not have: see config/absent_plugins.hpp
};

/// One profile after merge, expansion and checks: exactly one queueSort plugin, at least one bind plugin, no plugin
/// twice at a point, sum of weights * 100 within int64.
struct Profile {
  std::string scheduler_name;
  /// Absent: the value of the Configuration holds. 0 is adaptive.
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::array<std::vector<EnabledPlugin>, k_point_count> points;
  /// Plugin name -> compact JSON, defaults of the plugin's schema filled in. Has an entry for every enabled plugin that
  /// is loaded ("{}" when nothing was configured); plugins that are configured but not enabled are left out.
  std::map<std::string, std::string> args_json;
  /// Plugin name -> "file:line:column: path" of args that a configuration gives, for errors of the plugin itself.
  std::map<std::string, std::string> args_origin;

  const std::vector<EnabledPlugin>& at(Point point) const noexcept { return points[index_of(point)]; }
};

/// Durations are nanoseconds, as the Go durations that they were written as.
struct LeaderElection {
  bool leader_elect = true;
  std::int64_t lease_duration_ns = 15'000'000'000;
  std::int64_t renew_deadline_ns = 10'000'000'000;
  std::int64_t retry_period_ns = 2'000'000'000;
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  double qps = 50;  // negative: no throttling on our side
  std::int32_t burst = 100;
};

/// A plugin file that the configuration pins.
struct PluginFile {
  std::string file;                              // relative to the plugin directory, or absolute
  std::string sha256;                            // 64 lower-case hex digits, or empty
  std::string where;                             // "berth.yaml:14:9  plugins.files[2]", for reports about the file
  bool is_isolated = false;                      // its code runs in processes of its own
  std::int64_t call_timeout_ns = 1'000'000'000;  // of an isolated file: a call that takes longer ends the process
};

/// May verdicts be kept for pods of the same class? Turning it off changes nothing but time.
enum class VerdictReuse : std::uint8_t { on, off, verify };

/// The BerthConfiguration document: what upstream has no place for.
struct PluginLoading {
  std::string directory;        // empty: the search order of the loader
  std::string directory_where;  // as PluginFile::where; empty when no configuration says it
  std::vector<PluginFile> files;
  bool strict = false;                   // only `files` are loaded
  bool require_digest = false;           // every file that is loaded needs a digest here
  bool allow_draft_interfaces = false;   // of another minor than this host's too
  std::vector<std::string> public_keys;  // of minisign, who may sign plugin files; none: signatures are not looked at
  VerdictReuse verdict_reuse = VerdictReuse::on;
};

/// What kube-scheduler v1.16 did in another way than today's, for those who need it; nothing of it is on by itself.
struct LegacyMode {
  bool search = false;                // an adaptive share of the nodes; ties are broken at random
  bool check_all_filters = false;     // every filter judges a node, and every reason is told
  bool queue = false;                 // any event retries every pod; pods that are not confirmed leave their node
  bool balance_volumes = false;       // disks count in how evenly full a node is; what was not taken up after loading
  std::int32_t max_node_score = 100;  // 10 or 100: the most that a plugin gives a node
  std::optional<std::uint64_t> seed;  // of the lots; absent: another one at each start
};

struct Configuration {
  std::int32_t parallelism = 16;
  /// Absent: every node is considered. 0: upstream's adaptive share. Otherwise 1..100.
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  bool delay_cache_until_active = false;
  LeaderElection leader_election;
  ClientConnection client_connection;
  std::vector<Extender> extenders;  // in the order of the file
  std::vector<Profile> profiles;    // at least one; names are unique and not empty
  PluginLoading plugins;
  /// How long a pod has to be pending before its FailedScheduling events say what would make it fit. 0: none does.
  std::int64_t explain_after_ns = 0;
  LegacyMode legacy;
  Features features;  // from the command line
};

}  // namespace berth::config
