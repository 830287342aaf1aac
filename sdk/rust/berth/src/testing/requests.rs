// SPDX-License-Identifier: Apache-2.0
//! What a policy asks of the cluster, keeps for its other instances and shows to people: berth.object_writes/1, berth.shared/1 and
//! berth.debug_pages/1.
use super::*;

// --- berth.object_writes/1 ---

/// A request that was not answered yet.
pub(super) struct Asked {
    what: String,
    done: unsafe extern "C" fn(*mut c_void, *const sys::berth_object_answer_v1),
    arg: usize,
}
unsafe fn take(
    ctx: *mut c_void,
    verb: &str,
    object: *const sys::berth_object_ref_v1,
    body: sys::berth_str,
    done: sys::berth_object_done_v1,
    arg: *mut c_void,
) -> u32 {
    let object = &*object;
    let resource = text(object.resource);
    let (is_pod, subresource) = (resource == "core/v1/pods", text(object.subresource));
    let done = match done {
        Some(done) if !resource.is_empty() && !(is_pod && (verb != "patch" || subresource != "status")) => done,
        _ => return sys::BERTH_BAD_ARGS,
    };
    let slash = if subresource.is_empty() { "" } else { "/" };
    let what = format!("{} {}{}{} {}/{} {}", verb, resource, slash, subresource, text(object.ns), text(object.name), text(body));
    host(ctx).memory().asked.push(Asked { what: what.trim_end().to_string(), done, arg: arg as usize });
    sys::BERTH_OK
}
macro_rules! request {
    ($name:ident, $verb:literal) => {
        unsafe extern "C" fn $name(
            ctx: *mut c_void,
            object: *const sys::berth_object_ref_v1,
            body: sys::berth_str,
            done: sys::berth_object_done_v1,
            arg: *mut c_void,
        ) -> u32 {
            take(ctx, $verb, object, body, done, arg)
        }
    };
}
request!(create, "create");
request!(update, "update");
request!(remove, "delete");
unsafe extern "C" fn patch(
    ctx: *mut c_void,
    object: *const sys::berth_object_ref_v1,
    _: u32,
    body: sys::berth_str,
    done: sys::berth_object_done_v1,
    arg: *mut c_void,
) -> u32 {
    take(ctx, "patch", object, body, done, arg)
}
unsafe extern "C" fn read(
    ctx: *mut c_void,
    object: *const sys::berth_object_ref_v1,
    done: sys::berth_object_done_v1,
    arg: *mut c_void,
) -> u32 {
    take(ctx, "get", object, borrow(""), done, arg)
}
pub(super) static OBJECT_WRITES: sys::berth_object_writes_v1 = sys::berth_object_writes_v1 {
    struct_size: size::<sys::berth_object_writes_v1>(),
    reserved: 0,
    create: Some(create),
    update: Some(update),
    patch: Some(patch),
    remove: Some(remove),
    read: Some(read),
};

// --- berth.shared/1 ---

type Destroy = unsafe extern "C" fn(*mut c_void);
/// Values of a plugin by key, until the last of its instances is gone.
#[derive(Default)]
pub(super) struct SharedValues {
    values: Mutex<Vec<(String, usize, Option<Destroy>)>>,
}
impl SharedValues {
    fn find(&self, key: &str) -> Option<usize> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.iter().find(|(each, _, _)| each == key).map(|&(_, value, _)| value)
    }
}
impl Drop for SharedValues {
    fn drop(&mut self) {
        for (_, value, destroy) in self.values.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(destroy) = destroy {
                unsafe { destroy(value as *mut c_void) };
            }
        }
    }
}
unsafe extern "C" fn get(
    ctx: *mut c_void,
    key: sys::berth_str,
    make: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    arg: *mut c_void,
    destroy: Option<Destroy>,
) -> *mut c_void {
    let (shared, key) = (&host(ctx).shared, text(key));
    if let Some(value) = shared.find(key) {
        return value as *mut c_void;
    }
    let value = make.map_or(std::ptr::null_mut(), |make| make(arg)); // may call the host: no lock is held
    if !value.is_null() {
        shared.values.lock().unwrap_or_else(PoisonError::into_inner).push((key.to_string(), value as usize, destroy));
    }
    value
}
pub(super) static SHARED: sys::berth_shared_v1 =
    sys::berth_shared_v1 { struct_size: size::<sys::berth_shared_v1>(), reserved: 0, get: Some(get) };

// --- berth.debug_pages/1 ---

type WritePage = unsafe extern "C" fn(*mut c_void, sys::berth_page_append_v1, *mut c_void, *mut sys::berth_note_v1) -> u32;
pub(super) struct OfferedPage {
    name: String,
    write: WritePage,
    arg: usize,
}
unsafe extern "C" fn offer(ctx: *mut c_void, name: sys::berth_str, write: Option<WritePage>, arg: *mut c_void) -> u32 {
    let name = text(name).to_string();
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 63
        && name.bytes().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == b'-');
    let mut memory = host(ctx).memory();
    match write {
        Some(write) if is_name => {
            if memory.pages.iter().any(|page| page.name == name) {
                return sys::BERTH_CONFLICT;
            }
            memory.pages.push(OfferedPage { name, write, arg: arg as usize });
            sys::BERTH_OK
        }
        _ => sys::BERTH_BAD_ARGS,
    }
}
pub(super) static DEBUG_PAGES: sys::berth_debug_pages_v1 =
    sys::berth_debug_pages_v1 { struct_size: size::<sys::berth_debug_pages_v1>(), reserved: 0, offer: Some(offer) };

impl Policy {
    /// Requests about objects that were not answered yet, the oldest first: "create example.com/v1/widgets shop/w {…}".
    pub fn requests(&self) -> Vec<String> {
        self.host.memory().asked.iter().map(|asked| asked.what.clone()).collect()
    }
    /// The API server answers the oldest of them: with the object, or with a refusal. False: there is none.
    pub fn answer(&self, answer: Result<&str, crate::Refusal<'_>>) -> bool {
        let oldest = {
            let mut memory = self.host.memory();
            if memory.asked.is_empty() { None } else { Some(memory.asked.remove(0)) }
        };
        let asked = match oldest {
            Some(asked) => asked,
            None => return false,
        };
        let (code, said, json) = match answer {
            Ok(json) => (sys::BERTH_OK, "", json),
            Err(refusal @ crate::Refusal::Conflict(_)) => (sys::BERTH_CONFLICT, refusal.text(), ""),
            Err(refusal @ crate::Refusal::NotFound(_)) => (sys::BERTH_NOT_FOUND, refusal.text(), ""),
            Err(refusal) => (sys::BERTH_ERROR, refusal.text(), ""),
        };
        let struct_size = size::<sys::berth_object_answer_v1>();
        let raw = sys::berth_object_answer_v1 { struct_size, code, text: borrow(said), json: borrow(json) };
        unsafe { (asked.done)(asked.arg as *mut c_void, &raw) };
        true
    }
    /// What /debug/NAME shows; an error is its text. None: the policy has no such page.
    pub fn page(&self, name: &str) -> Option<Result<String, String>> {
        unsafe extern "C" fn append(out: *mut c_void, piece: sys::berth_str) -> u32 {
            (*(out as *mut String)).push_str(text(piece));
            sys::BERTH_OK
        }
        let (write, arg) = self.host.memory().pages.iter().find(|page| page.name == name).map(|page| (page.write, page.arg))?;
        let (mut out, mut note) = (String::new(), Note::new());
        let code = unsafe { write(arg as *mut c_void, Some(append), &mut out as *mut String as *mut c_void, &mut note.raw) };
        Some(if code == sys::BERTH_OK { Ok(out) } else { Err(note.said()) })
    }
}
