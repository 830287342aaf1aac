// SPDX-License-Identifier: Apache-2.0
/// NamespaceQuota: the pods of a namespace that are on nodes ask for no more than its quota.
///
/// Assumes: requests are what counts, of whatever scheduler's pods, until a pod is gone.
/// Steps:   before the nodes are looked at, sums per namespace are brought up to date with the pods that came and went since the
///          last attempt. A pod that would exceed its namespace's quota waits until pods of that namespace go.
#include <berth/plugin.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

struct Amounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
};

class NamespaceQuota {
 public:
  static constexpr berth::Identity identity{.name = "example.com/NamespaceQuota",
                                            .version = "1.0.0",
                                            .summary = "Keeps the requests of a namespace's pods within its quota.",
                                            .deps = BERTH_DEP_POD_SPEC};
  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "required": ["quotas"],
    "properties": {
      "quotas": {"type": "array", "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["namespace"],
        "properties": {
          "namespace": {"type": "string"},
          "cpuMilli": {"type": "integer", "minimum": 0, "description": "In thousandths of a core; absent: no limit."},
          "memoryMiB": {"type": "integer", "minimum": 0, "maximum": 8796093022207, "description": "Absent: no limit."}
        }}}
    }
  })";
  static constexpr const char* services[] = {berth::Pods::id};
  // Room comes back when a pod goes or asks for less.
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_SCALE_DOWN)};

  explicit NamespaceQuota(berth::Setup& setup)
      : pods_(setup.service<berth::Pods>()), cpu_(setup.request("cpu")), memory_(setup.request("memory")) {
    setup.pod_fields(BERTH_POD_NAMESPACE);
    const auto intern = setup.service<berth::Intern>();
    const berth::Json args = setup.args();
    const berth::Json& quotas = args["quotas"];
    for (const berth::Json& each : quotas.array("quotas")) {
      Quota quota;
      quota.name = std::string(each["namespace"].string("namespace"));
      quota.ns = intern(quota.name);
      quota.most.cpu_milli = each["cpuMilli"].integer_or("cpuMilli", INT64_MAX);
      const std::int64_t memory_mib = each["memoryMiB"].integer_or("memoryMiB", -1);
      quota.most.memory_bytes = memory_mib < 0 ? INT64_MAX : memory_mib << 20;
      quotas_.push_back(std::move(quota));
    }
    std::sort(quotas_.begin(), quotas_.end(), [](const Quota& a, const Quota& b) { return a.ns < b.ns; });
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<>&) {
    followed_.follow(
        pods_, cycle,
        [&] {
          for (Quota& quota : quotas_) quota.used = {};
        },
        [&](const berth::PlacedPod& placed, int by) {
          Quota* const quota = find(placed.pod().ns());
          if (quota == nullptr) return;
          quota->used.cpu_milli += by * placed.pod().request(cpu_);
          quota->used.memory_bytes += by * placed.pod().request(memory_);
        });
    const Quota* const quota = find(cycle.pod().ns());
    if (quota == nullptr) return berth::Verdict::skip();
    if (cycle.request(cpu_) > quota->most.cpu_milli - quota->used.cpu_milli)
      return berth::Verdict::unresolvable("namespace " + quota->name + " has used up its cpu");
    if (cycle.request(memory_) > quota->most.memory_bytes - quota->used.memory_bytes)
      return berth::Verdict::unresolvable("namespace " + quota->name + " has used up its memory");
    return berth::Verdict::skip();
  }

  /// Only what goes from the pod's own namespace makes room for it.
  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const auto gone = event.old_pod();
    return gone && gone->ns() == waiting.ns();
  }

 private:
  struct Quota {
    berth::Id ns = 0;
    std::string name;
    Amounts most, used;
  };
  Quota* find(berth::Id ns) {
    const auto at =
        std::lower_bound(quotas_.begin(), quotas_.end(), ns, [](const Quota& q, berth::Id key) { return q.ns < key; });
    return at != quotas_.end() && at->ns == ns ? &*at : nullptr;
  }

  berth::Pods pods_;
  berth::Request cpu_, memory_;
  std::vector<Quota> quotas_;  // by id of the namespace
  berth::PlacedPodsFollowed followed_;
};

}  // namespace

BERTH_PLUGIN(NamespaceQuota)
