// SPDX-License-Identifier: Apache-2.0
#include "cases/changing_cluster.hpp"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "cases/case_objects.hpp"
#include "cases/put_json.hpp"
#include "text/parse.hpp"

namespace berth::cases::kept_verdicts {
namespace {

constexpr int k_probes = 4;    // classes that are tried after each change
constexpr int k_together = 3;  // of a class, at most
constexpr int k_zones = 3;
constexpr int k_first_pods = 50;
// As many that the few which change between two tries are less than a fourth: where more do, all are judged again.
constexpr int k_first_nodes = 24, k_node_count_min = 18, k_node_count_max = 30;
constexpr const char* k_namespaces[] = {"default", "a", "b"};
constexpr const char* k_images[] = {"example.com/image:1", "example.com/other:2", "example.com/large:3"};

std::string_view ns_of(std::string_view shape) {
  for (const char* ns : k_namespaces)
    if (shape.find(fmt::format(R"("namespace":"{}")", ns)) != std::string_view::npos) return ns;
  return "default";
}
std::string named(std::string shape, const std::string& name) { return shape.replace(shape.find('@'), 1, name); }

}  // namespace

void PrintTo(const TryOutcome& outcome, std::ostream* out) {
  *out << '"' << outcome.node << "\" of " << outcome.feasible << " with " << outcome.total << ' ' << outcome.message
       << ::testing::PrintToString(outcome.victims) << " nominated " << outcome.nominated;
}

ChangingCluster::ChangingCluster(const config::Configuration& configuration, const app::PluginLibrary& plugins,
                                 std::uint32_t seed, bool gangs)
    : configuration_(configuration), plugins_(plugins), random_(seed), has_gangs_(gangs) {
  app::Simulation::Options options;
  options.record_writes = false;
  options.start_wall_ns = 1'000'000'000;
  simulation_ = app::Simulation::make(symbols_, configuration, plugins, options).value();
  decoding_ = watched_by(*simulation_);
  watched_.insert(decoding_.watched.begin(), decoding_.watched.end());
  for (const char* ns : k_namespaces) put_namespace(ns);
  put("storage.k8s.io/v1/storageclasses",
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"wait"},"provisioner":"csi.example.com","volumeBindingMode":"WaitForFirstConsumer"})");
  put("storage.k8s.io/v1/csidrivers",
      R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"csi.example.com"},"spec":{"storageCapacity":true}})");
  put("resource.k8s.io/v1/deviceclasses",
      R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu","selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]}})");
  for (int i = 0; i < k_first_nodes; ++i) add_node();
  for (int i = 0; i < 2; ++i) {
    put_bound_volume(i);
    put_waiting_volume(i);
    put_device_claim(i);
  }
  put_bound_volume(2);
  put_storage_capacity();
  for (int i = 0; i < k_probes; ++i) probes_.push_back(make_probe());
  for (int i = 0; i < k_first_pods; ++i) add_pod();
  simulation_->run_until_idle({});
}

void ChangingCluster::change() {
  const int what = draw(100);
  if (what < 28)
    add_pod();
  else if (what < 32)
    has_gangs_ ? add_gang() : add_pod();
  else if (what < 54)
    remove_pod();
  else if (what < 76)
    change_nodes();
  else if (what < 82)
    if (const char* const ns = k_namespaces[draw(3)]; chance(80))
      put_namespace(ns);
    else
      remove("core/v1/namespaces", "", ns);
  else if (what < 85)
    put_service();
  else if (what < 91)
    change_volumes();
  else if (what < 95)
    change_devices();
  else
    probes_[static_cast<std::size_t>(draw(k_probes))] = make_probe();
  simulation_->run_until_idle({});
  if (chance(20)) simulation_->advance(std::chrono::seconds(1 + draw(30)), {});
}

void ChangingCluster::expect_kept_is_fresh() {
  const scheduler::DecisionParts host = simulation_->scheduler().decision_parts();
  for (const Probe& probe : probes_) {
    const std::size_t count = chance(75) ? 1 : 2 + static_cast<std::size_t>(draw(k_together - 1));
    const std::span<const model::PodPtr> pods(probe.pods.data(), count);
    const std::uint64_t pod_class = host.framework.classify(*pods.front());
    if (pod_class == 0) ++counts_.without_class;
    const std::uint64_t rotation = host.cycle.rotation();
    const std::vector<TryOutcome> kept = attempt(host, pods, pod_class);
    host.cycle.begin_at(rotation);
    const std::vector<TryOutcome> fresh = attempt(host, pods, 0);
    ASSERT_EQ(kept, fresh) << probe.shape;
    for (const TryOutcome& outcome : fresh) {
      ++(outcome.node.empty() ? counts_.rejected : counts_.placed);
      if (!outcome.victims.empty()) ++counts_.evicts;
    }
  }
  host.cache.rest(host.snapshot);
  ASSERT_EQ(host.cycle.reuse_counts().violations, 0u)
      << (host.undeclared_inputs.empty() ? "" : host.undeclared_inputs.front().sentence());
}

void ChangingCluster::expect_as_of_a_new_scheduler(bool has_history) {
  const scheduler::DecisionParts host = simulation_->scheduler().decision_parts();
  if (host.cache.counts().assumed_pods != 0) return;
  config::Configuration configuration = configuration_;
  configuration.plugins.verdict_reuse = config::VerdictReuse::off;
  app::Simulation::Options options;
  options.record_writes = false;
  options.has_controllers = false;
  options.start_wall_ns = simulation_->clock().wall_ns();
  const auto other = app::Simulation::make(symbols_, configuration, plugins_, options).value();
  for (const std::string& resource : watched_)
    for (const model::ObjectPtr& object : simulation_->cluster().objects_of(resource))
      other->cluster().put_object(object);
  for (const model::NodePtr& node : simulation_->cluster().nodes()) other->cluster().put_node(node);
  for (const model::PodPtr& pod : simulation_->cluster().pods()) other->cluster().put_pod(pod);
  other->take_in();
  const scheduler::DecisionParts fresh = other->scheduler().decision_parts();
  for (const Probe& probe : probes_) {
    const std::span<const model::PodPtr> pod(probe.pods.data(), 1);
    TryOutcome mine = attempt(host, pod, host.framework.classify(*pod.front())).front();
    TryOutcome theirs = attempt(fresh, pod, 0).front();
    for (TryOutcome* outcome : {&mine, &theirs}) {
      if (!outcome->node.empty()) outcome->node = "some node";
      if (has_history) outcome->total = 0;
      outcome->victims.resize(std::min<std::size_t>(outcome->victims.size(), 1), "some");
      if (!outcome->victims.empty()) outcome->victims.front() = "some";
      if (outcome->nominated != k_no_symbol) outcome->nominated = 1;
    }
    ASSERT_EQ(mine, theirs) << "with a new scheduler " << probe.shape;
  }
  host.cache.rest(host.snapshot);
  ++counts_.new_schedulers;
}

/// Each of the pods sees those before it; in the end none of them has been there.
std::vector<TryOutcome> ChangingCluster::attempt(const scheduler::DecisionParts& host,
                                                 std::span<const model::PodPtr> pods, std::uint64_t pod_class) {
  cycle::GangAttempt alone;
  alone.member = [](const model::Pod&) { return false; };
  alone.post_filter = true;
  host.cycle.begin_gang_attempt();
  std::vector<TryOutcome> outcomes;
  std::vector<cycle::Placement> placements;
  for (const model::PodPtr& pod : pods) {
    cycle::Attempt tried = host.cycle.reserve(pod, pod_class, alone);
    TryOutcome& outcome = outcomes.emplace_back();
    if (tried.placement) {
      outcome.node = tried.placement->node->name;
      outcome.feasible = tried.placement->feasible_nodes;
      outcome.total = tried.placement->total;
      placements.push_back(std::move(*tried.placement));
    } else {
      outcome.message = tried.rejection->full_message();
      outcome.victims = tried.rejection->victims;
      outcome.nominated = tried.rejection->nomination.node;
      outcome.rejectors = tried.rejection->rejectors.unschedulable;
      outcome.pending = tried.rejection->rejectors.pending;
    }
  }
  for (; !placements.empty(); placements.pop_back()) host.cycle.give_back(std::move(placements.back()));
  return outcomes;
}

std::string ChangingCluster::take(std::vector<std::string>& names) {
  const auto at = names.begin() + draw(static_cast<int>(names.size()));
  std::string name = std::move(*at);
  names.erase(at);
  return name;
}

// Objects.

void ChangingCluster::put(const std::string& resource, const std::string& json) {
  if (watched_.count(resource) != 0) put_json(*simulation_, symbols_, decoding_, json);
}

void ChangingCluster::remove(const std::string& resource, const std::string& ns, const std::string& name) {
  simulation_->cluster().remove_object(resource, ns, name);  // false: it is not there
}

template <typename Form>
std::string ChangingCluster::manifest(const std::string& json, Form form) {
  text::Diagnostics problems;
  const auto documents = text::parse_json(json, "generated", problems);
  std::string out = form(documents.at(0).root(), "generated", problems);
  EXPECT_TRUE(problems.empty()) << problems.render() << json;
  return out;
}

ChangingCluster::Probe ChangingCluster::make_probe() {
  Probe probe{pod_json(), {}};
  for (int i = 0; i < k_together; ++i) {
    text::Diagnostics problems;
    const std::string json = manifest(named(probe.shape, fmt::format("probe-{}", next_++)), pod_manifest);
    const auto documents = text::parse_json(json, "generated", problems);
    auto decoded = decode::ObjectDecoder(symbols_, decoding_).decode(documents.at(0), documents.at(0).root(), problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    probe.pods.push_back(std::get<model::PodPtr>(decoded.value()));
  }
  return probe;
}

// Nodes.

void ChangingCluster::change_nodes() {
  const int what = draw(10);
  if (what < 2 && static_cast<int>(nodes_.size()) < k_node_count_max) {
    add_node();
  } else if (what < 4 && static_cast<int>(nodes_.size()) > k_node_count_min) {
    const std::string name = take(nodes_);
    simulation_->cluster().remove_node(name);
    if (chance(50)) remove("resource.k8s.io/v1/resourceslices", "", "gpus-" + name);
    if (chance(50)) remove("storage.k8s.io/v1/csinodes", "", name);
  } else {
    put_node(any(nodes_));
  }
}

void ChangingCluster::add_node() {
  nodes_.push_back(fmt::format("n{}", next_++));
  put_node(nodes_.back());
  put_devices(nodes_.back());
  put_volume_limit(nodes_.back());
}

/// Adds it, or changes its labels, taints, capacity, features and images.
void ChangingCluster::put_node(const std::string& name) {
  const std::string taint = chance(15) ? R"("k=v:NoSchedule")" : chance(20) ? R"("k=v:PreferNoSchedule")" : "";
  std::string images;
  for (const char* image : k_images)
    if (chance(40))
      images += fmt::format(R"({}{{"names":["{}"],"sizeBytes":{}}})", images.empty() ? "" : ",", image,
                            (1 + draw(9)) * 100'000'000);
  const std::string json = fmt::format(
      R"({{"name":"{}","labels":{{"zone":"z{}","disk":"d{}","topology.kubernetes.io/zone":"z{}","kubernetes.io/hostname":"{}"}},"cpu_milli":{},"memory_mib":{},"pods":"{}","unschedulable":{},"taints":[{}],"images":[{}],"features":[{}]{}}})",
      name, draw(k_zones), draw(2), draw(k_zones), name, 1000 + 500 * draw(5), 2048 + 1024 * draw(3), 4 + draw(8),
      chance(8) ? "true" : "false", taint, images, chance(60) ? R"("UserNamespacesHostNetworkSupport")" : "",
      chance(20) ? R"(,"resources":{"example.com/gpu":"1"})" : "");
  put_json(*simulation_, symbols_, decoding_, manifest(json, node_manifest));
}

// Namespaces and services.

void ChangingCluster::put_namespace(const std::string& name) {
  put("core/v1/namespaces",
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}","labels":{{{}}}}}}})", name,
                  chance(70) ? fmt::format(R"("team":"t{}")", draw(2)) : ""));
}

void ChangingCluster::put_service() {
  const std::string name = fmt::format("s{}", draw(2));
  const char* const ns = k_namespaces[draw(3)];
  if (chance(30)) return remove("core/v1/services", ns, name);
  put("core/v1/services",
      fmt::format(
          R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"selector":{{"app":"a{}"}}}}}})",
          name, ns, draw(3)));
}

// Volumes.

void ChangingCluster::change_volumes() {
  const int what = draw(6);
  if (what < 2)
    put_bound_volume(draw(3));
  else if (what == 2)
    put_waiting_volume(draw(2));
  else if (what == 3)
    put_volume_limit(any(nodes_));
  else if (what == 4)
    put_storage_capacity();
  else
    remove("core/v1/persistentvolumeclaims", "default", fmt::format("{}{}", chance(50) ? "c" : "w", draw(2)));
}

/// A claim that is bound to a volume of some zone; the last one is for one pod at a time.
void ChangingCluster::put_bound_volume(int number) {
  const char* const mode = number == 2 ? "ReadWriteOncePod" : "ReadWriteMany";
  put("core/v1/persistentvolumes",
      fmt::format(
          R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"v{0}","labels":{{"topology.kubernetes.io/zone":"z{1}"}}}},"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["{3}"],"claimRef":{{"namespace":"default","name":"c{0}","uid":"uid-c{0}"}},"csi":{{"driver":"csi.example.com","volumeHandle":"h{0}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{2}"]}}]}}]}}}}}}}})",
          number, draw(k_zones), draw(k_zones), mode));
  put("core/v1/persistentvolumeclaims",
      fmt::format(
          R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"c{0}","namespace":"default","uid":"uid-c{0}","annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"accessModes":["{1}"],"volumeName":"v{0}","resources":{{"requests":{{"storage":"1Gi"}}}}}},"status":{{"phase":"Bound"}}}})",
          number, mode));
}

/// A claim that is bound when a pod has a node, in the place of the one before; and sometimes a volume that would do for it.
void ChangingCluster::put_waiting_volume(int number) {
  put("core/v1/persistentvolumeclaims",
      fmt::format(
          R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"w{0}","namespace":"default","uid":"uid-w{0}-{1}"}},"spec":{{"accessModes":["ReadWriteOnce"],"storageClassName":"wait","resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
          number, next_++));
  if (chance(50))
    put("core/v1/persistentvolumes",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"free{0}"}},"spec":{{"capacity":{{"storage":"{1}Gi"}},"accessModes":["ReadWriteOnce"],"storageClassName":"wait","csi":{{"driver":"csi.example.com","volumeHandle":"free{0}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{2}"]}}]}}]}}}}}},"status":{{"phase":"Available"}}}})",
            number, 1 + draw(2), draw(k_zones)));
}

void ChangingCluster::put_volume_limit(const std::string& node) {
  put("storage.k8s.io/v1/csinodes",
      fmt::format(
          R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{{"name":"{0}"}},"spec":{{"drivers":[{{"name":"csi.example.com","nodeID":"{0}","topologyKeys":["zone"],"allocatable":{{"count":{1}}}}}]}}}})",
          node, draw(4)));
}

/// What is left for new volumes in one zone.
void ChangingCluster::put_storage_capacity() {
  const int zone = draw(k_zones);
  put("storage.k8s.io/v1/csistoragecapacities",
      fmt::format(
          R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{{"name":"z{0}","namespace":"default"}},"storageClassName":"wait","nodeTopology":{{"matchLabels":{{"zone":"z{0}"}}}},"capacity":"{1}Gi"}})",
          zone, draw(3)));
}

// Devices.

void ChangingCluster::change_devices() {
  if (chance(50)) return put_device_claim(draw(2));
  put_devices(any(nodes_));
}

void ChangingCluster::put_devices(const std::string& node) {
  std::string devices;
  for (int i = draw(4); i > 0; --i)
    devices += fmt::format(R"({}{{"name":"g{}","attributes":{{"model":{{"string":"{}"}}}}{}}})",
                           devices.empty() ? "" : ",", i, chance(50) ? 'L' : 'S',
                           chance(15) ? R"(,"taints":[{"key":"broken","value":"yes","effect":"NoSchedule"}])" : "");
  put("resource.k8s.io/v1/resourceslices",
      fmt::format(
          R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"gpus-{0}"}},"spec":{{"driver":"gpu.example.com","pool":{{"name":"{0}","generation":1,"resourceSliceCount":1}},"nodeName":"{0}","devices":[{1}]}}}})",
          node, devices));
}

/// Another claim of that name in the place of the one that was there.
void ChangingCluster::put_device_claim(int number) {
  const std::string name = fmt::format("k{}", number);
  remove("resource.k8s.io/v1/resourceclaims", "default", name);
  if (chance(15)) return;
  const char* const selector =
      chance(50) ? R"(,"selectors":[{"cel":{"expression":"device.attributes['gpu.example.com'].model == 'L'"}}])" : "";
  put("resource.k8s.io/v1/resourceclaims",
      fmt::format(
          R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"{}","namespace":"default","uid":"uid-{}-{}"}},"spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"gpu","allocationMode":"ExactCount","count":{}{}}}}}]}}}}}})",
          name, name, next_++, 1 + draw(2), selector));
}

// Pods.

/// Often of a class that is tried, and sometimes on a node that others chose: not one with a host port, since a port that two
/// pods of a node have is free when one of them goes, as upstream, and a new scheduler does not know that.
void ChangingCluster::add_pod() {
  const std::string name = fmt::format("p{}", next_++);
  std::string shape = chance(60) ? any_probe().shape : pod_json();
  if (chance(30) && shape.find("host_ports") == std::string::npos)
    shape.insert(shape.size() - 1, fmt::format(R"(,"node":"{}")", any(nodes_)));
  pods_.push_back({std::string(ns_of(shape)), name});
  put_json(*simulation_, symbols_, decoding_, manifest(named(shape, name), pod_manifest));
}

void ChangingCluster::add_gang() {
  const std::string group = fmt::format("g{}", next_++);
  std::string shape = any_probe().shape;
  const std::string ns(ns_of(shape));
  const int members = 2 + draw(3);
  put("scheduling.x-k8s.io/v1alpha1/podgroups",
      fmt::format(
          R"({{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{{"name":"{}","namespace":"{}","creationTimestamp":"1970-01-01T00:00:01Z"}},"spec":{{"minMember":{},"scheduleTimeoutSeconds":20}}}})",
          group, ns, members - draw(2)));
  const std::string labels = R"("labels":{)";
  shape.insert(shape.find(labels) + labels.size(), fmt::format(R"("scheduling.x-k8s.io/pod-group":"{}",)", group));
  for (int i = 0; i < members; ++i) {
    const std::string name = fmt::format("p{}", next_++);
    pods_.push_back({ns, name});
    put_json(*simulation_, symbols_, decoding_, manifest(named(shape, name), pod_manifest));
  }
}

void ChangingCluster::remove_pod() {
  if (pods_.empty()) return;
  const auto at = pods_.begin() + draw(static_cast<int>(pods_.size()));
  simulation_->cluster().remove_pod(at->first, at->second);  // false: it was evicted
  pods_.erase(at);
}

std::string ChangingCluster::pod_json() {
  const int app = draw(3);
  std::string json = fmt::format(
      R"({{"name":"@","namespace":"{}","labels":{{"app":"a{}"}},"cpu_milli":{},"memory_mib":{},"priority":{},"image":"{}")",
      k_namespaces[chance(60) ? 0 : draw(3)], app, 200 * (1 + draw(8)), 128 * (1 + draw(4)), draw(3),
      k_images[draw(3)]);
  const std::string selector = fmt::format(R"({{"matchLabels":{{"app":"a{}"}}}})", app);
  if (chance(25)) json += R"(,"tolerations":["k=v:NoSchedule"])";
  if (chance(20)) json += fmt::format(R"(,"node_selector":{{"disk":"d{}"}})", draw(2));
  if (chance(15)) json += R"(,"host_ports":[8080])";
  if (chance(10)) json += R"(,"host_network":true,"host_users":false)";
  if (chance(15)) json += R"(,"volumes":[)" + volumes() + "]";
  if (chance(10))
    json += fmt::format(R"(,"claims":[{{"name":"k","resourceClaimName":"k{}"}}])", draw(2));
  else if (chance(10))
    json += R"(,"resources":{"example.com/gpu":"1"})";
  if (chance(40)) json += R"(,"spread":[)" + spread(selector) + (chance(40) ? "," + spread(selector) : "") + "]";
  if (chance(60)) json += R"(,"affinity":)" + affinity();
  return json + "}";
}

std::string ChangingCluster::volumes() {
  const auto claim = [](const std::string& name) {
    return fmt::format(R"({{"name":"v","persistentVolumeClaim":{{"claimName":"{}"}}}})", name);
  };
  const int what = draw(5);
  if (what < 2) return claim(fmt::format("c{}", draw(3)));
  if (what == 2) return claim(fmt::format("w{}", draw(2)));
  return fmt::format(R"({{"name":"v","gcePersistentDisk":{{"pdName":"d{}"}}}})", draw(2));
}

std::string ChangingCluster::spread(const std::string& selector) {
  return fmt::format(R"({{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{}{}{}}})",
                     1 + draw(2), topology_key(), chance(50) ? "DoNotSchedule" : "ScheduleAnyway", selector,
                     chance(15) ? R"(,"nodeAffinityPolicy":"Ignore")" : "",
                     chance(25) ? R"(,"nodeTaintsPolicy":"Honor")" : "");
}

std::string ChangingCluster::pod_term() {
  const std::string namespaces =
      chance(40)   ? fmt::format(R"(,"namespaceSelector":{{"matchLabels":{{"team":"t{}"}}}})", draw(2))
      : chance(20) ? R"(,"namespaceSelector":{})"
      : chance(20) ? R"(,"namespaces":["a","b"])"
                   : "";
  return fmt::format(R"({{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"a{}"}}}}{}}})", topology_key(),
                     draw(3), namespaces);
}

std::string ChangingCluster::affinity() {
  std::vector<std::string> parts;
  const auto pods = [&](const char* kind) {
    parts.push_back(
        chance(40)
            ? fmt::format(R"("{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})", kind, pod_term())
            : fmt::format(
                  R"("{}":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{},"podAffinityTerm":{}}}]}})",
                  kind, 1 + draw(100), pod_term()));
  };
  if (chance(50)) pods("podAffinity");
  if (chance(50)) pods("podAntiAffinity");
  if (chance(10))  // as pods of a DaemonSet
    parts.push_back(fmt::format(
        R"("nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{}"]}}]}}]}}}})",
        any(nodes_)));
  else if (chance(40))
    parts.push_back(fmt::format(
        R"("nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{},"preference":{{"matchExpressions":[{{"key":"zone","operator":"In","values":["z{}"]}}]}}}}]}})",
        1 + draw(100), draw(k_zones)));
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

}  // namespace berth::cases::kept_verdicts
