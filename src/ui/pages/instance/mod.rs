//! The instance view: the user's history, the stages of a run and the verdicts, joined.

mod call;
mod compare;
mod ended;
mod gap;
mod header;
mod history;
mod judge_calls;
mod keys;
mod lost_path;
mod output;
mod overrule;
mod page;
mod prompts;
mod props;
mod provenance;
mod reveal;
mod run_bar;
mod scroll;
mod session;
mod stage_body;
mod stage_input;
mod stages;
mod strip;
mod tabs;
mod task;
mod verdict;
mod verdicts;
mod what_if;

pub use keys::KEYS;
pub use props::{
    Actions, Again, Change, ExportFormat, InstanceProps, Neighbours, Progress, RunView,
};

use crate::ui::parts::Later;
use compare::Compare;
use ended::Ended;
use gap::GapPanel;
use header::Header;
use history::HistoryZone;
use leptos::prelude::*;
use output::OutputPanel;
use page::Page;
use run_bar::RunBar;
use stages::StageList;
use tabs::{Tabs, word};
use task::TaskCard;
use verdicts::Verdicts;
use what_if::WhatIf;

/// The whole view of one instance. Mount it anew for another instance.
#[component]
pub fn InstancePage(
    /// What to show and whom to ask.
    props: InstanceProps,
) -> impl IntoView {
    let page = Page::new(props);
    keys::listen(page);
    scroll::follow(page);
    let tab = move || word(page.focus.with(|focus| focus.tab));
    view! {
        <article class="inst" data-tab=tab>
            <Header page />
            <TaskCard page />
            <RunBar page />
            <Tabs page />
            <div class="inst-zones">
                <section id="zone-history" class="inst-zone" tabindex="-1" aria-label="History">
                    <Later turn=1>
                        <HistoryZone page />
                    </Later>
                </section>
                <section id="zone-trace" class="inst-zone" tabindex="-1" aria-label="Stages">
                    <Later turn=2>
                        <StageList page />
                        <WhatIf page />
                    </Later>
                </section>
                <section id="zone-outcome" class="inst-zone" tabindex="-1" aria-label="Outcome">
                    <Later turn=3>
                        <OutputPanel page />
                        <GapPanel page />
                        <Verdicts page />
                    </Later>
                </section>
            </div>
            <section id="zone-compare" class="inst-zone" tabindex="-1" aria-label="Comparison">
                <Later turn=4>
                    <Compare page />
                </Later>
            </section>
        </article>
        <Ended page />
    }
    .into_any()
}
