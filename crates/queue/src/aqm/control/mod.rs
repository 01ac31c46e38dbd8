//! Control laws that several AQMs share: when to signal, apart from the effect of a signal.

pub mod adaptive;
pub(crate) mod adaptive_max_p;
pub(crate) mod linux_red_ewma;
pub mod pi;
pub mod red;
