//! The house rules that no compiler checks: directions between modules, code maps, no stray paths.

use std::fs;
use std::path::{Path, PathBuf};

/// All files below `folder` with one of the extensions.
fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let skipped = path.ends_with("node_modules");
            if path.is_dir() && !skipped {
                folders.push(path);
            } else if extensions
                .iter()
                .any(|e| path.extension().is_some_and(|x| x == *e))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has files of {extensions:?}");
    found
}

/// Lines of code: neither comments nor empty.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).expect("the file is text");
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim_start().starts_with("//") && !line.trim().is_empty())
        .map(|(n, line)| (n + 1, line.to_owned()))
        .collect()
}

/// Every line of code in `folder` that names one of `words`, as `file:line: text`.
fn naming(folder: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(folder, &["rs"]) {
        for (n, line) in code(&path) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{n}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

const BROWSER: [&str; 6] = [
    "leptos",
    "web_sys",
    "js_sys",
    "wasm_bindgen",
    "gloo_",
    "rexie",
];

#[test]
fn pure_modules_name_nothing_of_the_browser() {
    for folder in [
        "src/agent",
        "src/bench",
        "src/chart",
        "src/embed",
        "src/judge",
        "src/lab",
        "src/llm",
        "src/prompts",
        "src/results",
        "src/route",
        "src/run",
        "src/score",
        "src/search",
        "src/worker",
    ] {
        assert_eq!(naming(folder, &BROWSER), Vec::<String>::new(), "{folder}");
    }
}

#[test]
fn agents_and_their_prompts_name_no_hidden_type() {
    let hidden = ["bench::hidden", "HiddenInstance", "hidden::"];
    let in_prompts = naming("src/prompts", &hidden);
    // The judge's prompt shows requirements; it is the one place in `prompts` that may.
    let stray: Vec<_> = in_prompts
        .iter()
        .filter(|line| !line.contains("Requirement"))
        .collect();
    assert_eq!(stray, Vec::<&String>::new());
    assert_eq!(naming("src/agent", &hidden), Vec::<String>::new());
}

#[test]
fn vectors_are_searched_without_text_and_charts_without_documents() {
    assert_eq!(
        naming("src/search", &["crate::bench", "crate::agent"]),
        Vec::<String>::new()
    );
    assert_eq!(
        naming("src/llm", &["crate::agent", "crate::judge", "crate::run"]),
        Vec::<String>::new()
    );
    assert_eq!(
        naming("src/bench", &["crate::agent", "crate::run", "crate::llm"]),
        Vec::<String>::new()
    );
}

#[test]
fn clocks_and_threads_that_panic_in_a_browser_stay_out_of_shared_code() {
    let traps = [
        "Instant::now",
        "SystemTime::now",
        "thread::spawn",
        "thread::sleep",
    ];
    for folder in [
        "src/agent",
        "src/judge",
        "src/run",
        "src/llm",
        "src/results",
        "src/search",
    ] {
        assert_eq!(naming(folder, &traps), Vec::<String>::new(), "{folder}");
    }
}

#[test]
fn nothing_makes_code_from_text() {
    // The page's own policy forbids it, and the fault shows only in the built site.
    let makers = ["Function::new", "js_sys::eval"];
    assert_eq!(naming("src", &makers), Vec::<String>::new());
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let silent: Vec<PathBuf> = files("src", &["rs"])
        .into_iter()
        .filter(|path| !fs::read_to_string(path).expect("text").starts_with("//!"))
        .collect();
    assert_eq!(silent, Vec::<PathBuf>::new());
}

#[test]
fn no_file_grows_beyond_what_one_can_hold_in_mind() {
    let long: Vec<PathBuf> = files("src", &["rs"])
        .into_iter()
        .filter(|path| code(path).len() > 600)
        .collect();
    assert_eq!(long, Vec::<PathBuf>::new());
}

#[test]
fn every_block_of_the_style_sheets_is_closed() {
    // A browser closes an open block at the end of the file, and so hides all rules in it.
    for path in files("style", &["css"]) {
        let text = fs::read_to_string(&path).expect("text");
        let mut depth = 0_i32;
        for (n, line) in text.lines().enumerate() {
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            let opens = line.starts_with('@') && line.ends_with('{');
            let place = format!("{}:{}", path.display(), n + 1);
            assert!(depth >= 0, "{place}: closes what is not open");
            assert!(!opens || depth == 1, "{place}: the block above is open");
        }
        assert_eq!(depth, 0, "{}: the last block is open", path.display());
    }
}

#[test]
fn no_path_of_a_machine_and_no_unfinished_code() {
    // Put together here, so that this file does not find itself.
    let words = [
        ["/ro", "ot/"].concat(),
        ["/wo", "rk/"].concat(),
        ["to", "do!("].concat(),
        ["unimpl", "emented!("].concat(),
        ["FIX", "ME"].concat(),
    ];
    let mut found = Vec::new();
    for path in files("src", &["rs", "md"])
        .into_iter()
        .chain(files("tests", &["rs", "mjs", "py"]))
    {
        let text = fs::read_to_string(&path).expect("text");
        for word in &words {
            if text.contains(word.as_str()) {
                found.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
