//! On a narrow screen the run happens below what is in sight: a line at the lower edge says how it
//! goes, and leads to the outcome.

use super::page::Page;
use super::scroll;
use crate::agent::trace_view::name;
use crate::run::focus::Tab;
use crate::run::outcome::Tally;
use crate::run::record::RunStatus;
use leptos::prelude::*;

/// From when a run was started here until its outcome is looked at. The style sheet hides it where
/// all zones fit.
#[component]
pub(super) fn Ended(page: Page) -> impl IntoView {
    // Whether a run has been seen under way since the outcome was last looked at.
    let watched = Memo::new(move |before: Option<&bool>| {
        let looking = page.focus.with(|focus| focus.tab == Tab::Outcome) && !page.running();
        !looking && (page.running() || before.copied().unwrap_or(false))
    });
    let words = move || watched.get().then(|| words(page)).flatten();
    let look = move |_| {
        page.show_tab(Tab::Outcome);
        scroll::to_start("zone-outcome");
    };
    view! {
        {move || words().map(|words| view! {
            <p class="inst-ended">
                <span role="status">{words}</span>
                <button type="button" class="button small primary" on:click=look>
                    "Outcome →"
                </button>
            </p>
        })}
    }
}

fn words(page: Page) -> Option<String> {
    let run = page.run;
    Some(match run.status.get()? {
        RunStatus::Running if run.judging.get() => "Judging …".to_owned(),
        RunStatus::Running => match run.current.get() {
            Some(stage) => format!("{} …", name(stage)),
            None => "Getting ready …".to_owned(),
        },
        RunStatus::Done => {
            let tally = page.rows.with(|rows| Tally::of(rows));
            let all = page.rows.with(|rows| rows.len());
            format!("Done · {} of {all} met", tally.met)
        }
        RunStatus::Cancelled => "Cancelled".to_owned(),
        RunStatus::Failed { .. } => "The run failed".to_owned(),
    })
}
