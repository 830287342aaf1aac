// SPDX-License-Identifier: Apache-2.0
//! From a policy to its descriptor and its identity note, all of it by the compiler: nothing runs when the file is loaded.
use crate::entries::{create, destroy};
use crate::points::{Interest, Plugin};
use crate::{minors, ReasonText};
use berth_sys as sys;
use std::os::raw::{c_char, c_void};

/// A point with its table. The id ends with NUL.
#[derive(Clone, Copy)]
pub struct Point {
    pub id: &'static str,
    pub ops: *const c_void,
}
/// Points that a policy may offer: one of each.
pub const POINTS_MAX: usize = 11;

/// What descriptor and note are made of.
#[derive(Clone, Copy)]
pub struct About {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    args_schema: Option<&'static str>,
    reasons: &'static [ReasonText],
    services: &'static [&'static str],
    watches: &'static [&'static str],
    rbac: &'static [&'static str],
    points: [Option<Point>; POINTS_MAX],
    isa: &'static str,
    pub minor_required: u16,
}

const fn max(a: u16, b: u16) -> u16 {
    if a > b { a } else { b }
}

impl About {
    /// The points in the order of an attempt.
    pub const fn of<P: Plugin>(points: [Option<Point>; POINTS_MAX], filter_deps: u32, score_deps: u32, isa: &'static str) -> About {
        let mut minor = P::MINOR_REQUIRED;
        assert!(minor <= sys::BERTH_ABI_MINOR as u16, "MINOR_REQUIRED is newer than the SDK");
        let mut any = false;
        let mut i = 0;
        while i < POINTS_MAX {
            if let Some(point) = points[i] {
                minor = max(minor, minors::of_id_with_nul(point.id));
                any = true;
            }
            i += 1;
        }
        assert!(any, "a policy offers at least one extension point: it implements one of the traits of the points");
        i = 0;
        while i < P::SERVICES.len() {
            minor = max(minor, minors::of_id(P::SERVICES[i]));
            i += 1;
        }
        i = 0;
        while i < P::INTERESTS.len() {
            minor = max(minor, minors::of_kind(P::INTERESTS[i].0.resource));
            i += 1;
        }
        minor = max(minor, max(minors::of_deps(P::DEPS.0), max(minors::of_deps(filter_deps), minors::of_deps(score_deps))));
        About {
            name: P::NAME,
            version: P::VERSION,
            summary: P::SUMMARY,
            args_schema: P::ARGS_SCHEMA,
            reasons: P::REASONS,
            services: P::SERVICES,
            watches: P::WATCHES,
            rbac: P::RBAC,
            points,
            isa,
            minor_required: minor,
        }
    }
}

/// Bytes that are written one after the other.
struct Writer<const N: usize> {
    out: [u8; N],
    at: usize,
}
impl<const N: usize> Writer<N> {
    const fn text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            assert!(bytes[i] != 0, "a text of the descriptor has a NUL in it");
            self.out[self.at] = bytes[i];
            self.at += 1;
            i += 1;
        }
        self
    }
    const fn end(mut self) -> Self {
        self.at += 1; // what is there is 0
        self
    }
}

/// The texts of a descriptor, each with its NUL: name, version, summary, schema, reasons, services.
pub const fn texts_size(about: &About) -> usize {
    let schema = match about.args_schema {
        Some(schema) => schema.len(),
        None => 0,
    };
    let mut size = about.name.len() + about.version.len() + about.summary.len() + schema + 4;
    let mut i = 0;
    while i < about.reasons.len() {
        size += about.reasons[i].text.len() + about.reasons[i].code.len() + 2;
        i += 1;
    }
    i = 0;
    while i < about.services.len() {
        size += about.services[i].len() + 1;
        i += 1;
    }
    size
}
pub const fn texts<const N: usize>(about: &About) -> [u8; N] {
    let mut writer = Writer { out: [0; N], at: 0 };
    writer = writer.text(about.name).end().text(about.version).end().text(about.summary).end();
    if let Some(schema) = about.args_schema {
        writer = writer.text(schema);
    }
    writer = writer.end();
    let mut i = 0;
    while i < about.reasons.len() {
        writer = writer.text(about.reasons[i].text).end().text(about.reasons[i].code).end();
        i += 1;
    }
    i = 0;
    while i < about.services.len() {
        writer = writer.text(about.services[i]).end();
        i += 1;
    }
    writer.out
}
/// Requires: `texts` is what texts() made, and offset within it.
const fn at(texts: &'static [u8], offset: usize) -> *const c_char {
    assert!(offset < texts.len());
    unsafe { texts.as_ptr().add(offset) as *const c_char }
}
const fn head(about: &About) -> usize {
    let schema = match about.args_schema {
        Some(schema) => schema.len(),
        None => 0,
    };
    about.name.len() + about.version.len() + about.summary.len() + schema + 4
}
/// Entry 0 is unused.
pub const fn reasons<const N: usize>(about: &About, texts: &'static [u8]) -> [sys::berth_reason_text_v1; N] {
    let empty = b"\0".as_ptr() as *const c_char;
    let mut out = [sys::berth_reason_text_v1 { text: empty, code: empty }; N];
    let mut offset = head(about);
    let mut i = 0;
    while i < about.reasons.len() {
        out[i + 1].text = at(texts, offset);
        offset += about.reasons[i].text.len() + 1;
        out[i + 1].code = at(texts, offset);
        offset += about.reasons[i].code.len() + 1;
        i += 1;
    }
    out
}
pub const fn services<const N: usize>(about: &About, texts: &'static [u8]) -> [*const c_char; N] {
    let mut out = [std::ptr::null(); N];
    let mut offset = head(about);
    let mut i = 0;
    while i < about.reasons.len() {
        offset += about.reasons[i].text.len() + about.reasons[i].code.len() + 2;
        i += 1;
    }
    i = 0;
    while i < about.services.len() {
        out[i] = at(texts, offset);
        offset += about.services[i].len() + 1;
        i += 1;
    }
    out
}
/// Those that are offered, first.
pub const fn points(about: &About) -> ([sys::berth_point_v1; POINTS_MAX], u32) {
    let mut out = [sys::berth_point_v1 { id: std::ptr::null(), ops: std::ptr::null() }; POINTS_MAX];
    let mut count = 0;
    let mut i = 0;
    while i < POINTS_MAX {
        if let Some(point) = about.points[i] {
            out[count] = sys::berth_point_v1 { id: point.id.as_ptr() as *const c_char, ops: point.ops };
            count += 1;
        }
        i += 1;
    }
    (out, count as u32)
}
pub const fn requeue_ops(interests: &'static [Interest], hint: Option<crate::entries::HintFn>) -> sys::berth_requeue_ops_v1 {
    let mut i = 0;
    while i < interests.len() {
        assert!(interests[i].0.hinted == 0 || hint.is_some(), "an interest is hinted, and the policy has no Hint");
        i += 1;
    }
    assert!(hint.is_none() || !interests.is_empty(), "a policy with Hint says which events it looks at: INTERESTS");
    sys::berth_requeue_ops_v1 {
        struct_size: crate::abi::size::<sys::berth_requeue_ops_v1>(),
        interest_count: interests.len() as u32,
        interests: interests.as_ptr() as *const sys::berth_interest_v1,
        hint,
    }
}
pub const fn plugin<P: Plugin>(
    about: &About,
    texts: &'static [u8],
    points: &'static ([sys::berth_point_v1; POINTS_MAX], u32),
    reasons: &'static [sys::berth_reason_text_v1],
    services: &'static [*const c_char],
) -> sys::berth_plugin_v1 {
    let version = about.name.len() + 1;
    let summary = version + about.version.len() + 1;
    sys::berth_plugin_v1 {
        struct_size: crate::abi::size::<sys::berth_plugin_v1>(),
        flags: 0,
        name: at(texts, 0),
        version: at(texts, version),
        summary: at(texts, summary),
        args_schema: if about.args_schema.is_some() { at(texts, summary + about.summary.len() + 1) } else { std::ptr::null() },
        points: points.0.as_ptr(),
        reasons: reasons.as_ptr(),
        services: services.as_ptr(),
        point_count: points.1,
        reason_count: reasons.len() as u32,
        service_count: services.len() as u32,
        deps: P::DEPS.0,
        create: Some(create::<P>),
        destroy: Some(destroy::<P>),
    }
}
pub const fn library(plugins: &'static [*const sys::berth_plugin_v1], minor_required: u16) -> sys::berth_library_v1 {
    sys::berth_library_v1 {
        struct_size: crate::abi::size::<sys::berth_library_v1>(),
        abi_minor_built: sys::BERTH_ABI_MINOR as u16,
        abi_minor_required: minor_required,
        plugin_count: plugins.len() as u32,
        reserved: 0,
        plugins: plugins.as_ptr(),
    }
}
pub const fn greatest(minors: &[u16]) -> u16 {
    let mut greatest = 0;
    let mut i = 0;
    while i < minors.len() {
        greatest = max(greatest, minors[i]);
        i += 1;
    }
    greatest
}

const fn entry<const N: usize>(writer: Writer<N>, key: &str, value: &str) -> Writer<N> {
    writer.text(key).text("=").text(value).end()
}
const fn entries<const N: usize>(mut writer: Writer<N>, key: &str, values: &[&str]) -> Writer<N> {
    let mut i = 0;
    while i < values.len() {
        writer = entry(writer, key, values[i]);
        i += 1;
    }
    writer
}
const fn entries_size(key: &str, values: &[&str]) -> usize {
    let mut size = 0;
    let mut i = 0;
    while i < values.len() {
        size += key.len() + values[i].len() + 2;
        i += 1;
    }
    size
}
/// The text of the identity note; see abi/note.h.
pub const fn note_size(about: &About) -> usize {
    let mut size = entries_size("plugin", &[about.name]) + entries_size("version", &[about.version]);
    let mut i = 0;
    while i < POINTS_MAX {
        if let Some(point) = about.points[i] {
            size += "points=".len() + point.id.len();
        }
        i += 1;
    }
    size += entries_size("service", about.services) + entries_size("watch", about.watches) + entries_size("rbac", about.rbac);
    size + "sdk=".len() + sys::BERTH_SDK_VERSION.len() + entries_size("compiler", &["rustc"]) + entries_size("isa", &[about.isa])
}
pub const fn note<const N: usize>(about: &About) -> [u8; N] {
    let mut writer = Writer { out: [0; N], at: 0 };
    writer = entry(entry(writer, "plugin", about.name), "version", about.version);
    let mut i = 0;
    while i < POINTS_MAX {
        if let Some(point) = about.points[i] {
            writer = without_nul(writer.text("points="), point.id.as_bytes()).end();
        }
        i += 1;
    }
    writer = entries(writer, "service", about.services);
    writer = entries(writer, "watch", about.watches);
    writer = entries(writer, "rbac", about.rbac);
    writer = without_nul(writer.text("sdk="), sys::BERTH_SDK_VERSION).end();
    entry(entry(writer, "compiler", "rustc"), "isa", about.isa).out
}
/// A text that ends with NUL, without it.
const fn without_nul<const N: usize>(mut writer: Writer<N>, bytes: &[u8]) -> Writer<N> {
    let mut i = 0;
    while i + 1 < bytes.len() {
        writer.out[writer.at] = bytes[i];
        writer.at += 1;
        i += 1;
    }
    writer
}

/// A policy's descriptor, for [`testing::Policy`](crate::testing::Policy).
#[derive(Clone, Copy)]
pub struct Descriptor {
    #[doc(hidden)]
    pub plugin: &'static sys::berth_plugin_v1,
    #[doc(hidden)]
    pub about: &'static About,
}

/// The [`Descriptor`] of a policy: `berth::describe!(PreferRack)`. What [`export!`](crate::export) gives to berth, for tests.
#[macro_export]
macro_rules! describe {
    ($plugin:ty) => {{
        #[allow(unused_imports)]
        use $crate::detail::NotOffered as _;
        use $crate::detail as d;
        use $crate::detail::sys;
        type Offered = d::Probe<$plugin>;
        const QUEUE: &sys::berth_queue_ops_v1 =
            &d::queue_ops(Offered::PRE_ENQUEUE, Offered::KEY, Offered::KEY_WORDS, Offered::LESS);
        const PREPARE: &sys::berth_prepare_ops_v1 = &d::prepare_ops(
            Offered::PREPARE_FLAGS | Offered::SCORE_FLAGS,
            Offered::PRE_FILTER,
            Offered::PRE_SCORE,
            Offered::POD_ADDED,
            Offered::POD_REMOVED,
        );
        const BIND: &sys::berth_bind_ops_v1 =
            &d::bind_ops(Offered::PRE_BIND_CHECK, Offered::PRE_BIND, Offered::BIND, Offered::POST_BIND);
        const DOMAINS: &sys::berth_domain_ops_v1 =
            &d::domain_ops(Offered::FILTER_COLUMNS, Offered::FILTER_GROUPS, Offered::SCORE_COLUMNS, Offered::SCORE_GROUPS);
        const INTERESTS: &[$crate::Interest] = <$plugin as $crate::Plugin>::INTERESTS;
        const REQUEUE: &sys::berth_requeue_ops_v1 = &d::requeue_ops(INTERESTS, Offered::HINT);
        const FILTER_DEPS: u32 = match Offered::FILTER {
            Some(ops) => ops.deps,
            None => 0,
        };
        const SCORE_DEPS: u32 = match Offered::SCORE {
            Some(ops) => ops.deps,
            None => 0,
        };
        const ISA: &str = if cfg!(all(target_arch = "x86_64", target_feature = "avx2")) {
            "x86-64-v3"
        } else if cfg!(all(target_arch = "x86_64", target_feature = "sse4.2")) {
            "x86-64-v2"
        } else {
            "baseline"
        };
        const ABOUT: &d::About = &d::About::of::<$plugin>(
            [
                d::point_if(
                    Offered::PRE_ENQUEUE.is_some() || Offered::KEY.is_some() || Offered::LESS.is_some(),
                    "berth.queue/1\0",
                    d::address(QUEUE),
                ),
                d::point_if(Offered::PRE_FILTER.is_some() || Offered::PRE_SCORE.is_some(), "berth.prepare/1\0", d::address(PREPARE)),
                d::point("berth.filter/1\0", Offered::FILTER),
                d::point("berth.post_filter/1\0", Offered::POST_FILTER),
                d::point("berth.score/1\0", Offered::SCORE),
                d::point("berth.reserve/1\0", Offered::RESERVE),
                d::point("berth.permit/1\0", Offered::PERMIT),
                d::point_if(
                    Offered::PRE_BIND.is_some() || Offered::BIND.is_some() || Offered::POST_BIND.is_some(),
                    "berth.bind/1\0",
                    d::address(BIND),
                ),
                d::point_if(!INTERESTS.is_empty(), "berth.requeue/1\0", d::address(REQUEUE)),
                d::point("berth.groups/1\0", Offered::GROUP),
                d::point_if(
                    Offered::FILTER_COLUMNS.is_some() || Offered::SCORE_COLUMNS.is_some(),
                    "berth.domains/1\0",
                    d::address(DOMAINS),
                ),
            ],
            FILTER_DEPS,
            SCORE_DEPS,
            ISA,
        );
        const _: () = assert!(
            Offered::POD_ADDED.is_none() || Offered::PRE_FILTER.is_some(),
            "a policy with WhatIf makes its state in pre_filter: it implements PreFilter"
        );
        const TEXTS: &[u8; d::texts_size(ABOUT)] = &d::texts(ABOUT);
        const REASONS: &[sys::berth_reason_text_v1; <$plugin as $crate::Plugin>::REASONS.len() + 1] = &d::reasons(ABOUT, TEXTS);
        const SERVICES: &[*const ::std::os::raw::c_char; <$plugin as $crate::Plugin>::SERVICES.len()] = &d::services(ABOUT, TEXTS);
        const POINTS: &([sys::berth_point_v1; d::POINTS_MAX], u32) = &d::points(ABOUT);
        const PLUGIN: &sys::berth_plugin_v1 = &d::plugin::<$plugin>(ABOUT, TEXTS, POINTS, REASONS, SERVICES);
        $crate::Descriptor { plugin: PLUGIN, about: ABOUT }
    }};
}

/// Once per file, at its end: the entry that berth looks up, and an identity note for each policy.
/// `berth::export!(PreferRack);` or, for several policies in one file, `berth::export!(PreferRack, PreferZone);`
#[macro_export]
macro_rules! export {
    ($($plugin:ty),+ $(,)?) => {
        const _: () = {
            use $crate::detail as d;
            use $crate::detail::sys;
            $(const _: () = {
                const ABOUT: &d::About = $crate::describe!($plugin).about;
                const TEXT: &[u8; d::note_size(ABOUT)] = &d::note(ABOUT);
                #[used]
                #[link_section = ".note.berth"]
                static NOTE: sys::ElfNote<{ sys::note_size(TEXT) }> = sys::ElfNote::new(TEXT, ABOUT.minor_required);
            };)+
            const MINOR: u16 = d::greatest(&[$($crate::describe!($plugin).about.minor_required),+]);
            const PLUGINS: &[*const sys::berth_plugin_v1] = &[$($crate::describe!($plugin).plugin),+];
            static LIBRARY: sys::berth_library_v1 = d::library(PLUGINS, MINOR);
            /// The only symbol that the file exports.
            #[no_mangle]
            pub extern "C" fn berth_library_entry_v1() -> *const sys::berth_library_v1 {
                &LIBRARY
            }
        };
    };
}

/// Of a table that several traits fill.
pub const fn point_if(is_offered: bool, id: &'static str, ops: *const c_void) -> Option<Point> {
    if is_offered { Some(Point { id, ops }) } else { None }
}
pub const fn point<T>(id: &'static str, ops: Option<&'static T>) -> Option<Point> {
    match ops {
        Some(ops) => Some(Point { id, ops: address(ops) }),
        None => None,
    }
}
pub const fn address<T>(ops: &'static T) -> *const c_void {
    ops as *const T as *const c_void
}
