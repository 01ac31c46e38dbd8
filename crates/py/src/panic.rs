//! A panic of the engine is a fault of ours, not of the user's scenario: it is caught, kept as text and told as an exception.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static TOLD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Lets a panic inside [`caught`] leave its text there instead of on standard error. Other panics are told as ever.
pub fn install() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |told| {
        if WATCHED.get() {
            TOLD.set(Some(told.to_string().replace('\n', " ")));
        } else {
            usual(told);
        }
    }));
}

/// Does the work.
///
/// # Errors
/// If it panics: where and why.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = WATCHED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    WATCHED.set(before);
    outcome.map_err(|_| TOLD.take().unwrap_or_default())
}
