// SPDX-License-Identifier: Apache-2.0
//! The C functions of each extension point for a policy, and the tables that a descriptor points to. Each calls one function of the
//! policy behind the barrier of abi.rs.
//!
//! Of the host: `self_` is what create() made, and every other pointer is valid for the call.
use crate::abi::{borrow, caught, finish, guarded, guarded_load, size, slice, slice_mut};
use crate::binding::BindCall;
use crate::cycle::StateBox;
use crate::domains::{self, FilterDomains, KeptColumns, ScoreDomains};
use crate::instance::{Asked, Instance};
use crate::nodes::{Block, FilterBlock, Row, ScoreBlock};
use crate::pod::SHOWN_TO_QUEUE;
use crate::points::*;
use crate::services::{write_log, Object, Severity};
use crate::{Candidates, Cycle, Error, Pod, Prepared, Setup, Verdict};
use berth_sys as sys;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::sync::Arc;

/// For each trait that P has, the functions of its point; `export!` looks them up by name, and finds None in [`NotOffered`] for a
/// trait that P does not have.
pub struct Probe<P>(PhantomData<P>);

pub(crate) unsafe fn instance<'a, P>(this: *mut c_void) -> &'a Instance<P> {
    &*(this as *const Instance<P>)
}
fn log_failure(asked: &Asked, point: &str, done: Result<(), Error>) {
    if let Err(error) = done {
        let _ = caught(|| write_log(&asked.link, Severity::Error, "a call failed", &[("point", point), ("error", error.text())]));
    }
}

pub(crate) unsafe extern "C" fn create<P: Plugin>(
    host: *const sys::berth_host_v1,
    binder: *const sys::berth_binder_v1,
    args: sys::berth_str,
    out: *mut *mut c_void,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded_load(note, || {
        let mut setup = Setup::new(host, binder, args);
        let (link, tasks) = setup.links();
        // What a plugin that could not be made left to others must not reach the host any more.
        match caught(|| P::new(&mut setup)) {
            Ok(policy) => {
                let (asked, tasks) = setup.end();
                *out = Box::into_raw(Box::new(Instance { policy, asked, tasks, columns: KeptColumns::default() })) as *mut c_void;
                Ok(sys::BERTH_OK)
            }
            Err(error) => {
                link.close();
                drop(setup);
                // The host has the addresses of its tasks until it has dropped them.
                if tasks.count() != 0 {
                    std::mem::forget(tasks);
                }
                Err(error)
            }
        }
    })
}
pub(crate) unsafe extern "C" fn destroy<P: Plugin>(this: *mut c_void) {
    let instance = Box::from_raw(this as *mut Instance<P>);
    let Instance { policy, asked, tasks, columns: _columns } = *instance;
    let dropped = caught(|| {
        drop(policy);
        Ok(())
    });
    log_failure(&asked, "destroy", dropped);
    asked.link.close();
    let _ = caught(|| {
        tasks.clear();
        Ok(())
    });
}

// --- queue ---

unsafe fn queued<'a>(raw: *const sys::berth_queue_pod_v1, asked: &'a Asked, also: u64) -> QueuedPod<'a> {
    let raw = &*raw;
    QueuedPod {
        pod: Pod::new(raw.pod, asked, also),
        attempts: raw.attempts,
        enqueued_ns: raw.enqueued_ns,
        first_attempt_ns: raw.first_attempt_ns,
    }
}
unsafe extern "C" fn pre_enqueue<P: PreEnqueue>(
    this: *mut c_void,
    pod: *const sys::berth_queue_pod_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        Ok(finish(&this.policy.pre_enqueue(queued(pod, &this.asked, SHOWN_TO_QUEUE))?, note))
    })
}
unsafe extern "C" fn key<P: QueueSort>(
    this: *mut c_void,
    pod: *const sys::berth_queue_pod_v1,
    key: *mut u64,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let words = this.policy.key(queued(pod, &this.asked, 0))?;
        slice_mut(key, u64::from(P::KEY_WORDS.min(4))).copy_from_slice(&words[..P::KEY_WORDS.min(4) as usize]);
        Ok(sys::BERTH_OK)
    })
}

unsafe extern "C" fn less<P: QueueLess>(this: *mut c_void, a: *const sys::berth_queue_pod_v1, b: *const sys::berth_queue_pod_v1) -> i32 {
    let this = instance::<P>(this);
    let mut is_before = false;
    let done = caught(|| {
        is_before = this.policy.less(queued(a, &this.asked, 0), queued(b, &this.asked, 0))?;
        Ok(())
    });
    log_failure(&this.asked, "less", done);
    i32::from(is_before)
}

// --- prepare ---

pub(crate) unsafe fn take_state(cycle: *mut sys::berth_cycle_v1, prepared: Prepared, note: *mut sys::berth_note_v1) -> u32 {
    let Prepared { verdict, state } = prepared;
    if let Some(state) = state {
        let old = std::mem::replace(&mut (*cycle).state, Box::into_raw(Box::new(StateBox(state))) as *mut c_void);
        if !old.is_null() {
            drop(Box::from_raw(old as *mut StateBox));
        }
    }
    finish(&verdict, note)
}
unsafe extern "C" fn pre_filter<P: PreFilter>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    out: *mut sys::berth_prepare_out_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let out = &mut *out;
        let mut nodes = Candidates::new(out);
        let prepared = this.policy.pre_filter(&Cycle::new(cycle, &this.asked), &mut nodes)?;
        if nodes.is_narrowed {
            out.narrowed = 1;
        }
        Ok(take_state(cycle, prepared, note))
    })
}
unsafe extern "C" fn pre_score<P: PreScore>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    nodes: *const sys::berth_slot,
    count: u32,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let prepared = this.policy.pre_score(&Cycle::new(cycle, &this.asked), slice(nodes, u64::from(count)))?;
        Ok(take_state(cycle, prepared, note))
    })
}
unsafe extern "C" fn state_free(_this: *mut c_void, state: *mut c_void) {
    let _ = caught(|| {
        if !state.is_null() {
            drop(Box::from_raw(state as *mut StateBox));
        }
        Ok(())
    });
}
unsafe extern "C" fn state_clone(_this: *mut c_void, from: *const c_void, to: *mut *mut c_void, note: *mut sys::berth_note_v1) -> u32 {
    guarded(note, || {
        let from = (from as *const StateBox).as_ref().ok_or("there is no state to copy")?;
        *to = Box::into_raw(Box::new(StateBox(from.0.cloned()))) as *mut c_void;
        Ok(sys::BERTH_OK)
    })
}
/// Without a state of P's type nothing that P knows is affected.
unsafe fn what_if<P: WhatIf>(
    this: &Instance<P>,
    cycle: *mut sys::berth_cycle_v1,
    other: *const sys::berth_pod_v1,
    change: impl FnOnce(&Cycle<'_>, &mut P::State, Pod<'_>) -> Result<bool, Error>,
) -> Result<u32, Error> {
    // The state is apart from the cycle that the policy sees, so that it cannot look at what it changes.
    let mut seen = *cycle;
    seen.state = std::ptr::null_mut();
    let state = match ((*cycle).state as *mut StateBox).as_mut() {
        Some(state) => state,
        None => return Ok(sys::BERTH_OK),
    };
    let state = state.0.as_mut().any_mut().downcast_mut::<P::State>();
    let state = state.ok_or("pre_filter left a state of another type than WhatIf has")?;
    let other = Pod::new(other, &this.asked, 0);
    Ok(if change(&Cycle::new(&seen, &this.asked), state, other)? { sys::BERTH_OK } else { sys::BERTH_SKIP })
}
unsafe extern "C" fn pod_added<P: WhatIf>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    other: *const sys::berth_pod_v1,
    node: sys::berth_slot,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        what_if(this, cycle, other, |cycle, state, other| this.policy.pod_added(cycle, state, other, node))
    })
}
unsafe extern "C" fn pod_removed<P: WhatIf>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    other: *const sys::berth_pod_v1,
    node: sys::berth_slot,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        what_if(this, cycle, other, |cycle, state, other| this.policy.pod_removed(cycle, state, other, node))
    })
}

// --- filter and score ---

unsafe fn block_of<'a>(cycle: &Cycle<'_>, block: *const sys::berth_node_block_v1, asked: &'a Asked) -> Block<'a> {
    Block::new(block, asked, cycle.pod().raw_resource_count())
}
unsafe extern "C" fn filter<P: Filter>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    block: *const sys::berth_node_block_v1,
    out: *mut sys::berth_filter_out_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let flags = (*cycle).flags;
        let cycle = Cycle::new(cycle, &this.asked);
        let mut nodes = FilterBlock::new(block_of(&cycle, block, &this.asked), flags, out);
        this.policy.filter(&cycle, &mut nodes).map(|()| sys::BERTH_OK)
    })
}
unsafe extern "C" fn budget_ns<P: Filter>(this: *mut c_void) -> u64 {
    caught(|| Ok(instance::<P>(this).policy.budget_ns())).unwrap_or(0)
}
unsafe extern "C" fn score<P: Score>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    block: *const sys::berth_node_block_v1,
    raw: *mut i64,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let cycle = Cycle::new(cycle, &this.asked);
        let mut nodes = ScoreBlock::new(block_of(&cycle, block, &this.asked), raw);
        this.policy.score(&cycle, &mut nodes).map(|()| sys::BERTH_OK)
    })
}
unsafe extern "C" fn normalize<P: Score>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    nodes: *const sys::berth_slot,
    scores: *mut i64,
    count: u32,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let (nodes, scores) = (slice(nodes, u64::from(count)), slice_mut(scores, u64::from(count)));
        this.policy.normalize(&Cycle::new(cycle, &this.asked), nodes, scores).map(|()| sys::BERTH_OK)
    })
}

// --- post_filter, reserve, permit ---

unsafe extern "C" fn post_filter<P: PostFilter>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    input: *const sys::berth_post_filter_in_v1,
    out: *mut sys::berth_post_filter_out_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let cycle = Cycle::new(cycle, &this.asked);
        let mut rejected = Rejected { cycle, input: &*input, out: &mut *out };
        Ok(finish(&this.policy.post_filter(&cycle, &mut rejected)?, note))
    })
}
unsafe extern "C" fn reserve<P: Reserve>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    node: sys::berth_slot,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        Ok(finish(&this.policy.reserve(&Cycle::new(cycle, &this.asked), node)?, note))
    })
}
unsafe extern "C" fn unreserve<P: Reserve>(this: *mut c_void, cycle: *mut sys::berth_cycle_v1, node: sys::berth_slot) {
    let this = instance::<P>(this);
    log_failure(&this.asked, "unreserve", caught(|| this.policy.unreserve(&Cycle::new(cycle, &this.asked), node)));
}
unsafe extern "C" fn permit<P: Permit>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    node: sys::berth_slot,
    out: *mut sys::berth_permit_out_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let verdict = this.policy.permit(&Cycle::new(cycle, &this.asked), node)?;
        if let Verdict::Wait { timeout_ms } = verdict {
            (*out).timeout_ms = timeout_ms;
        }
        Ok(finish(&verdict, note))
    })
}

// --- bind ---

unsafe extern "C" fn pre_bind_check<P: PreBind>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    node: sys::berth_slot,
    flags: *mut u32,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        Ok(match this.policy.pre_bind_check(&Cycle::new(cycle, &this.asked), node)? {
            PreBindPart::Skips => sys::BERTH_SKIP,
            PreBindPart::Acts => sys::BERTH_OK,
            PreBindPart::ActsInParallel => {
                *flags |= sys::BERTH_PRE_BIND_PARALLEL;
                sys::BERTH_OK
            }
        })
    })
}
unsafe fn bind_call<P>(
    this: &Instance<P>,
    cycle: *mut sys::berth_cycle_v1,
    call: *mut sys::berth_bind_call_v1,
    note: *mut sys::berth_note_v1,
    body: impl FnOnce(&Cycle<'_>, &mut BindCall<'_>) -> Result<Verdict, Error>,
) -> u32 {
    guarded(note, || {
        let asked: &Arc<Asked> = &this.asked;
        let mut call = BindCall::new(call, asked);
        let said = caught(|| body(&Cycle::new(cycle, asked), &mut call));
        Ok(match call.end(said)? {
            Some(verdict) => finish(&verdict, note),
            None => sys::BERTH_ASYNC,
        })
    })
}
unsafe extern "C" fn pre_bind<P: PreBind>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    call: *mut sys::berth_bind_call_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    let this = instance::<P>(this);
    bind_call(this, cycle, call, note, |cycle, call| this.policy.pre_bind(cycle, call))
}
unsafe extern "C" fn bind<P: Bind>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    call: *mut sys::berth_bind_call_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    let this = instance::<P>(this);
    bind_call(this, cycle, call, note, |cycle, call| this.policy.bind(cycle, call))
}
unsafe extern "C" fn post_bind<P: PostBind>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    call: *const sys::berth_bind_call_v1,
) {
    let this = instance::<P>(this);
    let node = crate::abi::text((*call).node_name);
    log_failure(&this.asked, "post_bind", caught(|| this.policy.post_bind(&Cycle::new(cycle, &this.asked), node)));
}

// --- requeue and groups ---

unsafe extern "C" fn hint<P: Hint>(
    this: *mut c_void,
    event: *const sys::berth_event_v1,
    pods: *const *const sys::berth_pod_v1,
    count: u32,
    queue: *mut u64,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        let raw = &*event;
        let asked = &this.asked;
        let row = |block: *const sys::berth_node_block_v1| (!block.is_null()).then(|| Row { block: Block::new(block, asked, 0) });
        let pod = |pod: *const sys::berth_pod_v1| (!pod.is_null()).then(|| Pod::new(pod, asked, SHOWN_TO_QUEUE));
        let event = Event {
            interest: raw.interest,
            kind: raw.resource,
            actions: raw.actions,
            old_node: row(raw.old_node),
            new_node: row(raw.new_node),
            old_pod: pod(raw.old_pod),
            new_pod: pod(raw.new_pod),
            old_object: Object::new(raw.old_object),
            new_object: Object::new(raw.new_object),
        };
        for (i, &waiting) in slice(pods, u64::from(count)).iter().enumerate() {
            if this.policy.hint(&event, Pod::new(waiting, asked, SHOWN_TO_QUEUE))? {
                *queue.add(i / 64) |= 1 << (i % 64);
            }
        }
        Ok(sys::BERTH_OK)
    })
}
unsafe extern "C" fn group_of<P: Group>(
    this: *mut c_void,
    pod: *const sys::berth_pod_v1,
    name: *mut sys::berth_str,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        *name = borrow(this.policy.group_of(Pod::new(pod, &this.asked, SHOWN_TO_QUEUE))?);
        Ok(sys::BERTH_OK)
    })
}
unsafe extern "C" fn quorum<P: Group>(
    this: *mut c_void,
    pod: *const sys::berth_pod_v1,
    out: *mut sys::berth_quorum_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let this = instance::<P>(this);
        Ok(match this.policy.quorum(Pod::new(pod, &this.asked, SHOWN_TO_QUEUE))? {
            Ok(quorum) => {
                (*out).needed = quorum.needed;
                (*out).hold_ms = quorum.hold_ms;
                sys::BERTH_OK
            }
            Err(verdict) => finish(&verdict, note),
        })
    })
}

// --- what a policy has ---

pub type PreEnqueueFn = unsafe extern "C" fn(*mut c_void, *const sys::berth_queue_pod_v1, *mut sys::berth_note_v1) -> u32;
pub type KeyFn = unsafe extern "C" fn(*mut c_void, *const sys::berth_queue_pod_v1, *mut u64, *mut sys::berth_note_v1) -> u32;
pub type LessFn = unsafe extern "C" fn(*mut c_void, *const sys::berth_queue_pod_v1, *const sys::berth_queue_pod_v1) -> i32;
pub type PreFilterFn =
    unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *mut sys::berth_prepare_out_v1, *mut sys::berth_note_v1) -> u32;
pub type PreScoreFn =
    unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *const sys::berth_slot, u32, *mut sys::berth_note_v1) -> u32;
pub type WhatIfFn =
    unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *const sys::berth_pod_v1, sys::berth_slot, *mut sys::berth_note_v1) -> u32;
pub type CheckFn =
    unsafe extern "C" fn(*mut c_void, *const sys::berth_cycle_v1, sys::berth_slot, *mut u32, *mut sys::berth_note_v1) -> u32;
pub type BindFn =
    unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *mut sys::berth_bind_call_v1, *mut sys::berth_note_v1) -> u32;
pub type PostBindFn = unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *const sys::berth_bind_call_v1);
pub type HintFn = unsafe extern "C" fn(
    *mut c_void,
    *const sys::berth_event_v1,
    *const *const sys::berth_pod_v1,
    u32,
    *mut u64,
    *mut sys::berth_note_v1,
) -> u32;

macro_rules! offers {
    ($($name:ident: $type:ty = none;)*) => {
        /// What a policy does not have. Its constants stand behind those of [`Probe`], which apply where P has the trait.
        pub trait NotOffered {
            $(#[allow(missing_docs)] const $name: Option<$type> = None;)*
            #[allow(missing_docs)]
            const PREPARE_FLAGS: u32 = 0;
            #[allow(missing_docs)]
            const SCORE_FLAGS: u32 = 0;
            #[allow(missing_docs)]
            const KEY_WORDS: u32 = 0;
        }
        impl<P> NotOffered for Probe<P> {}
    };
}
offers! {
    PRE_ENQUEUE: PreEnqueueFn = none;
    KEY: KeyFn = none;
    LESS: LessFn = none;
    PRE_FILTER: PreFilterFn = none;
    PRE_SCORE: PreScoreFn = none;
    POD_ADDED: WhatIfFn = none;
    POD_REMOVED: WhatIfFn = none;
    FILTER: &'static sys::berth_filter_ops_v1 = none;
    SCORE: &'static sys::berth_score_ops_v1 = none;
    POST_FILTER: &'static sys::berth_post_filter_ops_v1 = none;
    RESERVE: &'static sys::berth_reserve_ops_v1 = none;
    PERMIT: &'static sys::berth_permit_ops_v1 = none;
    PRE_BIND_CHECK: CheckFn = none;
    PRE_BIND: BindFn = none;
    BIND: BindFn = none;
    POST_BIND: PostBindFn = none;
    HINT: HintFn = none;
    GROUP: &'static sys::berth_group_ops_v1 = none;
    FILTER_COLUMNS: domains::ColumnsFn = none;
    FILTER_GROUPS: domains::FilterGroupsFn = none;
    SCORE_COLUMNS: domains::ScoreColumnsFn = none;
    SCORE_GROUPS: domains::ScoreGroupsFn = none;
}
#[allow(missing_docs)]
impl<P: PreEnqueue> Probe<P> {
    pub const PRE_ENQUEUE: Option<PreEnqueueFn> = Some(pre_enqueue::<P>);
}
#[allow(missing_docs)]
impl<P: QueueSort> Probe<P> {
    pub const KEY: Option<KeyFn> = Some(key::<P>);
    pub const KEY_WORDS: u32 = P::KEY_WORDS;
}
#[allow(missing_docs)]
impl<P: QueueLess> Probe<P> {
    pub const LESS: Option<LessFn> = Some(less::<P>);
}
#[allow(missing_docs)]
impl<P: PreFilter> Probe<P> {
    pub const PRE_FILTER: Option<PreFilterFn> = Some(pre_filter::<P>);
    pub const PREPARE_FLAGS: u32 = if P::SKIP_SCORES_ZERO { sys::BERTH_PREPARE_SKIP_SCORES_ZERO } else { 0 };
}
#[allow(missing_docs)]
impl<P: PreScore> Probe<P> {
    pub const PRE_SCORE: Option<PreScoreFn> = Some(pre_score::<P>);
    pub const SCORE_FLAGS: u32 = if P::WITHOUT_NODES { sys::BERTH_PREPARE_SCORE_WITHOUT_NODES } else { 0 };
}
#[allow(missing_docs)]
impl<P: WhatIf> Probe<P> {
    pub const POD_ADDED: Option<WhatIfFn> = Some(pod_added::<P>);
    pub const POD_REMOVED: Option<WhatIfFn> = Some(pod_removed::<P>);
}
#[allow(missing_docs)]
impl<P: Filter> Probe<P> {
    pub const FILTER: Option<&'static sys::berth_filter_ops_v1> = Some(&Self::FILTER_OPS);
    const FILTER_OPS: sys::berth_filter_ops_v1 = sys::berth_filter_ops_v1 {
        struct_size: size::<sys::berth_filter_ops_v1>(),
        flags: if P::RECORDS { sys::BERTH_FILTER_RECORDS } else { 0 },
        filter: Some(filter::<P>),
        budget_ns: Some(budget_ns::<P>),
        deps: <P as Filter>::DEPS.0,
        reserved: 0,
    };
}
#[allow(missing_docs)]
impl<P: Score> Probe<P> {
    pub const SCORE: Option<&'static sys::berth_score_ops_v1> = Some(&Self::SCORE_OPS);
    const SCORE_OPS: sys::berth_score_ops_v1 = sys::berth_score_ops_v1 {
        struct_size: size::<sys::berth_score_ops_v1>(),
        normalize_kind: P::NORMALIZE.raw(),
        score: Some(score::<P>),
        normalize: if P::NORMALIZE.raw() == sys::BERTH_NORM_CUSTOM { Some(normalize::<P>) } else { None },
        deps: <P as Score>::DEPS.0,
        reserved: 0,
    };
}
#[allow(missing_docs)]
impl<P: PostFilter> Probe<P> {
    pub const POST_FILTER: Option<&'static sys::berth_post_filter_ops_v1> = Some(&sys::berth_post_filter_ops_v1 {
        struct_size: size::<sys::berth_post_filter_ops_v1>(),
        flags: 0,
        post_filter: Some(post_filter::<P>),
    });
}
#[allow(missing_docs)]
impl<P: Reserve> Probe<P> {
    pub const RESERVE: Option<&'static sys::berth_reserve_ops_v1> = Some(&sys::berth_reserve_ops_v1 {
        struct_size: size::<sys::berth_reserve_ops_v1>(),
        flags: 0,
        reserve: Some(reserve::<P>),
        unreserve: Some(unreserve::<P>),
    });
}
#[allow(missing_docs)]
impl<P: Permit> Probe<P> {
    pub const PERMIT: Option<&'static sys::berth_permit_ops_v1> = Some(&sys::berth_permit_ops_v1 {
        struct_size: size::<sys::berth_permit_ops_v1>(),
        flags: 0,
        permit: Some(permit::<P>),
    });
}
#[allow(missing_docs)]
impl<P: PreBind> Probe<P> {
    pub const PRE_BIND_CHECK: Option<CheckFn> = Some(pre_bind_check::<P>);
    pub const PRE_BIND: Option<BindFn> = Some(pre_bind::<P>);
}
#[allow(missing_docs)]
impl<P: Bind> Probe<P> {
    pub const BIND: Option<BindFn> = Some(bind::<P>);
}
#[allow(missing_docs)]
impl<P: PostBind> Probe<P> {
    pub const POST_BIND: Option<PostBindFn> = Some(post_bind::<P>);
}
#[allow(missing_docs)]
impl<P: Hint> Probe<P> {
    pub const HINT: Option<HintFn> = Some(hint::<P>);
}
#[allow(missing_docs)]
impl<P: Group> Probe<P> {
    pub const GROUP: Option<&'static sys::berth_group_ops_v1> = Some(&sys::berth_group_ops_v1 {
        struct_size: size::<sys::berth_group_ops_v1>(),
        flags: 0,
        group_of: Some(group_of::<P>),
        quorum: Some(quorum::<P>),
    });
}

#[allow(missing_docs)]
impl<P: FilterDomains> Probe<P> {
    pub const FILTER_COLUMNS: Option<domains::ColumnsFn> = Some(domains::filter_columns::<P>);
    pub const FILTER_GROUPS: Option<domains::FilterGroupsFn> = Some(domains::filter_groups::<P>);
}
#[allow(missing_docs)]
impl<P: ScoreDomains> Probe<P> {
    pub const SCORE_COLUMNS: Option<domains::ScoreColumnsFn> = Some(domains::score_columns::<P>);
    pub const SCORE_GROUPS: Option<domains::ScoreGroupsFn> = Some(domains::score_groups::<P>);
}

/// The tables of points that several traits fill.
pub const fn queue_ops(
    pre_enqueue: Option<PreEnqueueFn>,
    key: Option<KeyFn>,
    key_words: u32,
    less: Option<LessFn>,
) -> sys::berth_queue_ops_v1 {
    assert!(key.is_none() || (key_words >= 1 && key_words <= 4), "KEY_WORDS is 1 to 4");
    sys::berth_queue_ops_v1 { struct_size: size::<sys::berth_queue_ops_v1>(), key_words, key, less, pre_enqueue }
}
/// Likewise.
pub const fn prepare_ops(
    flags: u32,
    pre_filter: Option<PreFilterFn>,
    pre_score: Option<PreScoreFn>,
    pod_added: Option<WhatIfFn>,
    pod_removed: Option<WhatIfFn>,
) -> sys::berth_prepare_ops_v1 {
    sys::berth_prepare_ops_v1 {
        struct_size: size::<sys::berth_prepare_ops_v1>(),
        flags,
        pre_filter,
        pre_score,
        state_clone: if pod_added.is_some() { Some(state_clone) } else { None },
        state_free: Some(state_free),
        pod_added,
        pod_removed,
    }
}
/// Likewise.
pub const fn bind_ops(
    pre_bind_check: Option<CheckFn>,
    pre_bind: Option<BindFn>,
    bind: Option<BindFn>,
    post_bind: Option<PostBindFn>,
) -> sys::berth_bind_ops_v1 {
    sys::berth_bind_ops_v1 { struct_size: size::<sys::berth_bind_ops_v1>(), flags: 0, pre_bind_check, pre_bind, bind, post_bind }
}
