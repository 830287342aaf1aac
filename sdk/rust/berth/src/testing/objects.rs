// SPDX-License-Identifier: Apache-2.0
//! Watched objects and assumptions about them: berth.objects/1 and berth.assume/1.
use super::*;
use crate::{FieldValue, Json};

type Fields = BTreeMap<String, (i64, String)>; // by path
type Key = (String, String, String); // resource, namespace, name
/// What the fake host knows of objects.
#[derive(Default)]
pub(super) struct Objects {
    watches: Vec<(String, Vec<String>)>, // resource, paths
    actual: BTreeMap<Key, (u64, Fields)>,
    assumed: BTreeMap<Key, Fields>,
    version: u64,
}
impl Objects {
    fn key(&self, watch: u32, namespace: sys::berth_str, name: sys::berth_str) -> Option<Key> {
        let (resource, _) = self.watches.get(watch as usize)?;
        Some((resource.clone(), unsafe { text(namespace) }.to_string(), unsafe { text(name) }.to_string()))
    }
    /// The values of the watch's fields.
    fn values(&self, watch: u32, fields: &Fields) -> Vec<Option<(i64, String)>> {
        self.watches[watch as usize].1.iter().map(|path| fields.get(path).cloned()).collect()
    }
    /// An object with its version, as it is shown, or as it is.
    fn find(&self, key: &Key, actual: bool) -> Option<(u64, Fields)> {
        let (version, fields) = self.actual.get(key)?;
        let assumed = if actual { None } else { self.assumed.get(key) };
        Some((*version, assumed.unwrap_or(fields).clone()))
    }
}
/// No lock is held: `look` may call the host.
fn show<R>(key: &Key, version: u64, values: &[Option<(i64, String)>], look: impl FnOnce(*const sys::berth_object_v1) -> R) -> R {
    let raw: Vec<_> = values
        .iter()
        .map(|value| {
            let (number, said) = value.as_ref().map_or((0, ""), |(number, said)| (*number, said.as_str()));
            sys::berth_value_v1 { type_: u32::from(value.is_some()), present: u32::from(value.is_some()), number, text: borrow(said) }
        })
        .collect();
    look(&sys::berth_object_v1 {
        struct_size: size::<sys::berth_object_v1>(),
        value_count: raw.len() as u32,
        ns: borrow(&key.1),
        name: borrow(&key.2),
        uid: borrow(""),
        version,
        values: raw.as_ptr(),
    })
}
unsafe extern "C" fn watch(
    ctx: *mut c_void,
    resource: sys::berth_str,
    fields: *const sys::berth_field_v1,
    count: u32,
    out: *mut u32,
    _: *mut sys::berth_note_v1,
) -> u32 {
    let paths = crate::abi::slice(fields, u64::from(count)).iter().map(|field| text(field.path).to_string()).collect();
    let objects = &mut host(ctx).memory().objects;
    objects.watches.push((text(resource).to_string(), paths));
    *out = objects.watches.len() as u32 - 1;
    sys::BERTH_OK
}
type Use = Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_object_v1)>;
unsafe fn look_at(ctx: *mut c_void, watch: u32, ns: sys::berth_str, name: sys::berth_str, actual: bool, look: Use, arg: *mut c_void) -> u32 {
    let found = {
        let objects = &host(ctx).memory().objects;
        let key = objects.key(watch, ns, name);
        key.and_then(|key| objects.find(&key, actual).map(|(version, fields)| (key, version, objects.values(watch, &fields))))
    };
    match (found, look) {
        (Some((key, version, values)), Some(look)) => {
            show(&key, version, &values, |raw| look(arg, raw));
            sys::BERTH_OK
        }
        _ => sys::BERTH_NOT_FOUND,
    }
}
unsafe extern "C" fn get(ctx: *mut c_void, watch: u32, ns: sys::berth_str, name: sys::berth_str, look: Use, arg: *mut c_void) -> u32 {
    look_at(ctx, watch, ns, name, false, look, arg)
}
unsafe extern "C" fn actual(ctx: *mut c_void, watch: u32, ns: sys::berth_str, name: sys::berth_str, look: Use, arg: *mut c_void) -> u32 {
    look_at(ctx, watch, ns, name, true, look, arg)
}
unsafe extern "C" fn each(
    ctx: *mut c_void,
    watch: u32,
    ns: sys::berth_str,
    visit: Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_object_v1) -> u32>,
    arg: *mut c_void,
) {
    let all: Vec<_> = {
        let objects = &host(ctx).memory().objects;
        let resource = objects.watches.get(watch as usize).map_or("", |(resource, _)| resource.as_str());
        let of_it = objects.actual.keys().filter(|key| key.0 == resource && (text(ns).is_empty() || key.1 == text(ns)));
        let shown = |key: &Key| objects.find(key, false).map(|(version, fields)| (key.clone(), version, objects.values(watch, &fields)));
        of_it.filter_map(shown).collect()
    };
    for (key, version, values) in &all {
        if visit.map_or(true, |visit| show(key, *version, values, |raw| visit(arg, raw)) == 0) {
            return;
        }
    }
}
unsafe extern "C" fn epoch(ctx: *mut c_void, _: u32) -> u64 {
    host(ctx).memory().objects.version
}
pub(super) static OBJECTS: sys::berth_objects_v1 = sys::berth_objects_v1 {
    struct_size: size::<sys::berth_objects_v1>(),
    reserved: 0,
    watch: Some(watch),
    get: Some(get),
    each: Some(each),
    epoch: Some(epoch),
    changes: None,
};

// --- berth.assume/1 ---

unsafe extern "C" fn assume(
    ctx: *mut c_void,
    watch: u32,
    ns: sys::berth_str,
    name: sys::berth_str,
    version: u64,
    values: *const sys::berth_value_v1,
    count: u32,
    _: *mut sys::berth_note_v1,
) -> u32 {
    let objects = &mut host(ctx).memory().objects;
    let key = match objects.key(watch, ns, name).filter(|key| objects.actual.contains_key(key)) {
        Some(key) => key,
        None => return sys::BERTH_NOT_FOUND,
    };
    if objects.actual[&key].0 != version {
        return sys::BERTH_UNSCHEDULABLE;
    }
    let paths = objects.watches[watch as usize].1.clone();
    let values = crate::abi::slice(values, u64::from(count)).iter();
    let present = paths.into_iter().zip(values).filter(|(_, value)| value.present != 0);
    let fields = present.map(|(path, value)| (path, (value.number, text(value.text).to_string()))).collect();
    objects.assumed.insert(key, fields);
    sys::BERTH_OK
}
unsafe extern "C" fn forget(ctx: *mut c_void, watch: u32, ns: sys::berth_str, name: sys::berth_str) {
    let objects = &mut host(ctx).memory().objects;
    if let Some(key) = objects.key(watch, ns, name) {
        objects.assumed.remove(&key);
    }
}
unsafe extern "C" fn assume_written(ctx: *mut c_void, watch: u32, json: sys::berth_str, _: *mut sys::berth_note_v1) -> u32 {
    let said = |of: &Json, path: &str| path.split('.').try_fold(of.clone(), |of, name| of.at(name).map(|found| found.clone()));
    let word = |of: &Json, path: &str| said(of, path).and_then(|found| found.text().map(str::to_string)).unwrap_or_default();
    let json = match Json::parse(text(json), "object") {
        Ok(json) => json,
        Err(_) => return sys::BERTH_BAD_ARGS,
    };
    let objects = &mut host(ctx).memory().objects;
    let (namespace, name) = (word(&json, "metadata.namespace"), word(&json, "metadata.name"));
    let key = match objects.key(watch, borrow(&namespace), borrow(&name)).filter(|key| objects.actual.contains_key(key)) {
        Some(key) => key,
        None => return sys::BERTH_NOT_FOUND,
    };
    // Of the fake host: the version of an object that was put is its resourceVersion.
    if word(&json, "metadata.resourceVersion").parse().unwrap_or(0) < objects.actual[&key].0 {
        return sys::BERTH_UNSCHEDULABLE;
    }
    let paths = objects.watches[watch as usize].1.clone();
    let value = |path: String| {
        let found = said(&json, &path).ok()?;
        Some((path, (found.integer().unwrap_or(0), found.text().unwrap_or("").to_string())))
    };
    let fields = paths.into_iter().filter_map(value).collect();
    objects.assumed.insert(key, fields);
    sys::BERTH_OK
}
pub(super) static ASSUME: sys::berth_assume_v1 = sys::berth_assume_v1 {
    struct_size: size::<sys::berth_assume_v1>(),
    reserved: 0,
    assume: Some(assume),
    forget: Some(forget),
    actual: Some(actual),
    assume_written: Some(assume_written),
};

impl Policy {
    /// The watch of that resource delivers an object; what is assumed about it ends. Answers its version.
    pub fn put_object(&self, resource: &str, namespace: &str, name: &str, fields: &[(&str, FieldValue<'_>)]) -> u64 {
        let objects = &mut self.host.memory().objects;
        objects.version += 1;
        let key = (resource.to_string(), namespace.to_string(), name.to_string());
        let fields = fields.iter().map(|(path, value)| (path.to_string(), (value.number, value.text.to_string()))).collect();
        objects.assumed.remove(&key);
        let version = objects.version;
        objects.actual.insert(key, (version, fields));
        version
    }
}
