// SPDX-License-Identifier: Apache-2.0
//! What went wrong ([`Error`]), and what a policy says about a pod or a node ([`Verdict`], [`Rejection`]). Three things that are never
//! mixed up: a verdict is an answer, an error ends the attempt with its text, and a panic becomes such an error.
use berth_sys as sys;
use std::fmt;

/// Ends the call with a sentence. In [`Plugin::new`](crate::Plugin::new) it stops the start of berth; anywhere else the pod's
/// attempt, which is repeated after the back-off for errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: u32,
    text: String,
}

impl Error {
    /// Something is broken.
    pub fn new(text: impl Into<String>) -> Error {
        Error { code: sys::BERTH_ERROR, text: text.into() }
    }
    /// Args that are well-formed but wrong. Means something in `new` only.
    pub fn bad_args(text: impl Into<String>) -> Error {
        Error { code: sys::BERTH_BAD_ARGS, text: text.into() }
    }
    /// The host lacks something that is needed. Means something in `new` only.
    pub fn too_old(text: impl Into<String>) -> Error {
        Error { code: sys::BERTH_TOO_OLD, text: text.into() }
    }
    /// The sentence.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// `BERTH_*` of `abi/status.h`.
    pub fn code(&self) -> u32 {
        self.code
    }
    pub(crate) fn of(code: u32, text: impl Into<String>) -> Error {
        Error { code, text: text.into() }
    }
}
impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
impl std::error::Error for Error {}
impl From<String> for Error {
    fn from(text: String) -> Error {
        Error::new(text)
    }
}
impl From<&str> for Error {
    fn from(text: &str) -> Error {
        Error::new(text)
    }
}

/// Why a pod or a node is refused: a row of [`Plugin::REASONS`](crate::Plugin::REASONS), or an id that
/// [`Reasons::make`](crate::Reasons::make) gave for this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason(pub(crate) u32);

impl Reason {
    /// No reason is given.
    pub const NONE: Reason = Reason(0);
    /// Row `number` of the plugin's table, counted from 1.
    pub const fn row(number: u32) -> Reason {
        Reason(number)
    }
}

/// A row of [`Plugin::REASONS`](crate::Plugin::REASONS).
#[derive(Debug, Clone, Copy)]
pub struct ReasonText {
    /// For people, counted over nodes: "node(s) had no rack label".
    pub text: &'static str,
    /// For machines: "NoRack".
    pub code: &'static str,
}

impl ReasonText {
    /// The two texts, neither of which has a NUL in it.
    pub const fn new(text: &'static str, code: &'static str) -> ReasonText {
        ReasonText { text, code }
    }
}

/// Why a node is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    pub(crate) reason: Reason,
    pub(crate) unresolvable: bool,
}

impl Rejection {
    /// The node is out, and might be in if pods were evicted from it.
    pub const fn unschedulable(reason: Reason) -> Rejection {
        Rejection { reason, unresolvable: false }
    }
    /// The node is out whatever is evicted: preemption does not look at it.
    pub const fn unresolvable(reason: Reason) -> Rejection {
        Rejection { reason, unresolvable: true }
    }
}

/// A reason of the table, or a sentence of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A row of the table.
    Reason(Reason),
    /// A sentence, cut when the host's buffer is full.
    Text(String),
}
impl From<Reason> for Why {
    fn from(reason: Reason) -> Why {
        Why::Reason(reason)
    }
}
impl From<String> for Why {
    fn from(text: String) -> Why {
        Why::Text(text)
    }
}
impl From<&str> for Why {
    fn from(text: &str) -> Why {
        Why::Text(text.to_string())
    }
}

/// The answer of a point that speaks about the pod. What a point does not take ends the attempt as an error of the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Goes on. Of post_filter: a node was nominated. Of bind: the pod is bound.
    Ok,
    /// This policy takes no part for this pod. Of pre_filter, pre_score, pre_bind_check and bind.
    Skip,
    /// Of permit: the pod keeps its node and waits so long; 15 minutes at most.
    Wait {
        /// When it is over, the pod is rejected.
        timeout_ms: u32,
    },
    /// Not now; evicting pods may help.
    Unschedulable(Why),
    /// Not now; evicting pods cannot help.
    Unresolvable(Why),
    /// As unschedulable; a later hint of this policy takes the pod out of the queue without back-off.
    Pending(Why),
}

impl Verdict {
    /// [`Verdict::Unschedulable`] with a row of the table or a sentence.
    pub fn unschedulable(why: impl Into<Why>) -> Verdict {
        Verdict::Unschedulable(why.into())
    }
    /// [`Verdict::Unresolvable`], likewise.
    pub fn unresolvable(why: impl Into<Why>) -> Verdict {
        Verdict::Unresolvable(why.into())
    }
    /// [`Verdict::Pending`], likewise.
    pub fn pending(why: impl Into<Why>) -> Verdict {
        Verdict::Pending(why.into())
    }
    pub(crate) fn code(&self) -> u32 {
        match self {
            Verdict::Ok => sys::BERTH_OK,
            Verdict::Skip => sys::BERTH_SKIP,
            Verdict::Wait { .. } => sys::BERTH_WAIT,
            Verdict::Unschedulable(_) => sys::BERTH_UNSCHEDULABLE,
            Verdict::Unresolvable(_) => sys::BERTH_UNRESOLVABLE,
            Verdict::Pending(_) => sys::BERTH_PENDING,
        }
    }
    pub(crate) fn why(&self) -> Option<&Why> {
        match self {
            Verdict::Unschedulable(why) | Verdict::Unresolvable(why) | Verdict::Pending(why) => Some(why),
            _ => None,
        }
    }
}
