// SPDX-License-Identifier: Apache-2.0
//! What [`Plugin::new`](crate::Plugin::new) receives: columns, pod fields, services and args are asked for there, and only there.
use crate::abi::{borrow, text};
use crate::instance::{Asked, Kind};
use crate::link::Link;
use crate::minors;
use crate::nodes::{Column, ColumnValue, PodColumns};
use crate::nodes::{FeatureSet, ImageSet, LabelSet, PortSet, TaintSet, VolumeSet};
use crate::pod::{PodFields, Request};
use crate::services::Service;
use crate::tasks::Tasks;
use crate::{Error, Id, Json};
use berth_sys as sys;
use std::marker::PhantomData;
use std::sync::Arc;

/// `resource`, `key` and `type` are names as Kubernetes writes them: "cpu", "vendor.com/gpu", "topology.kubernetes.io/zone". What no
/// node has is a valid column of zeros. What the host does not know is an error that says which ABI has it.
pub struct Setup<'a> {
    binder: &'a sys::berth_binder_v1,
    args: sys::berth_str,
    link: Arc<Link>,
    tasks: Arc<Tasks>,
    columns: Vec<(u32, Kind)>,
    groups: u64,
    requests: u32,
    has_single_labels: bool,
    asks_for_sets: bool,
}

macro_rules! columns {
    ($($(#[$about:meta])* $name:ident($($key:ident)?) -> $value:ty, $kind:ident;)*) => {
        impl Setup<'_> {
            $($(#[$about])* pub fn $name(&mut self $(, $key: &str)?) -> Result<Column<$value>, Error> {
                #[allow(unused_mut, unused_assignments)]
                let mut key = "";
                $(key = $key;)?
                self.column(sys::$kind, key)
            })*
        }
    };
}
columns! {
    /// allocatable - requested; may be below 0.
    free(resource) -> i64, BERTH_COL_FREE;
    /// status.allocatable; 0 where it does not name the resource: `has_allocatable` tells.
    allocatable(resource) -> i64, BERTH_COL_ALLOCATABLE;
    /// status.capacity; likewise.
    status_capacity(resource) -> i64, BERTH_COL_STATUS_CAPACITY;
    /// Whether the node names the resource, be it as 0.
    has_allocatable(resource) -> bool, BERTH_COL_HAS_ALLOCATABLE;
    /// Likewise.
    has_status_capacity(resource) -> bool, BERTH_COL_HAS_STATUS_CAPACITY;
    /// What the pods on the node request, summed.
    requested(resource) -> i64, BERTH_COL_REQUESTED;
    /// As requested, with 100m of cpu and 200Mi of memory for a container that names none. Of these two only.
    nonzero(resource) -> i64, BERTH_COL_NONZERO;
    /// Number of pods on the node.
    pods() -> i64, BERTH_COL_PODS;
    /// Id of the label's value; 0: the node has no such label.
    label(key) -> Id, BERTH_COL_LABEL;
    /// Likewise.
    annotation(key) -> Id, BERTH_COL_ANNOTATION;
    /// Id of metadata.name.
    name() -> Id, BERTH_COL_NAME;
    /// Id of the status of the node condition of that type; 0: none such.
    condition(kind) -> Id, BERTH_COL_CONDITION;
    /// spec.unschedulable
    unschedulable() -> bool, BERTH_COL_UNSCHEDULABLE;
    /// Lists that nodes share: [`Block::taints`](crate::Block::taints) has the members.
    taint_set() -> TaintSet, BERTH_COL_TAINT_SET;
    /// Likewise.
    image_set() -> ImageSet, BERTH_COL_IMAGE_SET;
    /// Likewise.
    port_set() -> PortSet, BERTH_COL_PORT_SET;
    /// Likewise.
    feature_set() -> FeatureSet, BERTH_COL_FEATURE_SET;
    /// Likewise.
    label_set() -> LabelSet, BERTH_COL_LABEL_SET;
    /// Likewise.
    volume_set() -> VolumeSet, BERTH_COL_VOLUME_SET;
}

impl<'a> Setup<'a> {
    pub(crate) unsafe fn new(
        host: *const sys::berth_host_v1,
        binder: *const sys::berth_binder_v1,
        args: sys::berth_str,
    ) -> Setup<'a> {
        Setup {
            binder: &*binder,
            args,
            link: Arc::new(Link::new(host)),
            tasks: Arc::default(),
            columns: Vec::new(),
            groups: 0,
            requests: 0,
            has_single_labels: false,
            asks_for_sets: false,
        }
    }
    /// Nothing can be asked for any more.
    pub(crate) fn end(self) -> (Arc<Asked>, Arc<Tasks>) {
        let sets = if self.asks_for_sets { self.link.table::<sys::berth_sets_v1>("berth.sets/1") } else { None };
        let asked = Arc::new(Asked {
            link: self.link,
            columns: self.columns,
            groups: self.groups,
            requests: self.requests,
            has_single_labels: self.has_single_labels,
            sets,
        });
        asked.link.set_asked(Some(asked.clone()));
        (asked, self.tasks)
    }
    pub(crate) fn links(&self) -> (Arc<Link>, Arc<Tasks>) {
        (self.link.clone(), self.tasks.clone())
    }

    fn index(&mut self, kind: u32, key: &str, holds: Kind) -> Result<u32, Error> {
        let column = self.binder.column.ok_or_else(|| Error::too_old("the host has no columns"))?;
        let index = unsafe { column(self.binder.ctx, kind, borrow(key)) };
        if index == sys::BERTH_NO_COLUMN {
            let of = if key.is_empty() { String::new() } else { format!(" for {:?}", key) };
            let since = self.since(minors::of_column(kind));
            return Err(Error::too_old(format!("the host has no column of kind {}{}{}", kind, of, since)));
        }
        if !self.columns.contains(&(index, holds)) {
            self.columns.push((index, holds));
        }
        Ok(index)
    }
    fn column<T: for<'b> ColumnValue<'b>>(&mut self, kind: u32, key: &str) -> Result<Column<T>, Error> {
        let holds = T::kind();
        self.asks_for_sets |= !matches!(holds, Kind::Amount | Kind::Id | Kind::Bit);
        Ok(Column { index: self.index(kind, key, holds)?, instance: self.link.number, value: PhantomData })
    }
    /// `free` of each resource that the pod at hand asks for.
    pub fn pod_free(&mut self) -> Result<PodColumns, Error> {
        self.pod_columns(sys::BERTH_COL_POD_FREE)
    }
    /// `allocatable`, likewise.
    pub fn pod_allocatable(&mut self) -> Result<PodColumns, Error> {
        self.pod_columns(sys::BERTH_COL_POD_ALLOCATABLE)
    }
    fn pod_columns(&mut self, kind: u32) -> Result<PodColumns, Error> {
        self.pod_fields(PodFields::REQUESTS)?;
        Ok(PodColumns { index: self.index(kind, "", Kind::OfPod)?, instance: self.link.number })
    }

    /// The sum of one resource over the pod, for [`Pod::request`](crate::Pod::request).
    pub fn request(&mut self, resource: &str) -> Result<Request, Error> {
        let request = self.binder.request.ok_or_else(|| Error::too_old("the host sums no requests"))?;
        let index = unsafe { request(self.binder.ctx, borrow(resource)) };
        if index == sys::BERTH_NO_REQUEST {
            return Err(Error::too_old(format!("the host cannot sum requests of {}", resource)));
        }
        self.requests = self.requests.max(index + 1);
        Ok(Request { index, instance: self.link.number })
    }
    /// What to see of pods; added to what was asked for before.
    pub fn pod_fields(&mut self, groups: PodFields) -> Result<(), Error> {
        let unknown = groups.0 & !self.accepted_fields(groups).0;
        if unknown != 0 {
            let since = self.since(minors::of_pod_groups(unknown));
            return Err(Error::too_old(format!("the host has no pod fields of group {}{}", unknown, since)));
        }
        Ok(())
    }
    /// The same for what a policy can do without: answers those that pods will show.
    pub fn accepted_fields(&mut self, groups: PodFields) -> PodFields {
        let accepted = match self.binder.pod_fields {
            Some(pod_fields) => groups.0 & unsafe { pod_fields(self.binder.ctx, groups.0) },
            None => 0,
        };
        self.groups |= accepted;
        PodFields(accepted)
    }
    /// One label instead of all, so that pods that differ in others share a class. May be called for several.
    pub fn pod_label(&mut self, key: &str) -> Result<(), Error> {
        let pod_label = self.binder.pod_label.ok_or_else(|| Error::too_old("the host shows no single labels"))?;
        unsafe { pod_label(self.binder.ctx, borrow(key)) };
        self.has_single_labels = true;
        Ok(())
    }

    /// A service that the plugin cannot do without.
    pub fn service<S: Service>(&self) -> Result<S, Error> {
        self.find_service().ok_or_else(|| Error::too_old(format!("the host has no service {}{}", S::ID, self.since(minors::of_id(S::ID)))))
    }
    /// None where the host lacks it; [`Plugin::SERVICES`](crate::Plugin::SERVICES) must not list it then.
    pub fn find_service<S: Service>(&self) -> Option<S> {
        self.link.table::<S::Table>(S::ID).map(|table| S::of(&self.link, table, &self.tasks))
    }

    /// The args of the profile, the schema's defaults filled in; null when there are none.
    pub fn args(&self) -> Result<Json, Error> {
        match unsafe { text(self.args) } {
            "" => Ok(Json::null("args")),
            args => Json::parse(args, "args"),
        }
    }
    /// What a score may be at most: 100, and 10 in the mode of old configurations.
    pub fn score_max(&self) -> i64 {
        self.link.score_max()
    }
    fn since(&self, minor: u16) -> String {
        let major = sys::BERTH_ABI_MAJOR;
        format!(", which came with ABI {}.{}; it implements {}.{}", major, minor, major, self.link.abi_minor())
    }
}
