// SPDX-License-Identifier: Apache-2.0
//! A binding in progress: answered in the call, or later from any thread.
use crate::abi::{borrow, text, Visitor};
use crate::instance::Asked;
use crate::nodes::{Block, Row};
use crate::{Error, Verdict, Why};
use berth_sys as sys;
use std::os::raw::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// The call of pre_bind or bind; ends with it.
pub struct BindCall<'a> {
    raw: &'a sys::berth_bind_call_v1,
    asked: &'a Arc<Asked>,
    later: Option<Arc<Answer>>,
}

/// The host's call, until it is answered: once, by whoever comes first.
struct Answer {
    call: Mutex<Option<HostCall>>,
    asked: Arc<Asked>,
}
struct HostCall(*const sys::berth_bind_call_v1);
// The call may be used from any thread until complete() was called.
unsafe impl Send for HostCall {}

impl Answer {
    /// Calls with what the host gave, unless the answer was given.
    fn with<R>(&self, body: impl FnOnce(&sys::berth_bind_call_v1) -> R) -> Option<R> {
        let call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        let call = call.as_ref()?;
        self.asked.link.enter(|_| body(unsafe { &*call.0 })).ok()
    }
    fn take(&self) -> Option<HostCall> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    fn complete(&self, code: u32, said: &str) {
        if let Some(call) = self.take() {
            let _ = self.asked.link.enter(|_| unsafe {
                if let Some(complete) = (*call.0).complete {
                    complete((*call.0).ctx, code, borrow(said));
                }
            });
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.complete(sys::BERTH_ERROR, "the plugin dropped the binding without an answer");
    }
}

impl<'a> BindCall<'a> {
    pub(crate) unsafe fn new(raw: *const sys::berth_bind_call_v1, asked: &'a Arc<Asked>) -> BindCall<'a> {
        BindCall { raw: &*raw, asked, later: None }
    }
    /// The node that the pod was reserved on.
    pub fn node_name(&self) -> &'a str {
        unsafe { text(self.raw.node_name) }
    }
    /// Gives the answer away: what the call returns then is not looked at, unless it is an error, which is the answer.
    pub fn later(&mut self) -> Completion {
        let asked = self.asked.clone();
        let raw = self.raw as *const sys::berth_bind_call_v1;
        let answer = self.later.get_or_insert_with(|| Arc::new(Answer { call: Mutex::new(Some(HostCall(raw))), asked }));
        Completion { answer: answer.clone(), node_name: unsafe { text(self.raw.node_name) }.to_string() }
    }
    /// Shows the node as it is now; none if there is no such node. An error after `later`, when the call may be over any time.
    pub fn node<R>(&self, look: impl FnOnce(Row<'_>) -> Result<R, Error>) -> Result<Option<R>, Error> {
        if self.later.is_some() {
            return Err(Error::new("looks at the node of a binding whose answer it has given away"));
        }
        look_at_node(self.raw, self.asked, look)
    }
    /// What the C function answers: whether the answer comes later, which an error takes back.
    pub(crate) fn end(self, result: Result<Verdict, Error>) -> Result<Option<Verdict>, Error> {
        let answer = match self.later {
            None => return result.map(Some),
            Some(answer) => answer,
        };
        match result {
            Ok(_) => Ok(None),
            // Answered already: the first answer counts.
            Err(error) => answer.take().map_or(Ok(None), |_| Err(error)),
        }
    }
}

struct Look<'a, F, R> {
    look: Option<F>,
    answer: Option<R>,
    asked: &'a Asked,
}
unsafe extern "C" fn shown<R, F: FnOnce(Row<'_>) -> Result<R, Error>>(arg: *mut c_void, row: *const sys::berth_node_block_v1) {
    Visitor::<Look<'_, F, R>>::run(arg, |this| {
        if let Some(look) = this.look.take() {
            this.answer = Some(look(Row { block: Block::new(row, this.asked, 0) })?);
        }
        Ok(true)
    });
}
fn look_at_node<R, F: FnOnce(Row<'_>) -> Result<R, Error>>(
    call: &sys::berth_bind_call_v1,
    asked: &Asked,
    look: F,
) -> Result<Option<R>, Error> {
    let node = call.node.ok_or_else(|| Error::new("the host shows no node here"))?;
    let mut visitor = Visitor::new(Look { look: Some(look), answer: None, asked });
    let code = unsafe { node(call.ctx, Some(shown::<R, F>), visitor.arg()) };
    let (look, failed) = visitor.into_parts();
    match failed {
        Some(error) => Err(error),
        None => Ok(if code == sys::BERTH_OK { look.answer } else { None }),
    }
}

/// The answer to a binding that is given later: once, from any thread. Dropped without one, it is an error of the attempt, so that no
/// binding waits for ever.
pub struct Completion {
    answer: Arc<Answer>,
    node_name: String,
}
impl Completion {
    /// The node that the pod was reserved on.
    pub fn node_name(&self) -> &str {
        &self.node_name
    }
    /// The pod was preempted, or berth shuts down: give up and answer.
    pub fn is_cancelled(&self) -> bool {
        self.answer.with(|call| call.cancelled.map_or(false, |cancelled| unsafe { cancelled(call.ctx) } != 0)).unwrap_or(true)
    }
    /// False when the pod was deleted, or replaced under its name.
    pub fn pod_exists(&self) -> bool {
        self.answer.with(|call| call.pod_exists.map_or(true, |exists| unsafe { exists(call.ctx) } != 0)).unwrap_or(false)
    }
    /// Answers. A reason of the table has no meaning any more; say a sentence.
    pub fn complete(self, result: Result<Verdict, Error>) {
        match result {
            Ok(verdict) => {
                let said = match verdict.why() {
                    Some(Why::Text(said)) => said.as_str(),
                    _ => "",
                };
                self.answer.complete(verdict.code(), said);
            }
            Err(error) => self.answer.complete(sys::BERTH_ERROR, error.text()),
        }
    }
}
