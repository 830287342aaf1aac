// SPDX-License-Identifier: Apache-2.0
/// PodSpec: what a test says about a pod, in strings. PodRecord: the berth_pod_v1 that a policy sees of it.
///
/// Units:    cpu in milli-cores, memory and storage in bytes, times in nanoseconds of the wall clock.
/// Lifetime: specs own their texts. A PodRecord owns what it shows and borrows the host; ids are the host's.
/// Threads:  one. Errors: std::out_of_range for an operator that there is not.
/// Source:   berth_pod_v1 (ext/pods.h).
#pragma once
#include <berth/testkit/host.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

namespace berth::testkit {

using Strings = std::map<std::string, std::string>;

/// One requirement of a selector; Gt and Lt have one value, an integer.
struct RequirementSpec {
  std::string key;
  std::string op;  ///< In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values = {};
};
/// nullopt where a selector is optional means "absent": it matches nothing.
struct SelectorSpec {
  std::vector<RequirementSpec> requirements = {};
};
/// A term of a node selector; weight in preferred ones only.
struct TermSpec {
  std::vector<RequirementSpec> expressions = {};
  std::vector<RequirementSpec> fields = {};
  std::int32_t weight = 0;
  std::string error = {};  ///< not empty: the term does not parse
};
struct TolerationSpec {
  std::string key = {};
  std::string op = "Equal";  ///< Equal, Exists, Lt, Gt; anything else is "other"
  std::string value = {};
  std::string effect = {};  ///< empty: any
};
/// A host port; "0.0.0.0" is every address.
struct PortSpec {
  std::int32_t port;
  std::string protocol = "TCP";
  std::string ip = "0.0.0.0";
};
/// One resource with its sums, as berth_resource_v1 has them: they are not computed from containers.
struct ResourceSpec {
  std::string name;
  std::int64_t request = 0;
  std::int64_t effective = 0;
  std::int64_t scoring = 0;
  std::uint32_t flags = 0;
};
/// cpu in milli. A name in neither map is not given.
struct ContainerSpec {
  std::map<std::string, std::int64_t> requests = {};
  std::map<std::string, std::int64_t> limits = {};
  std::uint32_t kind = BERTH_CONTAINER_APP;
};
struct ImageRefSpec {
  std::string name;
  std::uint32_t kind = BERTH_IMAGE_CONTAINER;
};
/// A topology spread constraint.
struct SpreadSpec {
  std::string topology_key;
  std::int32_t max_skew = 1;
  std::uint32_t when = BERTH_SPREAD_DO_NOT_SCHEDULE;
  std::optional<SelectorSpec> selector = SelectorSpec{};
  std::int32_t min_domains = 1;
  std::uint32_t node_affinity_policy = BERTH_POLICY_HONOR;
  std::uint32_t node_taints_policy = BERTH_POLICY_IGNORE;
  std::vector<std::string> match_label_keys = {};
};
/// A term of pod affinity or anti-affinity; weight in preferred ones only.
struct AffinityTermSpec {
  std::string topology_key;
  std::optional<SelectorSpec> selector = SelectorSpec{};
  std::vector<std::string> namespaces = {"default"};
  std::optional<SelectorSpec> namespace_selector = std::nullopt;
  std::int32_t weight = 0;
};

/// BERTH_EFFECT_*; empty is ANY, another word OTHER.
std::uint32_t effect_of(const std::string& effect);
berth_host_port_v1 port_of(FakeHost& host, const PortSpec& port);

/// kind: BERTH_VOLUME_*; source as the kind says.
struct VolumeSpec {
  std::string name;
  std::uint32_t kind = BERTH_VOLUME_CLAIM;
  std::string source = {};
  bool read_only = false;
};
/// An entry of spec.resourceClaims, with what the status says about it.
struct PodClaimSpec {
  std::string name = {};
  std::string claim = {};
  std::string claim_template = {};
  std::optional<std::string> generated = {};
};
/// A pod in the API's terms; what the policy did not request is not shown of it.
struct PodSpec {
  std::string name = "pod";
  std::string ns = "default";
  std::string uid = {};  ///< empty: the name with "-uid"
  std::string node_name = {};
  std::string nominated_node = {};
  std::int64_t priority = 0;  ///< spec.priority
  Strings labels = {};
  Strings annotations = {};
  std::vector<TolerationSpec> tolerations = {};
  std::optional<Strings> node_selector = {};  ///< absent: spec has none
  std::optional<std::vector<TermSpec>> required = {};
  std::optional<std::vector<TermSpec>> preferred = {};
  std::vector<PortSpec> ports = {};
  std::vector<ImageRefSpec> images = {};
  std::uint32_t containers = 1;
  std::vector<std::string> gates = {};
  std::uint32_t spec_flags = 0;
  std::vector<ResourceSpec> resources = {};  ///< of BERTH_POD_REQUESTS and Setup::request()
  std::vector<SpreadSpec> spread = {};
  std::vector<AffinityTermSpec> affinity_required = {};
  std::vector<AffinityTermSpec> affinity_preferred = {};
  std::vector<AffinityTermSpec> anti_required = {};
  std::vector<AffinityTermSpec> anti_preferred = {};
  std::string owner_api_version = {}, owner_kind = {}, owner_name = {}, owner_uid = {};
  std::vector<VolumeSpec> volumes = {};
  std::vector<std::string> resource_claims = {};
  std::vector<PodClaimSpec> claims = {};                ///< of BERTH_POD_CLAIMS
  std::vector<ContainerSpec> container_resources = {};  ///< of BERTH_POD_CONTAINERS
  std::map<std::string, std::int64_t> overhead = {};
  std::int64_t created_ns = 0, start_ns = 0, deletion_ns = 0;
  std::uint32_t phase = BERTH_PHASE_PENDING;
  std::uint32_t preemption_policy = BERTH_PREEMPT_LOWER_PRIORITY;
  std::uint32_t qos = BERTH_QOS_BEST_EFFORT;
  std::string scheduler_name = "default-scheduler";
  std::string group = {};  ///< spec.schedulingGroup.podGroupName
  std::string json = {};   ///< the whole object
};

namespace detail {
/// Memory that cannot be read.
const void* unreadable();
template <class T>
void trap_list(const T*& first, std::uint32_t& count) {
  first = static_cast<const T*>(unreadable());
  count = 1;
}
/// What a pod looks like where nothing was asked for; fields that several groups fill are left as they are.
void trap_fields(berth_pod_v1& v, std::uint64_t groups, bool has_labels, bool has_requests);
}  // namespace detail

/// Groups that the policy did not request are traps, or empty: FakeHost::traps_unasked_fields. Neither copied nor
/// moved.
class PodRecord {
 public:
  /// extra_groups: what a call shows besides, BERTH_POD_*.
  PodRecord(FakeHost& host, const PodSpec& spec, std::uint64_t extra_groups = 0);
  ~PodRecord();
  PodRecord(const PodRecord&) = delete;
  PodRecord& operator=(const PodRecord&) = delete;
  /// Lives as long as the record.
  const berth_pod_v1* raw() const { return &raw_; }

 private:
  bool wants(std::uint64_t group) const { return (groups_ & group) != 0; }
  template <class T>
  std::pair<const T*, std::uint32_t> keep(std::vector<T> values) {
    auto owned = std::make_shared<std::vector<T>>(std::move(values));
    owned_.push_back(owned);
    return {owned->empty() ? nullptr : owned->data(), static_cast<std::uint32_t>(owned->size())};
  }
  std::vector<berth_label_v1> labels_of(const Strings& labels);
  berth_requirement_v1 requirement_of(const RequirementSpec& spec);
  std::pair<const berth_requirement_v1*, std::uint32_t> requirements_of(const std::vector<RequirementSpec>& specs);
  berth_selector_v1 selector_of(const std::optional<SelectorSpec>& spec);
  std::pair<const berth_node_term_v1*, std::uint32_t> terms_of(const std::vector<TermSpec>& specs);
  std::pair<const berth_affinity_term_v1*, std::uint32_t> affinity_terms_of(const std::vector<AffinityTermSpec>& specs);

  void fill_scalars();
  void fill_lists();
  void fill_claims();
  void fill_volumes();
  void fill_resources();
  std::pair<const berth_container_amount_v1*, std::uint32_t> amounts_of(
      const std::map<std::string, std::int64_t>& requests, const std::map<std::string, std::int64_t>& limits);
  void fill_containers();
  void fill_selection();
  void fill_spread_and_affinity();

  FakeHost& host_;
  std::unique_ptr<PodSpec> spec_;
  std::uint64_t groups_;
  std::vector<std::shared_ptr<void>> owned_;
  berth_node_selection_v1 selection_{};
  berth_affinity_v1 affinity_{};
  berth_pod_v1 raw_{};
};

}  // namespace berth::testkit

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/pods.ipp>
#endif
