// SPDX-License-Identifier: Apache-2.0
//! API objects that are no pods, written and read through the host's client ("berth.object_writes/1").
use super::*;

/// What a request is about. Borrowed for the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObjectName<'a> {
    /// As in [`Objects::watch`]: "resource.k8s.io/v1/resourceclaims".
    pub resource: &'a str,
    /// Empty for cluster-wide objects.
    pub namespace: &'a str,
    /// Empty: create with the metadata.name or metadata.generateName given.
    pub name: &'a str,
    /// "status", or empty.
    pub subresource: &'a str,
}
/// How a patch is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// RFC 7386.
    Merge,
    /// Kubernetes' own.
    Strategic,
}
/// Why the API server did not do it, in its words. Lives for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// Another version is there: read, and decide again. Nothing is retried.
    Conflict(&'a str),
    /// There is no such object.
    NotFound(&'a str),
    /// Everything else.
    Failed(&'a str),
}
impl<'a> Refusal<'a> {
    /// The server's words.
    pub fn text(&self) -> &'a str {
        match self {
            Refusal::Conflict(text) | Refusal::NotFound(text) | Refusal::Failed(text) => text,
        }
    }
}
impl std::fmt::Display for Refusal<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.text())
    }
}

type Then = Box<dyn FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send>;
struct Request {
    then: Then,
    link: Arc<Link>,
}
/// Requires: `arg` is of Box::into_raw, and this the only call with it.
unsafe extern "C" fn answered(arg: *mut c_void, answer: *const sys::berth_object_answer_v1) {
    let Request { then, link } = *Box::from_raw(arg as *mut Request);
    let answer = &*answer;
    let done = crate::abi::caught(|| {
        then(match answer.code {
            sys::BERTH_OK => Ok(text(answer.json)),
            sys::BERTH_CONFLICT => Err(Refusal::Conflict(text(answer.text))),
            sys::BERTH_NOT_FOUND => Err(Refusal::NotFound(text(answer.text))),
            _ => Err(Refusal::Failed(text(answer.text))),
        })
    });
    if let Err(error) = done {
        let _ = crate::abi::caught(|| write_log(&link, Severity::Error, "the answer to a request failed", &[("error", error.text())]));
    }
}

service!(/// Requests about API objects that are no pods; of pods, patches of the status. Each needs its rule in
    /// [`Plugin::RBAC`](crate::Plugin::RBAC), with "/status" behind it for the subresource.
    ///
    /// `then` gets the object as the server answers with it ("" where it answers without one), or why not: exactly once for a request
    /// that was taken, from any thread, possibly before the call returns. What it answers as an error, and a panic, is logged. A request
    /// that the host does not take is an error of the call, and `then` is dropped. \[cycle\] \[binder\]
    ///
    /// What the server says is there for the call:
    ///
    /// ```compile_fail
    /// # use berth::*;
    /// fn keeps(writes: &ObjectWrites, object: ObjectName<'_>, kept: &'static std::sync::Mutex<&'static str>) -> Result<(), Error> {
    ///     writes.read(object, move |answer| {
    ///         *kept.lock().unwrap() = answer.unwrap_or("");
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ObjectWrites, berth_object_writes_v1, "berth.object_writes/1");
impl ObjectWrites {
    fn send(
        &self,
        object: ObjectName<'_>,
        then: Then,
        call: impl FnOnce(*const sys::berth_object_ref_v1, *mut c_void) -> Result<u32, Error>,
    ) -> Result<(), Error> {
        let about = sys::berth_object_ref_v1 {
            struct_size: size::<sys::berth_object_ref_v1>(),
            reserved: 0,
            resource: borrow(object.resource),
            subresource: borrow(object.subresource),
            ns: borrow(object.namespace),
            name: borrow(object.name),
        };
        let arg = Box::into_raw(Box::new(Request { then, link: self.link.clone() }));
        let refused = match call(&about, arg as *mut c_void) {
            Ok(code) if code == sys::BERTH_OK => return Ok(()),
            Ok(code) => {
                let why = match code {
                    sys::BERTH_DENIED => "the plugin has no right to it, or asks from a thread where it may not".to_string(),
                    sys::BERTH_BAD_ARGS => "it is malformed, or about a pod".to_string(),
                    code => format!("code {}", code),
                };
                let named = if object.name.is_empty() { String::new() } else { format!(" {}", object.name) };
                Error::of(code, format!("the host did not take a request about {}{}: {}", object.resource, named, why))
            }
            Err(error) => error,
        };
        // The host has not called it, and will not.
        drop(unsafe { Box::from_raw(arg) });
        Err(refused)
    }
    /// "create `<group>/<plural>`".
    pub fn create(
        &self,
        object: ObjectName<'_>,
        json: &str,
        then: impl FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.send(object, Box::new(then), |about, arg| host!(self.create(about, borrow(json), Some(answered), arg)))
    }
    /// "update …": replaces the object, or what its subresource covers. metadata.resourceVersion is the version that is replaced:
    /// another one in the cluster is a conflict.
    pub fn update(
        &self,
        object: ObjectName<'_>,
        json: &str,
        then: impl FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.send(object, Box::new(then), |about, arg| host!(self.update(about, borrow(json), Some(answered), arg)))
    }
    /// "patch …". metadata.uid and metadata.resourceVersion in it are preconditions.
    pub fn patch(
        &self,
        object: ObjectName<'_>,
        kind: Patch,
        json: &str,
        then: impl FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let kind = match kind {
            Patch::Merge => sys::BERTH_PATCH_MERGE,
            Patch::Strategic => sys::BERTH_PATCH_STRATEGIC,
        };
        self.send(object, Box::new(then), |about, arg| host!(self.patch(about, kind, borrow(json), Some(answered), arg)))
    }
    /// "delete …". An object with finalizers stays until they are gone.
    pub fn remove(
        &self,
        object: ObjectName<'_>,
        uid: Option<&str>,
        then: impl FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let uid = uid.unwrap_or("");
        self.send(object, Box::new(then), |about, arg| host!(self.remove(about, borrow(uid), Some(answered), arg)))
    }
    /// "get …": what the server has, not what a watch has delivered.
    pub fn read(
        &self,
        object: ObjectName<'_>,
        then: impl FnOnce(Result<&str, Refusal<'_>>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.send(object, Box::new(then), |about, arg| host!(self.read(about, Some(answered), arg)))
    }
}
