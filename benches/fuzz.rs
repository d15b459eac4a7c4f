//! Millions of made-up inputs for the readers of streams, tool calls and JSON:
//! `cargo bench --no-default-features --bench fuzz -- [CASES] [FIRST SEED] [TARGET]`, or `./dev fuzz`.
//! A fault names the seed that repeats it.

#[path = "../tests/fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    // Cargo adds flags of its own.
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let number = |at: usize, usual: u64| {
        given
            .get(at)
            .and_then(|arg| arg.parse().ok())
            .unwrap_or(usual)
    };
    let (cases, first) = (number(0, 1_000_000), number(1, 1));
    for (name, target) in targets::TARGETS {
        if given.get(2).is_some_and(|wanted| wanted != name) {
            continue;
        }
        let begun = Instant::now();
        for seed in first..first.saturating_add(cases) {
            let outcome = catch_unwind(AssertUnwindSafe(|| target(seed)));
            let wrong = match outcome {
                Ok(Ok(())) => continue,
                Ok(Err(wrong)) => wrong,
                Err(_) => "it panicked".to_owned(),
            };
            eprintln!("{name}, seed {seed}: {wrong}");
            return ExitCode::FAILURE;
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!("{name}: {cases} inputs from seed {first} in {seconds:.0} s, no fault");
    }
    ExitCode::SUCCESS
}
