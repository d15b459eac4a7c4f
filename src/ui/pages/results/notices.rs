//! What was odd about each opened file.

use crate::results::LoadedResult;
use leptos::prelude::*;
use std::sync::Arc;

/// One box for each opened file: what it is, and what of it was ignored.
#[component]
pub fn FileNotices(opened: Signal<Vec<Arc<LoadedResult>>>) -> impl IntoView {
    let boxes = move || opened.with(|opened| opened.iter().map(|one| of_file(one)).collect_view());
    view! { <div class="opened-files">{boxes}</div> }.into_any()
}

fn of_file(loaded: &LoadedResult) -> AnyView {
    let file = &loaded.file;
    let known = |text: &str| {
        if text.is_empty() {
            "unknown".to_owned()
        } else {
            text.to_owned()
        }
    };
    let head = format!(
        "{} samples of {}, {} with {}, {}",
        file.rows.len(),
        known(&file.task),
        known(&file.system),
        known(&file.model),
        known(&file.created),
    );
    let notices = loaded
        .notices
        .iter()
        .map(|notice| view! { <li>{notice.text.clone()}</li> });
    let notices = notices.collect_view();
    view! {
        <section class="opened-file">
            <p><strong>{file.name.clone()}</strong><span class="muted">" · "{head}</span></p>
            <ul class="small" hidden=loaded.notices.is_empty()>{notices}</ul>
        </section>
    }
    .into_any()
}
