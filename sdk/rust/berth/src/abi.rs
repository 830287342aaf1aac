// SPDX-License-Identifier: Apache-2.0
//! The edge of the C ABI: borrowed texts and arrays, notes, and the barrier that no panic crosses. Private: everything here is
//! unsafe for those who do not keep what the headers ask of them.
use crate::{Error, Verdict, Why};
use berth_sys as sys;
use std::any::Any;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What a host hands over may be read for as long as the call.
pub(crate) unsafe fn text<'a>(raw: sys::berth_str) -> &'a str {
    std::str::from_utf8(slice(raw.ptr as *const u8, raw.len)).unwrap_or("")
}
pub(crate) fn borrow(text: &str) -> sys::berth_str {
    sys::berth_str { ptr: text.as_ptr() as *const c_char, len: text.len() as u64 }
}
/// NULL is an empty array.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: u64) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(first, count as usize)
}
pub(crate) unsafe fn slice_mut<'a, T>(first: *mut T, count: u64) -> &'a mut [T] {
    if first.is_null() || count == 0 {
        return &mut [];
    }
    std::slice::from_raw_parts_mut(first, count as usize)
}
/// `struct_size` of T.
pub(crate) const fn size<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

unsafe fn write_text(note: *mut sys::berth_note_v1, text: &str) {
    if let Some(note) = note.as_mut() {
        let mut fits = text.len().min(note.text_cap as usize);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        if !note.text.is_null() {
            std::ptr::copy_nonoverlapping(text.as_ptr() as *const c_char, note.text, fits);
        }
        // A host reads text_cap bytes of a text that is longer: the rest of a character that was cut must not be left undefined.
        if fits < text.len() && !note.text.is_null() {
            std::ptr::write_bytes(note.text.add(fits), b' ', note.text_cap as usize - fits);
        }
        note.text_len = text.len() as u64;
    }
}

/// What a C function answers for a verdict; the note has its reason and text then.
pub(crate) unsafe fn finish(verdict: &Verdict, note: *mut sys::berth_note_v1) -> u32 {
    match verdict.why() {
        Some(Why::Reason(reason)) => {
            if let Some(note) = note.as_mut() {
                note.reason = reason.0;
            }
        }
        Some(Why::Text(text)) => write_text(note, text),
        None => {}
    }
    verdict.code()
}

pub(crate) fn text_of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}

/// Runs what the plugin does in a call: neither an error nor a panic crosses into the host, they are the call's text.
pub(crate) fn caught<T>(body: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            let error = Error::new(text_of_panic(&*panic));
            // A payload that panics when it is dropped must not get out either.
            if catch_unwind(AssertUnwindSafe(|| drop(panic))).is_err() {
                return Err(Error::new("panicked: twice"));
            }
            Err(error)
        }
    }
}

/// The same for C functions with a note. The codes of load time mean nothing after it.
pub(crate) unsafe fn guarded(note: *mut sys::berth_note_v1, body: impl FnOnce() -> Result<u32, Error>) -> u32 {
    match caught(body) {
        Ok(code) => code,
        Err(error) => {
            write_text(note, error.text());
            sys::BERTH_ERROR
        }
    }
}
pub(crate) unsafe fn guarded_load(note: *mut sys::berth_note_v1, body: impl FnOnce() -> Result<u32, Error>) -> u32 {
    match caught(body) {
        Ok(code) => code,
        Err(error) => {
            write_text(note, error.text());
            error.code()
        }
    }
}

/// A note of 256 bytes for a host function to explain itself in.
pub(crate) struct NoteBuffer {
    text: [u8; 256],
}
impl NoteBuffer {
    pub(crate) fn new() -> NoteBuffer {
        NoteBuffer { text: [0; 256] }
    }
    /// Calls with the note; an answer other than OK becomes an error with the host's sentence behind `what`.
    pub(crate) fn explain(&mut self, what: &str, call: impl FnOnce(*mut sys::berth_note_v1) -> u32) -> Result<(), Error> {
        let mut note = sys::berth_note_v1 {
            struct_size: size::<sys::berth_note_v1>(),
            reason: 0,
            text: self.text.as_mut_ptr() as *mut c_char,
            text_cap: self.text.len() as u64,
            text_len: 0,
        };
        let code = call(&mut note);
        if code == sys::BERTH_OK {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&self.text[..(note.text_len as usize).min(self.text.len())]).into_owned();
        Err(Error::of(code, if said.is_empty() { format!("{}: code {}", what, code) } else { format!("{}: {}", what, said) }))
    }
}

/// Carries a closure through a C callback, and its panic back to the caller's side of the host's frames.
pub(crate) struct Visitor<F> {
    visit: F,
    failed: Option<Error>,
}
impl<F> Visitor<F> {
    pub(crate) fn new(visit: F) -> Visitor<F> {
        Visitor { visit, failed: None }
    }
    pub(crate) fn arg(&mut self) -> *mut c_void {
        self as *mut Visitor<F> as *mut c_void
    }
    /// Once the closure has failed it is not called again. 1: go on.
    pub(crate) unsafe fn run(arg: *mut c_void, call: impl FnOnce(&mut F) -> Result<bool, Error>) -> u32 {
        let this = &mut *(arg as *mut Visitor<F>);
        if this.failed.is_some() {
            return 0;
        }
        match caught(|| call(&mut this.visit)) {
            Ok(go_on) => u32::from(go_on),
            Err(error) => {
                this.failed = Some(error);
                0
            }
        }
    }
    /// The closure, with what it keeps, and what went wrong.
    pub(crate) fn into_parts(self) -> (F, Option<Error>) {
        (self.visit, self.failed)
    }
    pub(crate) fn end(self) -> Result<(), Error> {
        self.failed.map_or(Ok(()), Err)
    }
}
