/* SPDX-License-Identifier: Apache-2.0
 * Pods as a plugin sees them. Fields outside the requested groups are 0 / NULL / empty, for every plugin, always: the
 * request list is the class key, so key and behaviour cannot drift apart. In `berth simulate` with `verdictReuse: verify`,
 * and in the test kit with `traps_unasked_fields`, they are traps instead: a list of one element and a text, both of
 * memory that cannot be read, and numbers that no pod has (BERTH_NOT_REQUESTED). */
#ifndef BERTH_EXT_PODS_H
#define BERTH_EXT_PODS_H

#include "../abi/types.h"
#include "nodes.h"

/* Groups for binder->pod_fields(). */
enum {
  BERTH_POD_REQUESTS = 1u << 0,       /* requests, resources                                                   */
  BERTH_POD_LABELS = 1u << 1,         /* labels (all); single labels through binder->pod_label()               */
  BERTH_POD_TOLERATIONS = 1u << 2,    /* tolerations                                                           */
  BERTH_POD_PRIORITY = 1u << 3,       /* priority                                                              */
  BERTH_POD_NAMESPACE = 1u << 4,      /* ns                                                                    */
  BERTH_POD_IDENTITY = 1u << 5,       /* name, uid; makes every pod its own class                              */
  BERTH_POD_NODE_SELECTION = 1u << 6, /* node_selection                                                        */
  BERTH_POD_PORTS = 1u << 7,          /* host_ports                                                            */
  BERTH_POD_IMAGES = 1u << 8,         /* images, container_count                                               */
  BERTH_POD_SPREAD = 1u << 9,         /* spread constraints                                                    */
  BERTH_POD_AFFINITY = 1u << 10,      /* pod affinity and anti-affinity terms                                  */
  BERTH_POD_OWNER = 1u << 11,         /* controller reference                                                  */
  BERTH_POD_GATES = 1u << 12,         /* scheduling gates                                                      */
  BERTH_POD_SPEC_FLAGS = 1u << 13,    /* spec_flags                                                            */
  BERTH_POD_PLACEMENT = 1u << 14,     /* node_name (spec) and nominated_node (status)                          */
  BERTH_POD_VOLUMES = 1u << 15,       /* volumes                                                               */
  BERTH_POD_ANNOTATIONS = 1u << 16,   /* annotations (all)                                                     */
  BERTH_POD_GROUP = 1u << 17,         /* spec.schedulingGroup                                                  */
  /* volumes of the kinds CLAIM, EPHEMERAL and INLINE only; for a pod with a CLAIM or EPHEMERAL one also name and uid, so
   * that such a pod is a class of its own and all others share theirs                                             */
  BERTH_POD_STORAGE = 1u << 18,
  BERTH_POD_RESOURCE_CLAIMS = 1u << 19, /* resource_claims                                                     */
  BERTH_POD_CONTAINERS = 1u << 20,    /* containers, overhead                                                  */
  /* claims; for a pod that has some, or asks for a resource with a domain ("vendor/name"), also name, uid, ns, containers and
   * container_names. A pod that has claims is a class of its own; the others share theirs by what their containers ask
   * for, so verdicts must not depend on their names unless the filter is one that RECORDS                            */
  BERTH_POD_CLAIMS = 1u << 21,
  BERTH_POD_STATUS = 1u << 22,        /* phase, start_ns, deletion_ns                                          */
  BERTH_POD_CREATED = 1u << 23,       /* created_ns; pods of one second may share a class                      */
  BERTH_POD_SCHEDULING = 1u << 24,    /* scheduler_name, preemption_policy                                     */
  BERTH_POD_QOS = 1u << 25,           /* qos                                                                   */
  BERTH_POD_JSON = 1u << 30           /* json; makes every pod its own class                                   */
};
/* What numbers outside the requested groups are where they are traps; ids are 0 there. */
#define BERTH_NOT_REQUESTED 0x5a5a5a5a

/* Selector operators. Gt and Lt occur in node selectors only. */
enum {
  BERTH_OP_IN = 1,
  BERTH_OP_NOT_IN = 2,
  BERTH_OP_EXISTS = 3,
  BERTH_OP_DOES_NOT_EXIST = 4,
  BERTH_OP_GT = 5,
  BERTH_OP_LT = 6
};

typedef struct berth_requirement_v1 { /* closed */
  berth_id key;
  uint32_t op; /* BERTH_OP_* */
  const berth_id* values;
  uint32_t value_count;
  uint32_t reserved;
  int64_t number; /* GT, LT: the value as an integer */
} berth_requirement_v1;

/* A label selector: AND of its requirements. */
enum {
  BERTH_SELECTOR_NOTHING = 0, /* absent: matches no label set                               */
  BERTH_SELECTOR_MATCH = 1,   /* requirement_count == 0 matches everything                  */
  BERTH_SELECTOR_INVALID = 2  /* `error` says why; never matches                            */
};
typedef struct berth_selector_v1 { /* closed */
  const berth_requirement_v1* requirements;
  uint32_t requirement_count;
  uint32_t kind; /* BERTH_SELECTOR_* */
  berth_str error;
} berth_selector_v1;

/* A node selector term: AND of expressions over labels and of fields (key "metadata.name"; other keys read as ""). */
typedef struct berth_node_term_v1 { /* closed */
  const berth_requirement_v1* expressions;
  const berth_requirement_v1* fields;
  uint32_t expression_count;
  uint32_t field_count;
  int32_t weight;   /* preferred terms only */
  uint32_t invalid; /* 1: does not parse, `error` says why; matches no node. Its fields are still listed as written */
  berth_str error;
} berth_node_term_v1;

/* spec.nodeSelector and spec.affinity.nodeAffinity. */
typedef struct berth_node_selection_v1 {
  uint32_t struct_size;
  uint32_t has_selector;  /* spec.nodeSelector is present, even if empty            */
  const berth_label_v1* selector;
  const berth_node_term_v1* required;
  const berth_node_term_v1* preferred;
  uint32_t selector_count;
  uint32_t has_required;  /* requiredDuringScheduling… is present, even without terms */
  uint32_t required_count;
  uint32_t has_preferred; /* preferredDuringScheduling… is present                  */
  uint32_t preferred_count;
  uint32_t reserved;
} berth_node_selection_v1;

typedef struct berth_toleration_v1 { /* closed */
  berth_id key;    /* BERTH_ID_EMPTY: any key                                       */
  berth_id value;  /* BERTH_ID_EMPTY when empty                                     */
  uint32_t op;     /* BERTH_TOLERATION_*                                            */
  uint32_t effect; /* BERTH_EFFECT_*; ANY when not given                            */
  int64_t seconds; /* -1: not given                                                 */
} berth_toleration_v1;
enum { BERTH_TOLERATION_EQUAL = 0, BERTH_TOLERATION_EXISTS = 1, BERTH_TOLERATION_LT = 2, BERTH_TOLERATION_GT = 3, BERTH_TOLERATION_OTHER = 4 };

/* One resource that the pod mentions, in its various sums (cpu in milli, others in units, rounded up once at the end).
 * Which sum upstream uses where: kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources. */
typedef struct berth_resource_v1 { /* closed */
  berth_id name;
  uint32_t flags;    /* BERTH_RESOURCE_*                                                                        */
  int64_t request;   /* spec: containers, init containers, pod-level requests, overhead                         */
  int64_t effective; /* like request, raised to what a running pod's status reports (what nodes are charged)     */
  int64_t scoring;   /* containers and overhead only; 100m cpu / 200Mi memory per container that names none      */
} berth_resource_v1;
enum {
  BERTH_RESOURCE_SCALAR = 1u << 0,   /* not cpu, memory, ephemeral-storage                                      */
  BERTH_RESOURCE_EXTENDED = 1u << 1  /* vendor/name                                                             */
};

/* What one container, or the pod's overhead, says about one resource; each amount rounded up by itself, cpu in milli.
 * For policies with sums of their own: `resources` above has those of kube-scheduler. */
typedef struct berth_container_amount_v1 { /* closed */
  berth_id name;
  uint32_t flags; /* BERTH_AMOUNT_* */
  int64_t request;
  int64_t limit;
} berth_container_amount_v1;
enum { BERTH_AMOUNT_REQUEST = 1u << 0, BERTH_AMOUNT_LIMIT = 1u << 1 }; /* given, be it as 0 */
typedef struct berth_container_v1 { /* closed */
  const berth_container_amount_v1* amounts; /* in no order */
  uint32_t amount_count;
  uint32_t kind; /* BERTH_CONTAINER_* */
} berth_container_v1;
enum {
  BERTH_CONTAINER_INIT = 1,   /* ends before the next one starts          */
  BERTH_CONTAINER_APP = 2,
  BERTH_CONTAINER_SIDECAR = 3 /* an init container that keeps running     */
};

typedef struct berth_image_ref_v1 { /* closed */
  berth_id name;        /* normalised: ":latest" appended where no tag or digest is given */
  uint32_t kind;        /* BERTH_IMAGE_* */
} berth_image_ref_v1;
enum { BERTH_IMAGE_INIT_CONTAINER = 1, BERTH_IMAGE_CONTAINER = 2, BERTH_IMAGE_VOLUME = 3 };

typedef struct berth_spread_v1 { /* closed */
  berth_selector_v1 selector;
  const berth_id* match_label_keys;
  uint32_t match_label_key_count;
  berth_id topology_key;
  int32_t max_skew;
  int32_t min_domains;          /* 1 when absent */
  uint32_t when_unsatisfiable;  /* BERTH_SPREAD_* */
  uint32_t node_affinity_policy; /* BERTH_POLICY_*, default HONOR */
  uint32_t node_taints_policy;   /* BERTH_POLICY_*, default IGNORE */
  uint32_t reserved;
} berth_spread_v1;
enum { BERTH_SPREAD_OTHER = 0, BERTH_SPREAD_DO_NOT_SCHEDULE = 1, BERTH_SPREAD_SCHEDULE_ANYWAY = 2 };
enum { BERTH_POLICY_IGNORE = 0, BERTH_POLICY_HONOR = 1 };

typedef struct berth_affinity_term_v1 { /* closed */
  berth_selector_v1 selector;
  berth_selector_v1 namespace_selector;
  const berth_id* namespaces; /* as listed; the pod's own namespace when the list and the selector are absent */
  uint32_t namespace_count;
  berth_id topology_key;      /* BERTH_ID_EMPTY: none */
  int32_t weight;             /* preferred terms only */
  uint32_t reserved;
} berth_affinity_term_v1;

typedef struct berth_affinity_v1 {
  uint32_t struct_size;
  uint32_t present; /* podAffinity or podAntiAffinity is present, even if empty */
  const berth_affinity_term_v1* required;
  const berth_affinity_term_v1* preferred;
  const berth_affinity_term_v1* anti_required;
  const berth_affinity_term_v1* anti_preferred;
  uint32_t required_count;
  uint32_t preferred_count;
  uint32_t anti_required_count;
  uint32_t anti_preferred_count;
} berth_affinity_v1;

typedef struct berth_volume_v1 { /* closed */
  berth_str name;
  berth_str source; /* claim name, disk name, ... as the kind says */
  uint32_t kind;    /* BERTH_VOLUME_* */
  uint32_t read_only;
} berth_volume_v1;
enum {
  BERTH_VOLUME_OTHER = 0,
  BERTH_VOLUME_CLAIM = 1,     /* source: claimName             */
  BERTH_VOLUME_EPHEMERAL = 2, /* source: <pod>-<volume>        */
  BERTH_VOLUME_INLINE = 3     /* source: JSON of the volume    */
};

/* An entry of spec.resourceClaims, with what status.resourceClaimStatuses says about it. */
typedef struct berth_pod_claim_v1 { /* closed */
  berth_str name;          /* of the entry                                                     */
  berth_str claim;         /* resourceClaimName; empty: none                                   */
  berth_str claim_template; /* resourceClaimTemplateName; empty: none                          */
  berth_str generated;     /* the claim that was made from the template; empty: none is needed */
  uint32_t flags;          /* BERTH_POD_CLAIM_*                                                */
  uint32_t reserved;
} berth_pod_claim_v1;
enum { BERTH_POD_CLAIM_HAS_STATUS = 1u << 0 }; /* the status has an entry of that name: `generated` is known */

/* spec_flags */
enum {
  BERTH_SPEC_HOST_NETWORK = 1u << 0,
  BERTH_SPEC_HOST_USERS_FALSE = 1u << 1,      /* hostUsers is explicitly false                              */
  BERTH_SPEC_RESTARTS_ALL = 1u << 2           /* some container has a restart rule RestartAllContainers     */
};

typedef struct berth_pod_v1 {
  uint32_t struct_size;
  berth_id ns;
  int64_t priority;
  berth_str name;
  berth_str uid;
  const int64_t* requests; /* `request` sums in the order binder->request() returned them */
  const berth_resource_v1* resources; /* cpu, memory, ephemeral-storage first, always; then scalars by name */
  const berth_label_v1* labels;       /* sorted by key id */
  const berth_toleration_v1* tolerations;
  const berth_node_selection_v1* node_selection; /* never NULL when requested */
  const berth_host_port_v1* host_ports;          /* sidecars, then containers; hostPort > 0 */
  const berth_image_ref_v1* images;              /* init containers, containers, image volumes, in spec order */
  const berth_spread_v1* spread;
  const berth_affinity_v1* affinity; /* never NULL when requested */
  const berth_str* gates;
  const berth_volume_v1* volumes;
  const berth_label_v1* annotations; /* sorted by key id */
  berth_str owner_api_version;       /* of the controller reference; empty without one */
  berth_str owner_kind;
  berth_str owner_name;
  berth_str owner_uid;
  berth_str group;         /* spec.schedulingGroup.podGroupName */
  berth_str json;          /* whole object */
  berth_id node_name;      /* spec.nodeName, 0 when empty */
  berth_id nominated_node; /* status.nominatedNodeName, 0 when empty */
  uint32_t request_count;
  uint32_t resource_count;
  uint32_t label_count;
  uint32_t toleration_count;
  uint32_t host_port_count;
  uint32_t image_count;
  uint32_t container_count; /* init containers and containers */
  uint32_t spread_count;
  uint32_t gate_count;
  uint32_t volume_count;
  uint32_t annotation_count;
  uint32_t spec_flags;
  const berth_str* resource_claims; /* names of spec.resourceClaims */
  uint32_t resource_claim_count;
  uint32_t reserved;
  const berth_container_v1* containers; /* init containers, then containers, in spec order */
  const berth_container_amount_v1* overhead; /* requests */
  uint32_t resource_container_count; /* of containers */
  uint32_t overhead_count;
  const berth_pod_claim_v1* claims; /* in spec order */
  const berth_str* container_names; /* parallel to containers; empty but where the container asks for a resource with a domain */
  uint32_t claim_count;
  uint32_t container_name_count;
  int64_t created_ns;  /* metadata.creationTimestamp, wall clock; 0: none                */
  int64_t start_ns;    /* status.startTime, likewise                                     */
  int64_t deletion_ns; /* metadata.deletionTimestamp, likewise: not 0 is terminating     */
  uint32_t phase;             /* BERTH_PHASE_*                                           */
  uint32_t preemption_policy; /* BERTH_PREEMPT_*                                         */
  uint32_t qos;               /* BERTH_QOS_*                                             */
  uint32_t reserved2;
  berth_str scheduler_name; /* spec.schedulerName */
} berth_pod_v1;

enum {
  BERTH_PHASE_OTHER = 0, /* none, or a word that is none of these */
  BERTH_PHASE_PENDING = 1,
  BERTH_PHASE_RUNNING = 2,
  BERTH_PHASE_SUCCEEDED = 3,
  BERTH_PHASE_FAILED = 4
};
enum { BERTH_PREEMPT_LOWER_PRIORITY = 1, BERTH_PREEMPT_NEVER = 2 }; /* spec.preemptionPolicy */
/* By requests and limits of cpu and memory, of the containers or of the pod as a whole.
 * Source: kubernetes v1.36 pkg/apis/core/v1/helper/qos/qos.go. */
enum { BERTH_QOS_BEST_EFFORT = 1, BERTH_QOS_BURSTABLE = 2, BERTH_QOS_GUARANTEED = 3 };

#endif
