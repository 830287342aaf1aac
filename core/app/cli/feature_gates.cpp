// SPDX-License-Identifier: Apache-2.0
#include "app/cli/feature_gates.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "app/cli/go_flags.hpp"

namespace berth::app {
namespace {

/// A gate of kube-scheduler that changes what a scheduler decides or shows, and how berth behaves.
struct Gate {
  std::string_view name;
  std::string_view stage;  // as kubernetes_feature_enabled has it; empty: GA
  bool value;
  bool locked = false;
  std::array<std::string_view, 2> needs = {};
};
constexpr std::string_view k_dra = "DynamicResourceAllocation";
// Whatever they are set to, the gates of a stage are.
constexpr std::string_view k_all_alpha = "AllAlpha", k_all_beta = "AllBeta";
constexpr std::array k_gates = std::to_array<Gate>(
    {{"SchedulerQueueingHints", "", true, true},
     {k_dra, "", true, true},
     {"SchedulerAsyncPreemption", "BETA", true},
     {"SchedulerAsyncAPICalls", "BETA", false},
     {"SchedulerPopFromBackoffQ", "BETA", true},
     {"OpportunisticBatching", "BETA", true},
     {"NominatedNodeNameForExpectation", "BETA", true},
     {"ClearingNominatedNodeNameAfterBinding", "BETA", true},
     {"DRAExtendedResource", "BETA", true, false, {k_dra}},
     {"DRAConsumableCapacity", "BETA", true, false, {k_dra}},
     {"DRADeviceTaints", "BETA", true, false, {k_dra}},
     {"DRAPartitionableDevices", "BETA", true, false, {k_dra}},
     {"DRADeviceBindingConditions", "BETA", true, false, {k_dra, "DRAResourceClaimDeviceStatus"}},
     {"DRAResourceClaimDeviceStatus", "BETA", true},
     {"DRASchedulerFilterTimeout", "BETA", true, false, {k_dra}},
     {"DRAResourceClaimGranularStatusAuthorization", "BETA", true, false, {k_dra, "DRAResourceClaimDeviceStatus"}},
     {"DRADeviceTaintRules", "BETA", false, false, {"DRADeviceTaints"}},
     {"DRAListTypeAttributes", "ALPHA", false, false, {k_dra}},
     {"DRAWorkloadResourceClaims", "ALPHA", false, false, {k_dra, "GenericWorkload"}},
     {"DRANodeAllocatableResources", "ALPHA", false, false, {k_dra}},
     {"NodeDeclaredFeatures", "BETA", true},
     {"GenericWorkload", "ALPHA", false},
     {"GangScheduling", "ALPHA", false, false, {"GenericWorkload"}},
     {"TopologyAwareWorkloadScheduling", "ALPHA", false, false, {"GenericWorkload"}},
     {"WorkloadAwarePreemption", "ALPHA", false, false, {"GangScheduling"}},
     {"StorageCapacityScoring", "ALPHA", false},
     {"CoordinatedLeaderElection", "BETA", false},
     {"ComponentStatusz", "BETA", true},
     {"ComponentFlagz", "BETA", true},
     {"WatchListClient", "BETA", true},
     {"InOrderInformers", "", true},
     {"ClientsAllowCARotation", "BETA", true},
     {"ClientsAllowCBOR", "ALPHA", false},
     {"ClientsPreferCBOR", "ALPHA", false},
     {k_all_alpha, "ALPHA", false},
     {k_all_beta, "BETA", false}});

/// Of old, and what a Policy of that time meant depends on it.
constexpr std::string_view k_balance_volumes = "BalanceAttachedNodeVolumes";

/// Gates that kube-scheduler takes on its command line because all programs of Kubernetes share one table. They are
/// about other programs, or about the API itself.
constexpr std::string_view k_of_others =
    "APIResponseCompression APIServerIdentity APIServerTracing APIServingWithRoutine "
    "AggregatedDiscoveryRemoveBetaType AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests "
    "AllowOverwriteTerminationGracePeriodSeconds AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs "
    "AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AtomicFIFO "
    "AuthorizeNodeWithSelectors AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache "
    "CBORServingAndStorage CPUManagerPolicyAlphaOptions CPUManagerPolicyBetaOptions CPUManagerPolicyOptions "
    "CRDObservedGenerationTracking CRDValidationRatcheting CRIListStreaming CSIServiceAccountTokenSecrets "
    "CSIVolumeHealth ChangeContainerStatusOnKubeletRestart ClientsAllowTLSCacheGC "
    "CloudControllerManagerWatchBasedRoutesReconciliation ClusterTrustBundle ClusterTrustBundleProjection "
    "ConcurrentWatchObjectDecode ConsistentListFromCache ConstrainedImpersonation ContainerCheckpoint "
    "ContainerRestartRules ContainerStopSignals ContextualLogging CrossNamespaceVolumeDataSource "
    "CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAPrioritizedList DRAResourcePoolStatus "
    "DeclarativeValidation DeclarativeValidationBeta DeclarativeValidationTakeover "
    "DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency DisableAllocatorDualWrite "
    "DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion EnvFiles EventedPLEG ExecProbeTimeout "
    "ExtendWebSocketsToKubelet ExternalServiceAccountTokenSigner GitRepoVolumeDriver GracefulNodeShutdown "
    "GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HPAScaleToZero HostnameOverride "
    "ImageMaximumGCAge ImageVolume ImageVolumeWithDigest InOrderInformersBatchProcess "
    "InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling InPlacePodVerticalScalingExclusiveCPUs "
    "InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingInitContainers InformerResourceVersion "
    "JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KMSv1 KubeletCgroupDriverFromCRI "
    "KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz KubeletInUserNamespace "
    "KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesListUseActivePods "
    "KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders "
    "KubeletTracing ListFromCacheSnapshot LocalStorageCapacityIsolationFSQuotaMonitoring LogarithmicScaleDown "
    "LoggingAlphaOptions LoggingBetaOptions LoggingStableOptions ManifestBasedAdmissionControlConfig "
    "MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge "
    "MaxUnavailableStatefulSet MemoryQoS MultiCIDRServiceAllocator MutableCSINodeAllocatableCount "
    "MutablePVNodeAffinity MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs "
    "MutatingAdmissionPolicy NFTablesProxyMode NativeHistograms NodeInclusionPolicyInPodTopologySpread NodeLogQuery "
    "NodeSwap OpenAPIEnums OrderedNamespaceDeletion PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime "
    "PodAndContainerStatsFromCRI PodCertificateRequest PodDeletionCost PodLevelResourceManagers PodLevelResources "
    "PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodLogsQuerySplitStreams PodObservedGenerationTracking "
    "PodReadyToStartContainersCondition PodSchedulingReadiness PodTopologyLabelsAdmission PodsAPI "
    "PortForwardWebsockets PreferSameTrafficDistribution PreventStaticPodAPIReferences ProcMountType QOSReserved "
    "RecoverVolumeExpansionFailure RecursiveReadOnlyMounts ReduceDefaultCrashLoopBackOffDecay "
    "RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation "
    "ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID "
    "ResilientWatchCacheInitialization ResourceHealthStatus ResourceHealthStatusMessage "
    "RestartAllContainersOnContainerExits RetryGenerateName RotateKubeletServerCertificate RuntimeClassInImageCriApi "
    "SELinuxChangePolicy SELinuxMount SELinuxMountReadWriteOncePod SeparateCacheWatchRPC "
    "SeparateTaintEvictionController ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI "
    "ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo "
    "ServiceCIDRStatusFieldWiping ShardedListAndWatch SidecarContainers SizeBasedListCostEstimate "
    "StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet "
    "StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageNamespaceIndex "
    "StorageVersionAPI StorageVersionHash StorageVersionMigrator StreamingCollectionEncodingToJSON "
    "StreamingCollectionEncodingToProtobuf StrictIPCIDRValidation StructuredAuthenticationConfiguration "
    "StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics "
    "SupplementalGroupsPolicy SystemdWatchdog TaintTolerationComparisonOperators "
    "TokenRequestServiceAccountUIDValidation TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions "
    "TopologyManagerPolicyOptions TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation "
    "UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO UserNamespacesHostNetworkSupport "
    "UserNamespacesSupport VolumeAttributesClass VolumeLimitScaling WatchCacheInitializationPostStartHook WatchList "
    "WinDSR WinOverlay WindowsCPUAndMemoryAffinity WindowsGracefulNodeShutdown WindowsHostNetwork WorkloadWithJob";

bool is_of_others(std::string_view name) {
  for (std::string_view rest = k_of_others; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const Gate* find(std::string_view name) {
  const auto found = std::find_if(k_gates.begin(), k_gates.end(), [&](const Gate& gate) { return gate.name == name; });
  return found == k_gates.end() ? nullptr : &*found;
}

using Settings = std::map<std::string, bool, std::less<>>;  // the last of a name holds

/// What a gate was set to: by its name, or with all of its stage.
bool is_on(const Gate& gate, const Settings& set) {
  if (const auto own = set.find(gate.name); own != set.end()) return own->second;
  const auto all = set.find(gate.stage == "ALPHA" ? k_all_alpha : gate.stage == "BETA" ? k_all_beta : "");
  return all == set.end() || gate.locked ? gate.value : all->second;
}

/// What kube-scheduler would do otherwise with all gates of a stage set at once.
void warn_of_stage(const Gate& all, const Settings& set, std::vector<std::string>& warnings) {
  std::string names;
  for (const Gate& gate : k_gates)
    if (gate.stage == all.stage && gate.name != k_all_alpha && gate.name != k_all_beta && !set.contains(gate.name) &&
        is_on(gate, set) != gate.value)
      names += fmt::format("{}{}={}", names.empty() ? "" : ", ", gate.name, gate.value);
  if (!names.empty())
    warnings.push_back(
        fmt::format("--feature-gates: {}={} has no effect: berth does as with {}", all.name, is_on(all, set), names));
}

Settings read_settings(const std::vector<std::string>& settings, std::vector<std::string>& wrong) {
  Settings out;
  for (std::string setting : settings) {
    if (const std::size_t colon = setting.find(':'); colon != std::string::npos) {
      if (setting.substr(0, colon) != "kube") {
        wrong.push_back(fmt::format("--feature-gates: \"{}\": the component is kube, or not named", setting));
        continue;
      }
      setting.erase(0, colon + 1);
    }
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string name = setting.substr(0, equals);
    const std::optional<bool> value = read_bool(std::string_view(setting).substr(std::min(equals + 1, setting.size())));
    if (!value)
      wrong.push_back(fmt::format("--feature-gates: \"{}\" is not NAME=true or NAME=false", setting));
    else if (find(name) == nullptr && name != k_balance_volumes && !is_of_others(name))
      wrong.push_back(fmt::format("--feature-gates: there is no feature gate \"{}\" in kube-scheduler v1.36", name));
    else
      out[name] = *value;
  }
  return out;
}

}  // namespace

void read_feature_gates(const std::vector<std::string>& settings, std::vector<std::string>& warnings,
                        std::vector<std::string>& wrong) {
  const Settings set = read_settings(settings, wrong);
  for (const auto& [name, value] : set) {
    const Gate* const gate = find(name);
    if (name == k_balance_volumes) continue;  // who reads the configuration says whether it does anything
    if (name == k_all_alpha || name == k_all_beta) {
      warn_of_stage(*gate, set, warnings);
    } else if (gate == nullptr) {
      warnings.push_back(fmt::format("--feature-gates: {}={} changes nothing in a scheduler", name, value));
    } else if (gate->locked && gate->value != value) {
      wrong.push_back(fmt::format("--feature-gates: cannot set feature gate {} to {}, feature is locked to {}", name,
                                  value, gate->value));
    } else if (gate->value != value) {
      warnings.push_back(
          fmt::format("--feature-gates: {0}={1} has no effect: berth does as with {0}={2}", name, value, gate->value));
    } else if (gate->stage.empty()) {
      warnings.push_back(
          fmt::format("--feature-gates: {} is GA: a later version will not know the gate any more", name));
    }
  }
  for (const Gate& gate : k_gates)
    for (const std::string_view needed : gate.needs)
      if (!needed.empty() && is_on(gate, set) && !is_on(*find(needed), set))
        wrong.push_back(fmt::format("--feature-gates: {} is on, but {}, which it needs, is off", gate.name, needed));
}

bool balances_volumes(const std::vector<std::string>& settings) {
  std::vector<std::string> wrong;  // reported by read_feature_gates()
  const Settings set = read_settings(settings, wrong);
  const auto found = set.find(k_balance_volumes);
  return found != set.end() && found->second;
}

std::vector<observe::MetricSample> feature_samples() {
  std::vector<observe::MetricSample> out;
  for (const Gate& gate : k_gates)
    out.push_back({{{"name", std::string(gate.name)}, {"stage", std::string(gate.stage)}}, gate.value ? 1.0 : 0.0});
  return out;
}

}  // namespace berth::app
