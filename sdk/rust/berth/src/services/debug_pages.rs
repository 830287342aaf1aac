// SPDX-License-Identifier: Apache-2.0
//! What a plugin knows, for people ("berth.debug_pages/1").
use super::*;
use crate::abi::guarded;

/// The page that is written for one request. Lives for the call.
pub struct Page<'a> {
    append: sys::berth_page_append_v1,
    out: *mut c_void,
    call: std::marker::PhantomData<&'a ()>,
}
impl Page<'_> {
    /// The next piece of it. An error: the page is longer than 64 MiB, or memory is short; write no more.
    pub fn append(&mut self, text: &str) -> Result<(), Error> {
        let append = self.append.ok_or_else(|| Error::new("the host takes no page"))?;
        taken(unsafe { append(self.out, borrow(text)) }, "the page is too long")
    }
}
pub(crate) type Write = Box<dyn Fn(&mut Page<'_>) -> Result<(), Error> + Send + Sync>;
/// Requires: `arg` is a Write that the tasks of the instance keep.
unsafe extern "C" fn write(
    arg: *mut c_void,
    append: sys::berth_page_append_v1,
    out: *mut c_void,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let write = &*(arg as *const Write);
        write(&mut Page { append, out, call: std::marker::PhantomData }).map(|()| sys::BERTH_OK)
    })
}

/// A page below /debug/, where the host's own pages are.
#[derive(Clone)]
pub struct DebugPages {
    link: Arc<Link>,
    table: &'static sys::berth_debug_pages_v1,
    tasks: Arc<Tasks>,
}
impl Service for DebugPages {
    const ID: &'static str = "berth.debug_pages/1";
    type Table = sys::berth_debug_pages_v1;
    fn of(link: &Arc<Link>, table: &'static Self::Table, tasks: &Arc<Tasks>) -> Self {
        DebugPages { link: link.clone(), table, tasks: tasks.clone() }
    }
}
impl DebugPages {
    /// Serves /debug/NAME: a lower-case letter, then at most 62 of a-z, 0-9 and "-". `write` appends one JSON value for each request,
    /// called from any thread, several at a time, until the end of the instance; what it answers as an error, and a panic, is shown
    /// instead. The page of the plugin's first instance is served; later ones are answered true and not asked. False: the name is
    /// taken by another. In [`Plugin::new`](crate::Plugin::new) only. \[load\]
    pub fn offer(&self, name: &str, write_page: impl Fn(&mut Page<'_>) -> Result<(), Error> + Send + Sync + 'static) -> Result<bool, Error> {
        let page: Box<Write> = Box::new(Box::new(write_page));
        let arg = &*page as *const Write as *mut c_void;
        // Kept whatever the host answers: it may be called from now on.
        self.tasks.keep(page);
        match host!(self.offer(borrow(name), Some(write), arg))? {
            sys::BERTH_OK => Ok(true),
            sys::BERTH_CONFLICT => Ok(false),
            code => Err(Error::of(code, format!("the host takes no page of the name {:?}: code {}", name, code))),
        }
    }
}
