// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

namespace berth::recording {

/// What a record is. The numbers are those of the file: they stay what they are.
enum class Kind : std::uint8_t {
  description = 1,       // text: JSON about the process that writes; at the beginning of each segment
  clock = 2,             // wall clock time of the record's moment: at the beginning, and when that clock was set
  gap = 3,               // so many records (`count`) are missing here: what follows is not complete until state_begins
  node = 4,              // a node as it is from now on
  node_gone = 5,         // text: its name
  placed_pod = 6,        // a pod that is on a node, as it is from now on
  placed_pod_gone = 7,   // text: its uid
  waiting_pod = 8,       // a pod without a node, as it is from now on
  waiting_pod_gone = 9,  // text: its uid
  object = 10,           // another object, with the fields that policies read
  object_gone = 11,      // another object, by its names
  look = 12,             // a decision begins: all records before are seen by it, those up to its attempt are not
  attempt = 13,          // a decision
  given_back = 14,       // text: the uid of a pod that does not get the node that an attempt gave it
  nominations = 15,      // those that the next decision sees, when they are others than before
  write = 16,            // something was written to the cluster, or refused by it
  state_begins = 17,     // what follows up to state_ends is the whole cluster as it is: all that was known is replaced
  state_ends = 18,
  plugin_times = 19  // calls into plugins in the last `count` ns; from version 2 of the file on
};
inline constexpr std::uint8_t k_kinds = 19;
/// "placed_pod", for people and programs.
std::string_view name_of(Kind kind) noexcept;

/// How a pod was decided about.
enum class Way : std::uint8_t {
  alone = 0,
  planned = 1,   // with others of its group
  unplanned = 2  // its group is not complete: no node was looked at
};

/// Why a pod got no node.
struct Rejected {
  std::uint8_t code = 0;               // as framework::Code
  std::string message;                 // with what post-filter said
  std::vector<std::string> rejectors;  // names of plugins
  bool nominates = false;              // sets the nominated node, or clears it
  std::string nominated;
  std::vector<std::string> victims;  // uids
  friend bool operator==(const Rejected&, const Rejected&) = default;
};

struct Attempt {
  std::uint32_t number = 0;                   // of the pod's attempts
  std::uint32_t evaluated = 0, feasible = 0;  // nodes; of a pod that got one
  std::uint32_t needed = 0;                   // planned: so many members need a node
  std::uint32_t members_left = 0;             // planned: so many attempts of the same plan follow
  Way way = Way::alone;
  std::uint64_t rotation = 0;  // where the search for nodes began
  std::int64_t took_ns = 0;
  // The node's weighted sum of scores, from version 3 of the file on; 0 as well: nodes were not compared, as one was left or
  // nothing scores.
  std::int64_t total = 0;
};

struct Nominated {
  std::string uid, node;
  bool is_stub = false;  // nothing but its names was known of the pod at that moment
  friend bool operator==(const Nominated&, const Nominated&) = default;
};

struct Written {
  std::string what;  // "bind", "nominate", "evict"
  std::string pod, uid;
  std::string node;   // bind, nominate
  std::string error;  // empty: it was carried out
};

/// Calls of one extension point of a plugin, of all profiles.
struct PluginTime {
  std::string plugin, point;  // as in metrics: "NodeResourcesFit", "filter"
  std::uint64_t calls = 0, took_ns = 0;
  friend bool operator==(const PluginTime&, const PluginTime&) = default;
};

/// The whole cluster, as it is written again from time to time.
struct WholeCluster {
  std::vector<model::NodePtr> nodes;  // in the order of the list of nodes
  std::vector<model::ObjectPtr> objects;
  std::vector<model::PodPtr> placed;
  std::vector<std::pair<model::PodPtr, std::string>> assumed;  // not bound yet, with their nodes
  std::vector<model::PodPtr> waiting;
  std::shared_ptr<const std::vector<Nominated>> nominations;
};

/// Moments and times are smaller, on either side of 0: what lies between two of them can be counted.
inline constexpr std::int64_t k_far_ns = std::int64_t{1} << 62;
constexpr bool is_near(std::int64_t ns) noexcept { return -k_far_ns < ns && ns < k_far_ns; }

/// One record. Which members count: Kind. A value; copies share the objects.
struct Record {
  Kind kind = Kind::clock;
  std::int64_t at_ns = 0;  // Clock::monotonic_ns() of the process that wrote it
  model::PodPtr pod;       // placed_pod, waiting_pod, attempt
  model::NodePtr node;     // node
  model::ObjectPtr object;
  Attempt attempt;
  std::shared_ptr<const Rejected> rejected;  // attempt without a node
  std::shared_ptr<const std::vector<Nominated>> nominations;
  std::shared_ptr<const Written> written;
  std::shared_ptr<const std::vector<PluginTime>> plugin_times;
  /// See Kind; of attempt: the pod's node, empty: none; of placed_pod: the node of a pod that
  /// does not name it, because it is not bound yet.
  std::string text;
  std::int64_t wall_ns = 0;  // clock; in what a reader returns: of every record
  std::uint64_t count = 0;   // gap; plugin_times
  std::size_t bytes = 0;     // in what a reader returns: the memory that it takes, about
};

/// A record of that kind with one of its members.
template <typename T>
Record record_with(Kind kind, T Record::*member, T value) {
  Record record;
  record.kind = kind;
  record.*member = std::move(value);
  return record;
}

/// The texts that it holds, about: what a queue of records has to count.
std::size_t text_bytes_of(const Record& record) noexcept;

}  // namespace berth::recording
