// SPDX-License-Identifier: Apache-2.0
//! Pods as far as a policy asked to see them. A field of a group that was not asked for is an error of the call, with the name of
//! the group: elsewhere it would be empty and the policy silently wrong.
use crate::abi::{slice, text};
use crate::instance::Asked;
use crate::{Error, Id};
use berth_sys as sys;

/// Groups of pod fields, for [`Setup::pod_fields`](crate::Setup::pod_fields). Joined with `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodFields(pub(crate) u64);
impl std::ops::BitOr for PodFields {
    type Output = PodFields;
    fn bitor(self, other: PodFields) -> PodFields {
        PodFields(self.0 | other.0)
    }
}
macro_rules! groups {
    ($($name:ident = $bit:ident, $about:literal;)*) => {
        impl PodFields {
            $(#[doc = $about] pub const $name: PodFields = PodFields(sys::$bit as u64);)*
        }
        /// The names of groups, for errors.
        fn names_of(groups: u64) -> String {
            let mut names: Vec<&str> = Vec::new();
            $(if groups & u64::from(sys::$bit) != 0 { names.push(stringify!($name)); })*
            names.join(" or ")
        }
    };
}
groups! {
    REQUESTS = BERTH_POD_REQUESTS, "resources";
    LABELS = BERTH_POD_LABELS, "All labels; single ones: [`Setup::pod_label`](crate::Setup::pod_label).";
    TOLERATIONS = BERTH_POD_TOLERATIONS, "tolerations";
    PRIORITY = BERTH_POD_PRIORITY, "priority";
    NAMESPACE = BERTH_POD_NAMESPACE, "namespace";
    IDENTITY = BERTH_POD_IDENTITY, "Name and uid; makes every pod its own class.";
    NODE_SELECTION = BERTH_POD_NODE_SELECTION, "spec.nodeSelector and spec.affinity.nodeAffinity";
    PORTS = BERTH_POD_PORTS, "host ports";
    IMAGES = BERTH_POD_IMAGES, "images and the number of containers";
    SPREAD = BERTH_POD_SPREAD, "topology spread constraints";
    AFFINITY = BERTH_POD_AFFINITY, "pod affinity and anti-affinity";
    OWNER = BERTH_POD_OWNER, "controller reference";
    GATES = BERTH_POD_GATES, "scheduling gates";
    SPEC_FLAGS = BERTH_POD_SPEC_FLAGS, "`BERTH_SPEC_*`";
    PLACEMENT = BERTH_POD_PLACEMENT, "spec.nodeName and status.nominatedNodeName";
    VOLUMES = BERTH_POD_VOLUMES, "volumes";
    ANNOTATIONS = BERTH_POD_ANNOTATIONS, "all annotations";
    GROUP = BERTH_POD_GROUP, "spec.schedulingGroup";
    STORAGE = BERTH_POD_STORAGE, "Volumes of the kinds CLAIM, EPHEMERAL and INLINE; of a pod that has one of the first two, name and uid.";
    RESOURCE_CLAIMS = BERTH_POD_RESOURCE_CLAIMS, "names of spec.resourceClaims";
    CONTAINERS = BERTH_POD_CONTAINERS, "containers with their amounts, overhead";
    CLAIMS = BERTH_POD_CLAIMS, "Resource claims; of a pod that has some also name, uid, namespace and containers.";
    STATUS = BERTH_POD_STATUS, "phase, start and deletion time";
    CREATED = BERTH_POD_CREATED, "creation time";
    SCHEDULING = BERTH_POD_SCHEDULING, "scheduler name and preemption policy";
    QOS = BERTH_POD_QOS, "quality of service";
    JSON = BERTH_POD_JSON, "The whole object; makes every pod its own class.";
}

/// Identity and placement, which some calls show besides what was asked for.
pub(crate) const SHOWN_TO_QUEUE: u64 = (sys::BERTH_POD_IDENTITY | sys::BERTH_POD_PLACEMENT) as u64;
/// What pods on nodes show besides.
pub(crate) const SHOWN_PLACED: u64 = SHOWN_TO_QUEUE | (sys::BERTH_POD_NAMESPACE | sys::BERTH_POD_PRIORITY) as u64;

/// Handle of the sum of one resource over a pod, from [`Setup::request`](crate::Setup::request).
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub(crate) index: u32,
    pub(crate) instance: u64,
}

/// Key and value as ids; lists are sorted by the id of the key.
pub type Label = sys::berth_label_v1;
/// One resource that a pod mentions, in its various sums.
pub type Resource = sys::berth_resource_v1;

/// A list of a pod whose elements point further: they live as long as the pod.
macro_rules! element {
    ($(#[$about:meta])* $name:ident, $raw:ident) => {
        $(#[$about])*
        #[repr(transparent)]
        pub struct $name(sys::$raw);
        impl $name {
            #[allow(dead_code)]
            pub(crate) unsafe fn list<'a>(first: *const sys::$raw, count: u32) -> &'a [$name] {
                slice(first as *const $name, u64::from(count))
            }
        }
    };
}
element!(/// A text of a list.
    Text, berth_str);
impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        unsafe { text(self.0) }
    }
}
element!(/// A volume of a pod.
    Volume, berth_volume_v1);
impl Volume {
    /// Within the pod.
    pub fn name(&self) -> &str {
        unsafe { text(self.0.name) }
    }
    /// Claim name, `<pod>-<volume>` or JSON of the volume, as the kind says.
    pub fn source(&self) -> &str {
        unsafe { text(self.0.source) }
    }
    /// `BERTH_VOLUME_*`.
    pub fn kind(&self) -> u32 {
        self.0.kind
    }
    /// Of the volume's source.
    pub fn is_read_only(&self) -> bool {
        self.0.read_only != 0
    }
}
element!(/// A container with its own amounts.
    Container, berth_container_v1);
impl Container {
    /// `BERTH_CONTAINER_*`.
    pub fn kind(&self) -> u32 {
        self.0.kind
    }
    /// In no order.
    pub fn amounts(&self) -> &[sys::berth_container_amount_v1] {
        unsafe { slice(self.0.amounts, u64::from(self.0.amount_count)) }
    }
}
element!(/// An entry of spec.resourceClaims; empty texts: none.
    Claim, berth_pod_claim_v1);
impl Claim {
    /// Of the entry.
    pub fn name(&self) -> &str {
        unsafe { text(self.0.name) }
    }
    /// resourceClaimName.
    pub fn claim(&self) -> &str {
        unsafe { text(self.0.claim) }
    }
    /// resourceClaimTemplateName.
    pub fn template(&self) -> &str {
        unsafe { text(self.0.claim_template) }
    }
    /// The claim that was made from the template. None: not known yet; empty: none is needed.
    pub fn generated(&self) -> Option<&str> {
        (self.0.flags & sys::BERTH_POD_CLAIM_HAS_STATUS != 0).then(|| unsafe { text(self.0.generated) })
    }
}
element!(/// One condition of a selector.
    Requirement, berth_requirement_v1);
impl Requirement {
    pub(crate) fn raw(&self) -> *const sys::berth_requirement_v1 {
        &self.0
    }
    /// Of the label or field.
    pub fn key(&self) -> Id {
        self.0.key
    }
    /// `BERTH_OP_*`.
    pub fn op(&self) -> u32 {
        self.0.op
    }
    /// Of In and NotIn.
    pub fn values(&self) -> &[Id] {
        unsafe { slice(self.0.values, u64::from(self.0.value_count)) }
    }
    /// Of Gt and Lt.
    pub fn number(&self) -> i64 {
        self.0.number
    }
}
element!(/// A label selector: all of its requirements.
    Selector, berth_selector_v1);
impl Selector {
    /// `BERTH_SELECTOR_*`.
    pub fn kind(&self) -> u32 {
        self.0.kind
    }
    /// None of them: everything matches, if the kind is MATCH.
    pub fn requirements(&self) -> &[Requirement] {
        unsafe { Requirement::list(self.0.requirements, self.0.requirement_count) }
    }
    /// Of an invalid one.
    pub fn error(&self) -> &str {
        unsafe { text(self.0.error) }
    }
}
element!(/// A term of a node selector: all of its expressions and fields.
    NodeTerm, berth_node_term_v1);
impl NodeTerm {
    /// Over labels.
    pub fn expressions(&self) -> &[Requirement] {
        unsafe { Requirement::list(self.0.expressions, self.0.expression_count) }
    }
    /// Over fields: metadata.name.
    pub fn fields(&self) -> &[Requirement] {
        unsafe { Requirement::list(self.0.fields, self.0.field_count) }
    }
    /// Of preferred terms.
    pub fn weight(&self) -> i32 {
        self.0.weight
    }
    /// What is wrong with a term that matches no node; none if it parses.
    pub fn error(&self) -> Option<&str> {
        (self.0.invalid != 0).then(|| unsafe { text(self.0.error) })
    }
}
element!(/// spec.nodeSelector and node affinity.
    NodeSelection, berth_node_selection_v1);
impl NodeSelection {
    /// None: the pod has no nodeSelector.
    pub fn selector(&self) -> Option<&[Label]> {
        (self.0.has_selector != 0).then(|| unsafe { slice(self.0.selector, u64::from(self.0.selector_count)) })
    }
    /// One of these has to match. None: the pod has no required affinity.
    pub fn required(&self) -> Option<&[NodeTerm]> {
        (self.0.has_required != 0).then(|| unsafe { NodeTerm::list(self.0.required, self.0.required_count) })
    }
    /// With weights.
    pub fn preferred(&self) -> &[NodeTerm] {
        unsafe { NodeTerm::list(self.0.preferred, self.0.preferred_count) }
    }
}
element!(/// A topology spread constraint.
    Spread, berth_spread_v1);
impl Spread {
    /// Which pods are counted.
    pub fn selector(&self) -> &Selector {
        // Selector is transparent.
        unsafe { &*(&self.0.selector as *const sys::berth_selector_v1 as *const Selector) }
    }
    /// Of node labels.
    pub fn topology_key(&self) -> Id {
        self.0.topology_key
    }
    /// Pods more than in the emptiest domain.
    pub fn max_skew(&self) -> i32 {
        self.0.max_skew
    }
    /// 1 when absent.
    pub fn min_domains(&self) -> i32 {
        self.0.min_domains
    }
    /// `BERTH_SPREAD_*`.
    pub fn when_unsatisfiable(&self) -> u32 {
        self.0.when_unsatisfiable
    }
}
element!(/// A term of pod affinity or anti-affinity.
    AffinityTerm, berth_affinity_term_v1);
impl AffinityTerm {
    /// Which pods are meant.
    pub fn selector(&self) -> &Selector {
        unsafe { &*(&self.0.selector as *const sys::berth_selector_v1 as *const Selector) }
    }
    /// In which namespaces, by their labels.
    pub fn namespace_selector(&self) -> &Selector {
        unsafe { &*(&self.0.namespace_selector as *const sys::berth_selector_v1 as *const Selector) }
    }
    /// In which namespaces, by name.
    pub fn namespaces(&self) -> &[Id] {
        unsafe { slice(self.0.namespaces, u64::from(self.0.namespace_count)) }
    }
    /// Of node labels.
    pub fn topology_key(&self) -> Id {
        self.0.topology_key
    }
    /// Of preferred terms.
    pub fn weight(&self) -> i32 {
        self.0.weight
    }
}
element!(/// Pod affinity and anti-affinity.
    Affinity, berth_affinity_v1);
impl Affinity {
    /// One of the two is there, even if empty.
    pub fn is_present(&self) -> bool {
        self.0.present != 0
    }
    /// Affinity that has to be met.
    pub fn required(&self) -> &[AffinityTerm] {
        unsafe { AffinityTerm::list(self.0.required, self.0.required_count) }
    }
    /// Affinity with weights.
    pub fn preferred(&self) -> &[AffinityTerm] {
        unsafe { AffinityTerm::list(self.0.preferred, self.0.preferred_count) }
    }
    /// Anti-affinity that has to be met.
    pub fn anti_required(&self) -> &[AffinityTerm] {
        unsafe { AffinityTerm::list(self.0.anti_required, self.0.anti_required_count) }
    }
    /// Anti-affinity with weights.
    pub fn anti_preferred(&self) -> &[AffinityTerm] {
        unsafe { AffinityTerm::list(self.0.anti_preferred, self.0.anti_preferred_count) }
    }
}

/// The controller of a pod; all empty without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// "apps/v1"
    pub api_version: &'a str,
    /// "ReplicaSet"
    pub kind: &'a str,
    /// Of the controller.
    pub name: &'a str,
    /// Of the controller.
    pub uid: &'a str,
}

/// A pod. Copied like a pointer; lives for the call.
#[derive(Clone, Copy)]
pub struct Pod<'a> {
    raw: &'a sys::berth_pod_v1,
    asked: &'a Asked,
    shown: u64,
}

const fn bits(groups: u32) -> u64 {
    groups as u64
}

macro_rules! field {
    ($(#[$about:meta])* $name:ident: $type:ty, $groups:expr, |$raw:ident| $value:expr) => {
        $(#[$about])*
        pub fn $name(&self) -> Result<$type, Error> {
            self.needs(bits($groups), stringify!($name))?;
            let $raw = self.raw;
            // The host fills what was asked for, and the arrays live as long as the pod.
            #[allow(unused_unsafe)]
            Ok(unsafe { $value })
        }
    };
}

impl<'a> Pod<'a> {
    pub(crate) unsafe fn new(raw: *const sys::berth_pod_v1, asked: &'a Asked, also: u64) -> Pod<'a> {
        Pod { raw: &*raw, asked, shown: asked.groups | also }
    }
    pub(crate) fn raw_resource_count(&self) -> u32 {
        if self.shown & bits(sys::BERTH_POD_REQUESTS) != 0 { self.raw.resource_count } else { 0 }
    }
    fn needs(&self, groups: u64, field: &str) -> Result<(), Error> {
        if self.shown & groups != 0 {
            return Ok(());
        }
        Err(Error::new(format!("reads {} of a pod, and did not ask for pod_fields(PodFields::{})", field, names_of(groups))))
    }

    field!(/// metadata.namespace.
        namespace: Id, sys::BERTH_POD_NAMESPACE | sys::BERTH_POD_CLAIMS, |raw| raw.ns);
    field!(/// spec.priority.
        priority: i64, sys::BERTH_POD_PRIORITY, |raw| raw.priority);
    field!(/// metadata.name.
        name: &'a str, sys::BERTH_POD_IDENTITY | sys::BERTH_POD_STORAGE | sys::BERTH_POD_CLAIMS, |raw| text(raw.name));
    field!(/// metadata.uid.
        uid: &'a str, sys::BERTH_POD_IDENTITY | sys::BERTH_POD_STORAGE | sys::BERTH_POD_CLAIMS, |raw| text(raw.uid));
    field!(/// spec.nodeName, 0 when empty.
        node_name: Id, sys::BERTH_POD_PLACEMENT, |raw| raw.node_name);
    field!(/// status.nominatedNodeName, 0 when empty.
        nominated_node: Id, sys::BERTH_POD_PLACEMENT, |raw| raw.nominated_node);
    field!(/// `BERTH_SPEC_*`.
        spec_flags: u32, sys::BERTH_POD_SPEC_FLAGS, |raw| raw.spec_flags);
    field!(/// Init containers and containers.
        container_count: u32, sys::BERTH_POD_IMAGES, |raw| raw.container_count);
    field!(/// Wall clock, nanoseconds; 0: none.
        created_ns: i64, sys::BERTH_POD_CREATED, |raw| raw.created_ns);
    field!(/// status.startTime, likewise.
        start_ns: i64, sys::BERTH_POD_STATUS, |raw| raw.start_ns);
    field!(/// metadata.deletionTimestamp: not 0 while the pod is terminating.
        deletion_ns: i64, sys::BERTH_POD_STATUS, |raw| raw.deletion_ns);
    field!(/// `BERTH_PHASE_*`.
        phase: u32, sys::BERTH_POD_STATUS, |raw| raw.phase);
    field!(/// False where spec.preemptionPolicy is Never.
        preempts: bool, sys::BERTH_POD_SCHEDULING, |raw| raw.preemption_policy != sys::BERTH_PREEMPT_NEVER);
    field!(/// spec.schedulerName.
        scheduler_name: &'a str, sys::BERTH_POD_SCHEDULING, |raw| text(raw.scheduler_name));
    field!(/// `BERTH_QOS_*`.
        qos: u32, sys::BERTH_POD_QOS, |raw| raw.qos);
    field!(/// spec.schedulingGroup.podGroupName.
        group: &'a str, sys::BERTH_POD_GROUP, |raw| text(raw.group));
    field!(/// The object as the API server has it.
        json: &'a str, sys::BERTH_POD_JSON, |raw| text(raw.json));
    field!(/// cpu, memory and ephemeral-storage first, always; then scalars by name.
        resources: &'a [Resource], sys::BERTH_POD_REQUESTS, |raw| slice(raw.resources, u64::from(raw.resource_count)));
    field!(/// Sorted by the id of the key.
        annotations: &'a [Label], sys::BERTH_POD_ANNOTATIONS, |raw| slice(raw.annotations, u64::from(raw.annotation_count)));
    field!(/// In spec order.
        tolerations: &'a [sys::berth_toleration_v1], sys::BERTH_POD_TOLERATIONS,
        |raw| slice(raw.tolerations, u64::from(raw.toleration_count)));
    field!(/// Of sidecars, then of containers; hostPort > 0 only.
        host_ports: &'a [sys::berth_host_port_v1], sys::BERTH_POD_PORTS, |raw| slice(raw.host_ports, u64::from(raw.host_port_count)));
    field!(/// Of init containers, containers and image volumes, in spec order.
        images: &'a [sys::berth_image_ref_v1], sys::BERTH_POD_IMAGES, |raw| slice(raw.images, u64::from(raw.image_count)));
    field!(/// spec.topologySpreadConstraints.
        spread: &'a [Spread], sys::BERTH_POD_SPREAD, |raw| Spread::list(raw.spread, raw.spread_count));
    field!(/// Names of spec.schedulingGates.
        gates: &'a [Text], sys::BERTH_POD_GATES, |raw| Text::list(raw.gates, raw.gate_count));
    field!(/// With STORAGE those of the kinds CLAIM, EPHEMERAL and INLINE.
        volumes: &'a [Volume], sys::BERTH_POD_VOLUMES | sys::BERTH_POD_STORAGE, |raw| Volume::list(raw.volumes, raw.volume_count));
    field!(/// Init containers, then containers, in spec order.
        containers: &'a [Container], sys::BERTH_POD_CONTAINERS | sys::BERTH_POD_CLAIMS,
        |raw| Container::list(raw.containers, raw.resource_container_count));
    field!(/// spec.overhead, as requests.
        overhead: &'a [sys::berth_container_amount_v1], sys::BERTH_POD_CONTAINERS | sys::BERTH_POD_CLAIMS,
        |raw| slice(raw.overhead, u64::from(raw.overhead_count)));
    field!(/// Names of spec.resourceClaims.
        resource_claims: &'a [Text], sys::BERTH_POD_RESOURCE_CLAIMS, |raw| Text::list(raw.resource_claims, raw.resource_claim_count));
    field!(/// Parallel to containers; empty for a pod that asks for no resource with a domain.
        container_names: &'a [Text], sys::BERTH_POD_CLAIMS, |raw| Text::list(raw.container_names, raw.container_name_count));
    field!(/// In spec order.
        claims: &'a [Claim], sys::BERTH_POD_CLAIMS, |raw| Claim::list(raw.claims, raw.claim_count));
    field!(/// spec.nodeSelector and node affinity.
        node_selection: &'a NodeSelection, sys::BERTH_POD_NODE_SELECTION, |raw| &*(raw.node_selection as *const NodeSelection));
    field!(/// Pod affinity and anti-affinity.
        affinity: &'a Affinity, sys::BERTH_POD_AFFINITY, |raw| &*(raw.affinity as *const Affinity));
    field!(/// The controller reference.
        owner: Owner<'a>, sys::BERTH_POD_OWNER,
        |raw| Owner { api_version: text(raw.owner_api_version), kind: text(raw.owner_kind), name: text(raw.owner_name), uid: text(raw.owner_uid) });

    /// Sorted by the id of the key. All of them, or those that were asked for one by one.
    pub fn labels(&self) -> Result<&'a [Label], Error> {
        if !self.asked.has_single_labels {
            self.needs(bits(sys::BERTH_POD_LABELS), "labels")?;
        }
        Ok(unsafe { slice(self.raw.labels, u64::from(self.raw.label_count)) })
    }
    /// The value of one label, if the pod has it.
    pub fn label(&self, key: Id) -> Result<Option<Id>, Error> {
        let labels = self.labels()?;
        Ok(labels.binary_search_by_key(&key, |label| label.key).ok().map(|at| labels[at].value))
    }
    /// What the spec asks for of one resource; 0: nothing. An error for a handle of another instance.
    pub fn request(&self, request: Request) -> Result<i64, Error> {
        if request.instance != self.asked.link.number || request.index >= self.asked.requests {
            return Err(Error::new("reads a request that another instance asked for, and this one did not"));
        }
        let requests = unsafe { slice(self.raw.requests, u64::from(self.raw.request_count)) };
        requests.get(request.index as usize).copied().ok_or_else(|| Error::new("the host shows no such request of the pod"))
    }
}
