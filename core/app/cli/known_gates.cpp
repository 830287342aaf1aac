// SPDX-License-Identifier: Apache-2.0
// The names and stages of kube-scheduler's feature gates.
// Source: kubernetes v1.36 pkg/features/kube_features.go, and the features of apiserver, apiextensions-apiserver,
//         client-go and component-base, which share one table with it.
#include "app/cli/known_gates.hpp"

#include <algorithm>
#include <array>

namespace berth::app {
namespace {

/// Gates with one history. A history has a word for each stage, in order: the minor version that began it (none: it
/// began in 1.33 or earlier), its letter (a alpha, b beta, g GA, d deprecated), + or - for the default, ! for locked.
struct History {
  std::string_view stages;
  std::string_view names;
};
// clang-format off
constexpr auto k_histories = std::to_array<History>({
    {"34a-", "InPlacePodVerticalScalingExclusiveMemory"},
    {"34b+",
     "DRASchedulerFilterTimeout DetectCacheInconsistency MatchLabelKeysInPodTopologySpreadSelectorMerge "
     "PreventStaticPodAPIReferences SizeBasedListCostEstimate StructuredAuthenticationConfigurationEgressSelector "
     "TokenRequestServiceAccountUIDValidation"},
    {"a- 34b+",
     "KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot PodLevelResources "
     "WindowsGracefulNodeShutdown"},
    {"b- 34b+", "WatchList"},
    {"34b-", "SchedulerAsyncAPICalls"},
    {"g- 34d+", "KubeletPodResourcesListUseActivePods"},
    {"b+ 34g+!",
     "APIServerTracing AnonymousAuthConfigurableEndpoints AuthorizeNodeWithSelectors AuthorizeWithSelectors "
     "ConsistentListFromCache JobPodReplacementPolicy KubeletCgroupDriverFromCRI KubeletTracing NodeSwap "
     "OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero "
     "RecoverVolumeExpansionFailure RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation "
     "ResilientWatchCacheInitialization SchedulerQueueingHints SeparateTaintEvictionController "
     "StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf "
     "StructuredAuthenticationConfiguration WinDSR WinOverlay"},
    {"g+ 34g+!", "MultiCIDRServiceAllocator"},
    {"35a-",
     "CloudControllerManagerWatchBasedRoutesReconciliation GangScheduling GenericWorkload ImageVolumeWithDigest "
     "MutablePVNodeAffinity TaintTolerationComparisonOperators UserNamespacesHostNetworkSupport VolumeLimitScaling"},
    {"34a- 35b+",
     "ClearingNominatedNodeNameAfterBinding ContainerRestartRules EnvFiles HostnameOverride "
     "NominatedNodeNameForExpectation"},
    {"35b+",
     "AuthorizePodWebsocketUpgradeCreatePermission InOrderInformersBatchProcess OpportunisticBatching "
     "StructuredAuthenticationConfigurationJWKSMetrics"},
    {"a- 35b+",
     "DeploymentReplicaSetTerminatingReplicas HPAConfigurableTolerance KubeletCrashLoopBackOffMax "
     "KubeletEnsureSecretPulledImages PodTopologyLabelsAdmission"},
    {"b- 35b+", "WatchListClient"},
    {"34a- 35b-", "PodCertificateRequest"},
    {"a- 35b-", "MaxUnavailableStatefulSet StorageVersionMigrator"},
    {"d+ 35d+!", "AggregatedDiscoveryRemoveBetaType"},
    {"g+ 35d-", "ChangeContainerStatusOnKubeletRestart"},
    {"d- 35d-!", "AllowOverwriteTerminationGracePeriodSeconds"},
    {"a- 35g+", "InformerResourceVersion"},
    {"a- 34b+ 35g+!", "PodObservedGenerationTracking PreferSameTrafficDistribution"},
    {"b+ 35g+!",
     "ImageMaximumGCAge InPlacePodVerticalScaling JobManagedBy SupplementalGroupsPolicy SystemdWatchdog"},
    {"b- 34g+ 35g+!", "DisableAllocatorDualWrite DynamicResourceAllocation"},
    {"g+ 35g+!", "ExecProbeTimeout"},
    {"36a-",
     "CRIListStreaming DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus "
     "DRAWorkloadResourceClaims ManifestBasedAdmissionControlConfig PersistentVolumeClaimUnusedSinceTime "
     "PodLevelResourceManagers PodsAPI ShardedListAndWatch TopologyAwareWorkloadScheduling WorkloadAwarePreemption "
     "WorkloadWithJob"},
    {"34a- 36b+",
     "DRAConsumableCapacity DRADeviceBindingConditions DRAExtendedResource RelaxedServiceNameValidation"},
    {"35a- 36b+",
     "ConstrainedImpersonation InPlacePodLevelResourcesVerticalScaling MutablePodResourcesForSuspendedJobs "
     "MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures RestartAllContainersOnContainerExits"},
    {"35b- 36b+", "CRDObservedGenerationTracking"},
    {"36b+",
     "AtomicFIFO ClientsAllowCARotation ClientsAllowTLSCacheGC DRAResourceClaimGranularStatusAuthorization "
     "DeclarativeValidationBeta ExtendWebSocketsToKubelet InPlacePodVerticalScalingInitContainers "
     "PLEGOnDemandRelist ReloadKubeletClientCAFile ResourceHealthStatusMessage StaleControllerConsistencyDaemonSet "
     "StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet "
     "UnlockWhileProcessingFIFO"},
    {"a- 36b+",
     "ComponentFlagz ComponentStatusz DRADeviceTaints DRAPartitionableDevices ResourceHealthStatus "
     "StrictIPCIDRValidation UnknownVersionInteroperabilityProxy"},
    {"b- 36b+", "WatchCacheInitializationPostStartHook"},
    {"35a- 36b-", "DRADeviceTaintRules"},
    {"b+ 36d+", "DisableCPUQuotaWithExclusiveCPUs"},
    {"g- 36d+", "ServiceCIDRStatusFieldWiping"},
    {"d+ 36d+!", "DisableNodeKubeProxyVersion"},
    {"b- 36d-", "DeclarativeValidationTakeover"},
    {"d- 36d-!", "GitRepoVolumeDriver SeparateCacheWatchRPC"},
    {"a- 34b+ 36g+", "DRAPrioritizedList"},
    {"a- 34b- 36g+", "MutatingAdmissionPolicy"},
    {"a- 36g+", "CustomCPUCFSQuotaPeriod"},
    {"35b+ 36g+!", "CSIServiceAccountTokenSecrets"},
    {"a- 34b+ 36g+!",
     "DRAAdminAccess ExternalServiceAccountTokenSigner KubeletPSI KubeletPodResourcesDynamicResources "
     "KubeletPodResourcesGet"},
    {"a- 34b- 35b+ 36g+!", "MutableCSINodeAllocatableCount"},
    {"b+ 36g+!",
     "DeclarativeValidation InOrderInformers KubeletFineGrainedAuthz NodeLogQuery ProcMountType "
     "SELinuxChangePolicy SELinuxMountReadWriteOncePod UserNamespacesSupport"},
    {"b- 34g+ 36g+!", "VolumeAttributesClass"},
    {"b- 35b+ 36g+!", "ImageVolume"},
    {"a-",
     "APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage "
     "CPUManagerPolicyAlphaOptions CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR ContainerStopSignals "
     "CrossNamespaceVolumeDataSource EventedPLEG HPAScaleToZero InPlacePodVerticalScalingExclusiveCPUs "
     "KubeletInUserNamespace LoggingAlphaOptions MemoryQoS NativeHistograms PodAndContainerStatsFromCRI "
     "PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi "
     "StorageCapacityScoring StorageVersionAPI TopologyManagerPolicyAlphaOptions WindowsCPUAndMemoryAffinity"},
    {"b+",
     "APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth CPUManagerPolicyBetaOptions "
     "ContainerCheckpoint ContextualLogging DRAResourceClaimDeviceStatus GracefulNodeShutdown "
     "GracefulNodeShutdownBasedOnPodPriority KubeletSeparateDiskGC LoggingBetaOptions "
     "MatchLabelKeysInPodTopologySpread OpenAPIEnums PodDeletionCost PodReadyToStartContainersCondition "
     "PortForwardWebsockets ReloadKubeletServerCertificateFile RemoteRequestHeaderUID "
     "RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ "
     "ServiceAccountNodeAudienceRestriction StatefulSetSemanticRevisionComparison StorageVersionHash "
     "TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation"},
    {"b-",
     "AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode "
     "CoordinatedLeaderElection LocalStorageCapacityIsolationFSQuotaMonitoring SELinuxMount"},
    {"d+", "StorageNamespaceIndex"},
    {"d-",
     "AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests KMSv1 KubeletRegistrationGetOnExistsOnly "
     "WindowsHostNetwork"},
    {"g+", "AllowServiceExternalIPs"},
    {"g+!",
     "AnyVolumeDataSource BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting "
     "CustomResourceFieldSelectors JobBackoffLimitPerIndex JobSuccessPolicy LogarithmicScaleDown "
     "LoggingStableOptions MatchLabelKeysInPodAffinity NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread "
     "PodSchedulingReadiness RecursiveReadOnlyMounts RetryGenerateName ServiceAccountTokenJTI "
     "ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo "
     "SidecarContainers TopologyManagerPolicyOptions"}});
// clang-format on

GateStage read_stage(std::string_view word) {
  GateStage out;
  while (!word.empty() && word.front() >= '0' && word.front() <= '9') {
    out.since_minor = out.since_minor * 10 + (word.front() - '0');
    word.remove_prefix(1);
  }
  switch (word.front()) {
    case 'a':
      out.stage = Stage::alpha;
      break;
    case 'b':
      out.stage = Stage::beta;
      break;
    case 'd':
      out.stage = Stage::deprecated;
      break;
    default:
      out.stage = Stage::ga;
  }
  out.is_on = word[1] == '+';
  out.is_locked = word.ends_with('!');
  return out;
}

/// Calls visit(word) for each word of the list until it answers false.
template <typename Visit>
void each_word(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (!visit(list.substr(0, end))) return;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

}  // namespace

std::string_view stage_name(Stage stage) noexcept {
  switch (stage) {
    case Stage::alpha:
      return "ALPHA";
    case Stage::beta:
      return "BETA";
    case Stage::deprecated:
      return "DEPRECATED";
    case Stage::ga:
    case Stage::none:
      break;
  }
  return "";
}

bool is_known_gate(std::string_view name) noexcept {
  bool found = false;
  for (const History& history : k_histories) {
    each_word(history.names, [&](std::string_view word) { return !(found = word == name); });
    if (found) return true;
  }
  return false;
}

GateStage gate_stage(std::string_view name, int minor) noexcept {
  GateStage out;
  for (const History& history : k_histories) {
    bool found = false;
    each_word(history.names, [&](std::string_view word) { return !(found = word == name); });
    if (!found) continue;
    each_word(history.stages, [&](std::string_view word) {
      const GateStage stage = read_stage(word);
      if (stage.since_minor <= minor) out = stage;
      return true;
    });
    return out;
  }
  return out;
}

}  // namespace berth::app
