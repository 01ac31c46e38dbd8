//! Laws that several AQMs share: when to signal, told apart from what a signal does.

pub mod pi;
pub mod red;
