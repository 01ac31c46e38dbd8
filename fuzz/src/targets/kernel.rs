//! Recorded connections of a kernel, judged in each way.

use std::sync::LazyLock;

use ecnlab_scenario::kernel::case::Case;
use ecnlab_scenario::kernel::{Way, judge_case};
use serde_json::Value;

use crate::edit::edit;
use crate::input::Input;

/// The beginnings of four cases of the reference.
static CASES: LazyLock<[Value; 4]> = LazyLock::new(|| {
    let cases = [
        include_str!("../../corpus/kernel_case/reno-lastack-lost"),
        include_str!("../../corpus/kernel_case/cubic-delayed-single-segments"),
        include_str!("../../corpus/kernel_case/cubic-request-response"),
        include_str!("../../corpus/kernel_case/reno-first-lost"),
    ];
    cases.map(|case| serde_json::from_str(case).expect("a case is JSON"))
});

/// # Panics
/// If one of the sound cases is refused: other values in it would then reach nothing.
pub fn prepare() {
    for case in &*CASES {
        Case::of_json(case).unwrap_or_else(|why| panic!("a sound case is refused: {why}"));
    }
}

pub fn case(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        judge_each_way(Case::read(text));
    }
}

/// A sound case with other values.
pub fn fields(data: &[u8]) {
    let mut input = Input(data);
    let mut case = CASES[input.below(CASES.len())].clone();
    edit(&mut case, &mut input);
    judge_each_way(Case::of_json(&case));
}

fn judge_each_way(case: Result<Case, String>) {
    match case {
        Ok(case) => {
            for &way in Way::ALL {
                let verdict = judge_case(&case, way);
                assert!(verdict.agreed <= verdict.packets, "{verdict:?}");
            }
        }
        Err(why) => assert!(!why.is_empty(), "a case is refused without a reason"),
    }
}
