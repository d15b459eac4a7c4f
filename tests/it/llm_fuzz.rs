//! A first few of the inputs that `./dev fuzz` makes by the million.

#[path = "../fuzz/targets.rs"]
mod targets;

const CASES: u64 = 3000;

#[test]
fn made_up_inputs_find_no_fault() {
    for (name, target) in targets::TARGETS {
        for seed in 1..=CASES {
            if let Err(wrong) = target(seed) {
                panic!("{name}, seed {seed}: {wrong}");
            }
        }
    }
}
