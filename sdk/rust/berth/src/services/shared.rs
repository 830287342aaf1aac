// SPDX-License-Identifier: Apache-2.0
//! One value for all instances of a plugin ("berth.shared/1").
use super::*;
use std::any::Any;

type Value = Arc<dyn Any + Send + Sync>;
struct Maker<F> {
    make: Option<F>,
    failed: Option<Error>,
}
unsafe extern "C" fn make<T: Send + Sync + 'static, F: FnOnce() -> Result<T, Error>>(arg: *mut c_void) -> *mut c_void {
    let maker = &mut *(arg as *mut Maker<F>);
    let make = maker.make.take();
    match crate::abi::caught(|| make.map_or(Err(Error::new("a shared value is made once")), |make| make())) {
        Ok(value) => {
            let value: Value = Arc::new(value);
            Box::into_raw(Box::new(value)) as *mut c_void
        }
        Err(error) => {
            maker.failed = Some(error);
            std::ptr::null_mut()
        }
    }
}
/// Requires: `value` is of `make`.
unsafe extern "C" fn destroy(value: *mut c_void) {
    let _ = crate::abi::caught(|| {
        drop(Box::from_raw(value as *mut Value));
        Ok(())
    });
}

service!(/// For caches of what does not depend on args, and for tables that must know of every pod. Plugins do not see each other's values.
    Shared, berth_shared_v1, "berth.shared/1");
impl Shared {
    /// The value under that key, made by the first instance of the plugin that asks. All instances and their threads reach it, so it has
    /// locks of its own. The host's share of it ends after the last instance; the value lives until the last `Arc` of it is dropped. Services
    /// that `make` puts into it are the first instance's, and answer errors after its end. An error of `make`, and a key under which a
    /// value of another type is kept, are the error of the call. In [`Plugin::new`](crate::Plugin::new) only. \[load\]
    pub fn get<T: Send + Sync + 'static, F: FnOnce() -> Result<T, Error>>(&self, key: &str, make_it: F) -> Result<Arc<T>, Error> {
        let mut maker = Maker { make: Some(make_it), failed: None };
        let arg = &mut maker as *mut Maker<F> as *mut c_void;
        let found = host!(self.get(borrow(key), Some(make::<T, F>), arg, Some(destroy)))?;
        if let Some(error) = maker.failed {
            return Err(error);
        }
        let value = unsafe { (found as *const Value).as_ref() }
            .ok_or_else(|| Error::new(format!("the host keeps no shared value {:?}", key)))?;
        value.clone().downcast().map_err(|_| Error::new(format!("the shared value {:?} is of another type", key)))
    }
}
