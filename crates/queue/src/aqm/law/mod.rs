//! Laws that several AQMs share: when to signal, told apart from what a signal does.

pub mod adaptive;
pub mod pi;
pub mod red;
pub(crate) mod steered;
pub(crate) mod tc_red;
