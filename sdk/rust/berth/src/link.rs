// SPDX-License-Identifier: Apache-2.0
//! The way from an instance to its host. Services hold it for as long as they like: once the instance is destroyed the gate is
//! closed, and every call answers an error instead of reaching a host that has forgotten the instance.
use crate::instance::Asked;
use crate::Error;
use berth_sys as sys;
use std::ffi::CString;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

static NUMBERS: AtomicU64 = AtomicU64::new(1);

pub struct Link {
    pub(crate) number: u64, // tells instances of this process apart
    host: sys::berth_host_v1,
    closed: AtomicBool,
    inside: AtomicUsize, // calls that are under way
    asked: Mutex<Option<Arc<Asked>>>, // from the end of create() to close()
}

// The host's table may be used from any thread; what a function allows on which thread, it checks itself.
unsafe impl Send for Link {}
unsafe impl Sync for Link {}

impl Link {
    /// Requires: `host` is valid until close() has returned.
    pub(crate) unsafe fn new(host: *const sys::berth_host_v1) -> Link {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Link { number, host: *host, closed: AtomicBool::new(false), inside: AtomicUsize::new(0), asked: Mutex::new(None) }
    }
    pub(crate) fn abi_minor(&self) -> u16 {
        self.host.abi_minor
    }
    pub(crate) fn score_max(&self) -> i64 {
        self.host.score_max
    }
    /// A service's table, which lives as long as the process.
    pub(crate) fn table<T>(&self, id: &'static str) -> Option<&'static T> {
        let id = CString::new(id).ok()?;
        self.enter(|ctx| {
            let service = self.host.service?;
            unsafe { (service(ctx, id.as_ptr()) as *const T).as_ref() }
        })
        .ok()
        .flatten()
    }
    /// Calls the host while the gate is open.
    pub(crate) fn enter<R>(&self, call: impl FnOnce(*mut c_void) -> R) -> Result<R, Error> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let _leaves = Leaves(&self.inside);
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::of(sys::BERTH_DENIED, "the instance is destroyed"));
        }
        Ok(call(self.host.ctx))
    }
    pub(crate) fn set_asked(&self, asked: Option<Arc<Asked>>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    }
    /// What pods and nodes that services show are judged by.
    pub(crate) fn asked(&self) -> Result<Arc<Asked>, Error> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        asked.ok_or_else(|| Error::new("pods and nodes are shown from the end of new() to the end of the instance"))
    }
    /// Nobody gets in any more. Waits for calls of other threads that are inside, which are short; 10 s at most, since a
    /// scheduler has to end.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.set_asked(None);
        for _ in 0..10_000 {
            if self.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct Leaves<'a>(&'a AtomicUsize);
impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
