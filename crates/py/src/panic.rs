//! Panics of the engine, which are bugs and not errors of a scenario. They are caught and raised as exceptions with their text.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC_TEXT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook that keeps the text of a panic inside [`catch_panic`]. Other panics are printed as usual.
pub fn install_hook() {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if IS_CATCHING.get() {
            PANIC_TEXT.set(Some(info.to_string().replace('\n', " ")));
        } else {
            default_hook(info);
        }
    }));
}

/// Runs `work` and catches its panic.
///
/// # Errors
/// If it panics: the location and the message.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let was_catching = IS_CATCHING.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CATCHING.set(was_catching);
    outcome.map_err(|_| PANIC_TEXT.take().unwrap_or_default())
}
