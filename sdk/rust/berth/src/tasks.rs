// SPDX-License-Identifier: Apache-2.0
//! Work on the host's threads ("berth.executor/1").
use crate::abi::caught;
use crate::link::Link;
use crate::services::{write_log, Severity};
use crate::Error;
use berth_sys as sys;
use std::any::Any;
use std::collections::HashMap;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

type Body = Box<dyn FnMut() -> Result<(), Error> + Send>;

/// One task. The table keeps it while the host may call it; the host drops those that wait when the instance is destroyed.
struct Cell {
    id: u64,
    is_periodic: bool,
    body: Mutex<Option<Body>>,
    tasks: Weak<Tasks>,
    link: Arc<Link>,
}

/// The tasks of one instance that have not ended, and what else the host may call until the end of the instance.
#[derive(Default)]
pub struct Tasks {
    cells: Mutex<HashMap<u64, Arc<Cell>>>,
    next: AtomicU64,
    kept: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tasks {
    fn add(self: &Arc<Self>, link: &Arc<Link>, is_periodic: bool, body: Body) -> Arc<Cell> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let cell = Arc::new(Cell { id, is_periodic, body: Mutex::new(Some(body)), tasks: Arc::downgrade(self), link: link.clone() });
        locked(&self.cells).insert(id, cell.clone());
        cell
    }
    fn remove(&self, id: u64) {
        let gone = locked(&self.cells).remove(&id);
        drop(gone); // what a task holds may take locks of its own
    }
    /// When the host calls none of them any more.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *locked(&self.cells));
        drop(gone);
        let kept = std::mem::take(&mut *locked(&self.kept));
        drop(kept);
    }
    /// The host has its address.
    pub(crate) fn keep<T: Send + Sync + 'static>(&self, it: Box<T>) {
        locked(&self.kept).push(it);
    }
    pub(crate) fn count(&self) -> usize {
        locked(&self.cells).len() + locked(&self.kept).len()
    }
}

/// Requires: `arg` is a cell of a table that is not cleared yet.
unsafe extern "C" fn run(arg: *mut c_void) {
    Arc::increment_strong_count(arg as *const Cell);
    let cell = Arc::from_raw(arg as *const Cell);
    let done = caught(|| {
        let mut body = locked(&cell.body);
        match body.as_mut() {
            Some(body) => body(),
            None => Ok(()),
        }
    });
    if let Err(error) = done {
        let _ = caught(|| write_log(&cell.link, Severity::Error, "a task failed", &[("error", error.text())]));
    }
    if !cell.is_periodic {
        let _ = caught(|| {
            drop(locked(&cell.body).take());
            if let Some(tasks) = cell.tasks.upgrade() {
                tasks.remove(cell.id);
            }
            Ok(())
        });
    }
    let _ = caught(|| {
        drop(cell);
        Ok(())
    });
}

/// Tasks on the host's threads. While the instance is destroyed and afterwards none of it runs. Times are virtual where the clock
/// is. What a task answers as an error, and a panic, is logged.
#[derive(Clone)]
pub struct Executor {
    pub(crate) link: Arc<Link>,
    pub(crate) table: &'static sys::berth_executor_v1,
    pub(crate) tasks: Arc<Tasks>,
}

/// A task that may be cancelled.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    id: u64,
    handle: u64,
    is_periodic: bool,
}

impl Executor {
    fn once(task: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Body {
        let mut task = Some(task);
        Box::new(move || task.take().map_or(Ok(()), |task| task()))
    }
    /// As soon as a thread is free.
    pub fn submit(&self, task: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
        let submit = self.table.submit.ok_or_else(|| Error::new("the host has no submit"))?;
        let cell = self.tasks.add(&self.link, false, Self::once(task));
        let arg = Arc::as_ptr(&cell) as *mut c_void;
        self.taken(&cell, self.link.enter(|ctx| unsafe { submit(ctx, Some(run), arg) }))
    }
    /// Once, so long from now. It may not run any more when berth ends.
    pub fn after(&self, delay_ms: u32, task: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<Task, Error> {
        self.start(delay_ms, 0, Self::once(task))
    }
    /// Every period, first after one. In [`Plugin::new`](crate::Plugin::new) only.
    pub fn every(&self, period_ms: u32, task: impl FnMut() -> Result<(), Error> + Send + 'static) -> Result<Task, Error> {
        if period_ms == 0 {
            return Err(Error::new("a period of 0 ms"));
        }
        self.start(period_ms, period_ms, Box::new(task))
    }
    /// Calls `body` for each number below `count`, possibly at the same time; returns when all are done. The first error, or panic, is
    /// that of the call; calls that have not begun then are left out. \[cycle\] \[binder\]
    pub fn parallel_for(&self, count: u32, body: impl Fn(u32) -> Result<(), Error> + Sync) -> Result<(), Error> {
        struct Each<F> {
            body: F,
            failed: Mutex<Option<Error>>,
            has_failed: AtomicBool,
        }
        unsafe extern "C" fn call<F: Fn(u32) -> Result<(), Error> + Sync>(arg: *mut c_void, i: u32) {
            let each = &*(arg as *const Each<F>);
            if each.has_failed.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = caught(|| (each.body)(i)) {
                each.has_failed.store(true, Ordering::Relaxed);
                locked(&each.failed).get_or_insert(error);
            }
        }
        fn pointer<F: Fn(u32) -> Result<(), Error> + Sync>(_: &Each<F>) -> unsafe extern "C" fn(*mut c_void, u32) {
            call::<F>
        }
        let parallel_for = self.table.parallel_for.ok_or_else(|| Error::new("the host has no parallel_for"))?;
        let each = Each { body, failed: Mutex::new(None), has_failed: AtomicBool::new(false) };
        let (call, arg) = (pointer(&each), &each as *const _ as *mut c_void);
        self.link.enter(|ctx| unsafe { parallel_for(ctx, count, Some(call), arg) })?;
        each.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
    /// True: the task does not begin any more. A call that is under way is not waited for.
    pub fn cancel(&self, task: Task) -> Result<bool, Error> {
        let cancel = self.table.cancel.ok_or_else(|| Error::new("the host has no cancel"))?;
        let code = self.link.enter(|ctx| unsafe { cancel(ctx, task.handle) })?;
        // A call of a periodic one may be under way: it is kept to the end of the instance.
        if code == sys::BERTH_OK && !task.is_periodic {
            self.tasks.remove(task.id);
        }
        Ok(code == sys::BERTH_OK)
    }
    fn start(&self, delay_ms: u32, period_ms: u32, body: Body) -> Result<Task, Error> {
        let start = self.table.start.ok_or_else(|| Error::new("the host has no start"))?;
        let cell = self.tasks.add(&self.link, period_ms != 0, body);
        let arg = Arc::as_ptr(&cell) as *mut c_void;
        let mut handle = 0;
        self.taken(&cell, self.link.enter(|ctx| unsafe { start(ctx, delay_ms, period_ms, Some(run), arg, &mut handle) }))?;
        Ok(Task { id: cell.id, handle, is_periodic: period_ms != 0 })
    }
    fn taken(&self, cell: &Cell, code: Result<u32, Error>) -> Result<(), Error> {
        match code {
            Ok(code) if code == sys::BERTH_OK => Ok(()),
            Ok(code) => {
                self.tasks.remove(cell.id);
                Err(Error::of(code, format!("the host did not take the task: code {}", code)))
            }
            Err(error) => {
                self.tasks.remove(cell.id);
                Err(error)
            }
        }
    }
}
