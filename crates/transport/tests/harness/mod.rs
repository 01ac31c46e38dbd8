//! A small network for tests: one sender, one receiver, a scripted path, and a record of the run.

// Each test binary uses only a part of it.
#![allow(dead_code)]

pub mod cases;
pub mod network;
pub mod oracle;
pub mod path;
pub mod record;
pub mod show;

use ecnlab_units::{Span, Time};

pub fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}
