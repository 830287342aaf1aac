// SPDX-License-Identifier: Apache-2.0
//! Watched objects as if they were already written ("berth.assume/1").
use super::*;

/// What came of an assumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assumed {
    /// [`Objects::get`] and [`Objects::each`] show it from now on.
    Done,
    /// Another version of the object is there; nothing has changed. Read it, and decide again.
    OutOfSync,
    /// The watch knows no such object.
    NotFound,
}
service!(/// Shows a watched object as it will be once a write of this policy is through, until the watch delivers another version of it.
    Assume, berth_assume_v1, "berth.assume/1");
impl Assume {
    fn answer(what: &str, call: impl FnOnce(*mut sys::berth_note_v1) -> Result<u32, Error>) -> Result<Assumed, Error> {
        let mut answer = sys::BERTH_OK;
        NoteBuffer::new().explain(what, |note| {
            answer = call(note).unwrap_or(sys::BERTH_DENIED);
            if answer == sys::BERTH_UNSCHEDULABLE || answer == sys::BERTH_NOT_FOUND { sys::BERTH_OK } else { answer }
        })?;
        Ok(match answer {
            sys::BERTH_OK => Assumed::Done,
            sys::BERTH_NOT_FOUND => Assumed::NotFound,
            _ => Assumed::OutOfSync,
        })
    }
    /// Values of all fields of the watch, in their order; none: the object lacks the field. `version` is [`Object::version`] of the
    /// object that was read. \[cycle\] \[binder\]
    pub fn assume(
        &self,
        watch: Watch,
        namespace: &str,
        name: &str,
        version: u64,
        values: &[Option<FieldValue<'_>>],
    ) -> Result<Assumed, Error> {
        let values: Vec<_> = values
            .iter()
            .map(|value| sys::berth_value_v1 {
                type_: 0,
                present: u32::from(value.is_some()),
                number: value.map_or(0, |value| value.number),
                text: borrow(value.map_or("", |value| value.text)),
            })
            .collect();
        Assume::answer("cannot assume an object", |note| {
            host!(self.assume(watch.0, borrow(namespace), borrow(name), version, values.as_ptr(), values.len() as u32, note))
        })
    }
    /// The whole object as a write of [`ObjectWrites`] answered with it, until the watch delivers that metadata.resourceVersion or a
    /// later one. \[cycle\] \[binder\]
    pub fn assume_written(&self, watch: Watch, json: &str) -> Result<Assumed, Error> {
        Assume::answer("cannot assume an object", |note| host!(self.assume_written(watch.0, borrow(json), note)))
    }
    /// Back to what the cluster says; nothing where nothing was assumed. \[any\]
    pub fn forget(&self, watch: Watch, namespace: &str, name: &str) -> Result<(), Error> {
        host!(self.forget(watch.0, borrow(namespace), borrow(name)))
    }
    /// As [`Objects::get`], but what the cluster says, whatever is assumed. \[any\]
    pub fn actual<R>(&self, watch: Watch, namespace: &str, name: &str, look: impl FnOnce(Object<'_>) -> R) -> Result<Option<R>, Error> {
        look_at(look, |call, arg| host!(self.actual(watch.0, borrow(namespace), borrow(name), Some(call), arg)))
    }
}
