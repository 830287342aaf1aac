// SPDX-License-Identifier: Apache-2.0
//! The C ABI of berth's plugins: every struct, constant and function type of `berth/plugin.h`, under its C name.
//!
//! `bindings.rs` is generated from the headers when the SDK is built. Here stands what a generator cannot know: which descriptors
//! threads may share, and the identity note of the file.
//!
//! Functions are `Option<unsafe extern "C" fn>`: NULL is `None`. Of the host's tables no function is NULL unless its header says so.
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod bindings;

pub use bindings::*;

/// Of a pod without status.startTime. A macro of the header that the generator cannot read.
pub const BERTH_NOT_STARTED: i64 = i64::MAX;

// Descriptors are constant and point to constants: any thread may read them.
unsafe impl Sync for berth_point_v1 {}
unsafe impl Sync for berth_reason_text_v1 {}
unsafe impl Sync for berth_plugin_v1 {}
unsafe impl Sync for berth_library_v1 {}
unsafe impl Sync for berth_requeue_ops_v1 {}

/// What `berth_library_v1.plugins` points to.
#[repr(transparent)]
pub struct PluginList<const N: usize>(pub [*const berth_plugin_v1; N]);
unsafe impl<const N: usize> Sync for PluginList<N> {}

/// A text of a descriptor: `c_text!("example.com/A")` is a `*const c_char` that ends with NUL.
#[macro_export]
macro_rules! c_text {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const ::std::os::raw::c_char
    };
}

/// The note in the ELF file, which is judged before any code runs: a `#[used]` static in `#[link_section = ".note.berth"]`.
#[repr(C, align(4))]
pub struct ElfNote<const N: usize> {
    name_size: u32,
    desc_size: u32,
    kind: u32,
    owner: [u8; 8],
    major: u16,
    minor_built: u16,
    minor_required: u16,
    data_model: u16,
    text: [u8; N],
}

impl<const N: usize> ElfNote<N> {
    /// `text`: "key=value" strings, each with its NUL (abi/note.h). N: `note_size(text)`. `minor_required`: the oldest minor of a
    /// host that the plugin can work with.
    pub const fn new(text: &[u8], minor_required: u16) -> Self {
        let mut padded = [0; N];
        let mut i = 0;
        while i < text.len() {
            padded[i] = text[i];
            i += 1;
        }
        ElfNote {
            name_size: BERTH_NOTE_OWNER.len() as u32,
            desc_size: 8 + text.len() as u32,
            kind: BERTH_NOTE_TYPE,
            owner: *b"berth\0\0\0",
            major: BERTH_ABI_MAJOR as u16,
            minor_built: BERTH_ABI_MINOR as u16,
            minor_required,
            data_model: BERTH_DATA_MODEL as u16,
            text: padded,
        }
    }
}

/// The length of a note's text, padded.
pub const fn note_size(text: &[u8]) -> usize {
    (text.len() + 3) / 4 * 4
}
