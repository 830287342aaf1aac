// SPDX-License-Identifier: Apache-2.0
//! example.com/FairShare: a namespace gets back the cpu of its share that others have borrowed, in Rust and without `unsafe`.
//!
//! Assumes: shares are of the cpu that pods on nodes request. A namespace without a share borrows all that it uses.
//! Steps:   where no node suits a pod whose namespace has not used up its share, look on each node for pods of borrowers, the least
//!          important first, without which the pod would fit; no namespace goes below its share by it. They are evicted.
//! Ties:    the node with the fewest victims, and of those the first; pods of one priority by name.
//! Bounds:  256 nodes are looked at, and 32 pods are evicted, for one pod.
#![forbid(unsafe_code)]

use berth::*;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// cpu in thousandths of a core, by namespace. Ids of namespaces that have a share live as long as the policy.
type ByNamespace = HashMap<Id, i64>;

/// One use in a profile.
struct FairShare {
    shares: ByNamespace,
    cpu: Request,
    pods: PlacedPods,
    dry_run: DryRun,
    preemption: Preemption,
    used: Mutex<Used>,
}
/// What the pods on nodes request, of namespaces that have a share.
#[derive(Default)]
struct Used {
    followed: FollowedPods,
    cpu: ByNamespace,
}
/// A pod of a borrower.
struct Borrower {
    priority: i64,
    name: String,
    uid: String,
    namespace: Id,
    cpu: i64,
}

const NODES_MAX: usize = 256;
const VICTIMS_MAX: usize = 32;
const SHARE_IS_USED: Reason = Reason::row(1);
const EVICTIONS_RUN: Reason = Reason::row(2);
const NOTHING_TO_TAKE: Reason = Reason::row(3);

impl Plugin for FairShare {
    const NAME: &'static str = "example.com/FairShare";
    const VERSION: &'static str = "1.0.0";
    const SUMMARY: &'static str = "A namespace gets back the cpu of its share that others have borrowed.";
    const ARGS_SCHEMA: Option<&'static str> = Some(
        r#"{"type": "object", "additionalProperties": false, "properties": {
            "shares": {"type": "array", "maxItems": 1000, "default": [], "items": {
                "type": "object", "additionalProperties": false, "required": ["namespace", "cpuMilli"], "properties": {
                    "namespace": {"type": "string", "minLength": 1},
                    "cpuMilli": {"type": "integer", "minimum": 0, "maximum": 1000000000, "description": "thousandths of a core"}}}}}}"#,
    );
    const REASONS: &'static [ReasonText] = &[
        ReasonText::new("the namespace has used up its share", "ShareIsUsed"),
        ReasonText::new("pods that have borrowed are still going", "EvictionsRun"),
        ReasonText::new("no node has enough that is borrowed", "NothingToTake"),
    ];
    const SERVICES: &'static [&'static str] = &[PlacedPods::ID, DryRun::ID, Preemption::ID];
    // What the host does for the victims.
    const RBAC: &'static [&'static str] = &["delete core/pods", "patch core/pods/status"];

    fn new(setup: &mut Setup<'_>) -> Result<Self, Error> {
        setup.pod_fields(PodFields::NAMESPACE | PodFields::IDENTITY)?;
        let intern: Intern = setup.service()?;
        let mut shares = ByNamespace::new();
        for share in setup.args()?.at("shares")?.items()? {
            let namespace = share.at("namespace")?.text()?.to_string();
            if shares.insert(intern.id(&namespace)?, share.at("cpuMilli")?.integer_in(0, 1_000_000_000)?).is_some() {
                return Err(Error::bad_args(format!("args.shares: namespace {} is there twice", namespace)));
            }
        }
        Ok(FairShare {
            shares,
            cpu: setup.request("cpu")?,
            pods: setup.service()?,
            dry_run: setup.service()?,
            preemption: setup.service()?,
            used: Mutex::default(),
        })
    }
}

impl FairShare {
    /// Brought up to date by what came and went since the last call.
    fn used(&self, cycle: &Cycle<'_>) -> Result<ByNamespace, Error> {
        let Used { followed, cpu } = &mut *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        followed.follow(&self.pods, cycle, |step| {
            match step {
                Step::Begin => cpu.clear(),
                Step::Add(placed) => {
                    let namespace = placed.pod.namespace()?;
                    if self.shares.contains_key(&namespace) {
                        *cpu.entry(namespace).or_default() += i64::from(placed.by) * placed.pod.request(self.cpu)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(cpu.clone())
    }
    /// What pods of the namespace that are nominated to a node, and not on it yet, will request; `uid` is not counted.
    fn nominated(&self, cycle: &Cycle<'_>, namespace: Id, uid: &str) -> Result<i64, Error> {
        let mut sum = Ok(0);
        self.pods.nominated(cycle, None, |placed| {
            let of_it = || -> Result<i64, Error> {
                let is_other = placed.pod.namespace()? == namespace && placed.pod.uid()? != uid;
                if is_other { placed.pod.request(self.cpu) } else { Ok(0) }
            };
            sum = sum.clone().and_then(|sum| Ok(sum + of_it()?));
            sum.is_ok()
        })?;
        sum
    }
    /// Pods on the node of other namespaces, the least important first.
    fn borrowers(&self, cycle: &Cycle<'_>, node: Slot, mine: Id) -> Result<Vec<Borrower>, Error> {
        let mut borrowers = Vec::new();
        let mut failed = Ok(());
        self.pods.on_node(cycle, node, |placed| {
            let pod = placed.pod;
            let borrower = || -> Result<Borrower, Error> {
                Ok(Borrower {
                    priority: pod.priority()?,
                    name: pod.name()?.to_string(),
                    uid: pod.uid()?.to_string(),
                    namespace: pod.namespace()?,
                    cpu: pod.request(self.cpu)?,
                })
            };
            match borrower() {
                // One that goes anyway makes its room by itself.
                Ok(borrower) if borrower.namespace == mine || placed.is_terminating() => {}
                Ok(borrower) => borrowers.push(borrower),
                Err(error) => failed = Err(error),
            }
            failed.is_ok()
        })?;
        failed?;
        borrowers.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        Ok(borrowers)
    }
    /// Uids of pods of borrowers without which the pod at hand fits. None: there are not enough.
    fn victims(&self, cycle: &Cycle<'_>, rejected: &Rejected<'_>, node: Slot, used: &ByNamespace) -> Result<Option<Vec<String>>, Error> {
        let mut left = used.clone();
        let mut uids: Vec<String> = Vec::new();
        for borrower in self.borrowers(cycle, node, cycle.pod().namespace()?)? {
            if let Some(share) = self.shares.get(&borrower.namespace) {
                let left = left.entry(borrower.namespace).or_default();
                if *left - borrower.cpu < *share {
                    continue; // its own
                }
                *left -= borrower.cpu;
            }
            uids.push(borrower.uid);
            match self.dry_run.fits_without(rejected, node, &uids)? {
                Fit::Fits => return Ok(Some(uids)),
                Fit::Unschedulable if uids.len() < VICTIMS_MAX => {}
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl PostFilter for FairShare {
    fn post_filter(&self, cycle: &Cycle<'_>, rejected: &mut Rejected<'_>) -> Result<Verdict, Error> {
        let pod = cycle.pod();
        let (mine, used) = (pod.namespace()?, self.used(cycle)?);
        let share = self.shares.get(&mine).copied().unwrap_or(0);
        let comes = self.nominated(cycle, mine, pod.uid()?)? + pod.request(self.cpu)?;
        if used.get(&mine).copied().unwrap_or(0) + comes > share {
            return Ok(Verdict::unschedulable(SHARE_IS_USED));
        }
        if self.preemption.evicting(pod.uid()?)? {
            return Ok(Verdict::unschedulable(EVICTIONS_RUN));
        }
        let mut best: Option<(Slot, Vec<String>)> = None;
        let nodes = rejected.unschedulable();
        let hopeful = (0..cycle.slot_count()).filter(|node| nodes[*node as usize / 64] >> (node % 64) & 1 != 0);
        for node in hopeful.take(NODES_MAX) {
            if let Some(victims) = self.victims(cycle, rejected, node, &used)? {
                if best.as_ref().map_or(true, |(_, best)| victims.len() < best.len()) {
                    best = Some((node, victims));
                }
            }
        }
        match best {
            None => Ok(Verdict::unschedulable(NOTHING_TO_TAKE)),
            Some((node, victims)) => {
                rejected.nominate(node);
                victims.iter().for_each(|uid| rejected.add_victim(uid));
                Ok(Verdict::Ok)
            }
        }
    }
}

export!(FairShare);

#[cfg(test)]
mod tests;
