//! Recorded connections of a kernel, judged in each way.

use std::sync::LazyLock;

use ecnlab_scenario::kernel::{Way, judge};
use serde_json::Value;

use crate::edit::edit;
use crate::input::Input;

/// The beginnings of three cases of the reference.
static CASES: LazyLock<[Value; 3]> = LazyLock::new(|| {
    let cases = [
        include_str!("../../corpus/kernel_case/reno-lastack-lost"),
        include_str!("../../corpus/kernel_case/cubic-delayed-single-segments"),
        include_str!("../../corpus/kernel_case/cubic-request-response"),
    ];
    cases.map(|case| serde_json::from_str(case).expect("a case is JSON"))
});

pub fn prepare() {
    LazyLock::force(&CASES);
}

pub fn case(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        judge_each_way(text);
    }
}

/// A sound case with other values.
pub fn fields(data: &[u8]) {
    let mut input = Input(data);
    let mut case = CASES[input.below(CASES.len())].clone();
    edit(&mut case, &mut input);
    judge_each_way(&case.to_string());
}

fn judge_each_way(text: &str) {
    for &way in Way::ALL {
        match judge(text, way) {
            Ok(verdict) => assert!(verdict.agreed <= verdict.packets, "{verdict:?}"),
            Err(why) => assert!(!why.is_empty(), "a case is refused without a reason"),
        }
    }
}
