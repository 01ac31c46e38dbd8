//! Recorded connections of a kernel, judged in each way.

use ecnlab_scenario::kernel::{Way, judge};

pub fn case(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for &way in Way::ALL {
        match judge(text, way) {
            Ok(verdict) => assert!(verdict.agreed <= verdict.packets, "{verdict:?}"),
            Err(why) => assert!(!why.is_empty(), "a case is refused without a reason"),
        }
    }
}
