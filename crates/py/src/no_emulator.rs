//! Replaces the module `emulator` where there are no kernel hosts: on other systems than Linux, or without the feature of that name.
//! The Python package sees that `EMULATOR` is None, and refuses the backends `live` and `uml` and shells with the reason.

use ecnlab_scenario::{Problem, Scenario};

pub const EMULATOR_SOURCES_DIGEST: Option<&str> = None;
pub const GUEST_SOURCES_DIGEST: Option<&str> = None;

/// None: this build has no backend with kernel hosts.
pub fn refusals(_: &Scenario, _: &str, _: Option<Vec<String>>, _: u32, _: bool) -> Option<Vec<Problem>> {
    None
}
