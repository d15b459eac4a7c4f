//! The judges of the runs: agreement, changes of mind, and what they disagree about.

use super::Found;
use crate::results::judges::{Dispute, JudgeLine, Panel, panel};
use crate::results::paper::Paper;
use crate::results::table::table_title;
use crate::run::record::RunRecord;
use crate::run::setup::setups;
use crate::score::agreement::{Agreement, Kappa};
use crate::score::paper::PaperAgreementRow;
use crate::score::spread::{Band, Spread, band};
use leptos::prelude::*;
use std::sync::Arc;

/// Disputed requirements that are listed at once.
const FIRST: usize = 50;

#[component]
pub fn JudgesSection(
    records: Memo<Vec<Arc<RunRecord>>>,
    /// For the agreement that the paper reports.
    paper: Signal<Option<Arc<Paper>>>,
    href: Callback<Found, String>,
) -> impl IntoView {
    let found = Memo::new(move |_| {
        records.with(|records| panel(&records.iter().map(Arc::as_ref).collect::<Vec<_>>()))
    });
    let nothing = Memo::new(move |_| found.with(|panel| panel.judges.is_empty()));
    let mixed =
        Memo::new(move |_| {
            records.with(|records| match setups(records.iter().map(Arc::as_ref)).len() {
            0 | 1 => None,
            n => Some(format!(
                "These are the runs of {n} set-ups together; choose one above to see its own."
            )),
        })
        });
    view! {
        <section class="block" aria-labelledby="judges-title">
            <h2 id="judges-title">"Judges"</h2>
            <p class="muted">
                "Only what a model decided counts here: references, checks and people decide the same for every judge. Agreement is between judges: every repeat of one is compared with every repeat of the other."
            </p>
            <p class="muted" hidden=move || mixed.with(Option::is_none)>{move || mixed.get()}</p>
            <p class="empty" hidden=move || !nothing.get()>
                "No judge model has judged anything yet. Choose one or several under Settings and run a system, or open a result file."
            </p>
            <div hidden=move || nothing.get()>
                <div class="table-box" tabindex="0" role="region" aria-labelledby="judges-title">
                    {move || found.with(lines)}
                </div>
            </div>
            {move || found.with(|panel| agreement(panel, paper.get().as_deref()))}
            <div hidden=move || nothing.get()>
                {move || found.with(|panel| disputes(panel, records, href))}
            </div>
        </section>
    }
    .into_any()
}

fn lines(panel: &Panel) -> AnyView {
    let rows = panel.judges.iter().map(line).collect_view();
    view! {
        <table class="numbers">
            <caption>"Each judge. Score: percent of requirements met, mean and deviation over its repeats."</caption>
            <thead>
                <tr>
                    <th scope="col">"Judge"</th>
                    <th scope="col">"Prompt"</th>
                    <th scope="col">"Score"</th>
                    <th scope="col">"Judged"</th>
                    <th scope="col">"Unscored"</th>
                    <th scope="col">"Repeats"</th>
                    <th scope="col">"Changed its mind"</th>
                    <th scope="col">"AC1 with itself"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn line(judge: &JudgeLine) -> AnyView {
    let prompts: Vec<String> = judge
        .prompts
        .iter()
        .map(|hash| hash.chars().take(8).collect())
        .collect();
    let all: Vec<String> = judge.prompts.iter().cloned().collect();
    let flips = match judge.repeated {
        0 => "–".to_owned(),
        n => format!("{} of {n}", judge.flipped),
    };
    view! {
        <tr>
            <th scope="row">{judge.judge.clone()}</th>
            <td title=all.join(", ")><code>{prompts.join(", ")}</code></td>
            <td>{judge.score.as_ref().map_or_else(|| "–".to_owned(), spread)}</td>
            <td>{judge.judged}</td>
            <td>{judge.unscored}</td>
            <td>{judge.repeats}</td>
            <td>{flips}</td>
            <td>{judge.with_itself.as_ref().map_or_else(|| "–".to_owned(), |with| coefficient(with.ac1))}</td>
        </tr>
    }
    .into_any()
}

/// `78.8 ± 0.31`, with the paper's word for a large deviation.
pub fn spread(spread: &Spread) -> String {
    let Some(sd) = spread.sd else {
        return format!("{:.1}", spread.mean);
    };
    let word = match band(sd) {
        Band::Low => "",
        Band::Moderate => ", moderate",
        Band::High => ", high",
    };
    format!("{:.1} ± {sd:.2}{word}", spread.mean)
}

fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(|| "not defined".to_owned(), |value| format!("{value:.2}"))
}

fn agreement(panel: &Panel, paper: Option<&Paper>) -> Option<AnyView> {
    let name = |n: usize| panel.judges.get(n).map_or("", |judge| judge.judge.as_str());
    let all = panel.all.iter().filter(|_| panel.judges.len() > 2);
    let rows = all.map(|all| of("all judges".to_owned(), all));
    let pairs = panel
        .pairs
        .iter()
        .map(|(a, b, found)| of(format!("{} and {}", name(*a), name(*b)), found));
    let printed = paper.into_iter().flat_map(printed);
    let rows: Vec<AnyView> = rows.chain(pairs).chain(printed).collect();
    (!rows.is_empty()).then(|| view! {
        <h3 id="agreement-title">"Agreement between judges"</h3>
        <div class="table-box" tabindex="0" role="region" aria-labelledby="agreement-title">
            <table class="numbers">
                <caption>"Kappa falls when nearly everything is met; Gwet’s AC1, which the paper reports, does not. The paper’s own rows (Table 11) are about the quality of its instances, not about requirements."</caption>
                <thead>
                    <tr>
                        <th scope="col">"Between"</th>
                        <th scope="col">"Judged"</th>
                        <th scope="col">"Unanimous"</th>
                        <th scope="col">"Raw agreement"</th>
                        <th scope="col">"Kappa"</th>
                        <th scope="col">"AC1"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }.into_any())
}

/// The paper's Table 11, marked as printed.
fn printed(paper: &Paper) -> Vec<AnyView> {
    let agreement = &paper.agreement;
    let source = format!("paper, {}", table_title(&agreement.table));
    let row = |row: &PaperAgreementRow| {
        view! {
            <tr class="reference">
                <th scope="row">
                    {format!("{}: {} ", row.pair, row.dimension)}
                    <span class="chip">{source.clone()}</span>
                </th>
                <td>{agreement.sample}<small class="muted">"instances"</small></td>
                <td>"–"</td>
                <td>{format!("{:.1} %", row.percent)}</td>
                <td>"–"</td>
                <td>{format!("{:.2}", row.ac1)}</td>
            </tr>
        }
        .into_any()
    };
    agreement.rows.iter().map(row).collect()
}

fn of(between: String, found: &Agreement) -> AnyView {
    let kind = match found.kind {
        Kappa::Cohen => "Cohen",
        Kappa::Fleiss => "Fleiss",
    };
    view! {
        <tr>
            <th scope="row">{between}</th>
            <td>{found.items}</td>
            <td>{found.unanimous}</td>
            <td>{format!("{:.1} %", 100.0 * found.raw)}</td>
            <td>{coefficient(found.kappa)}" "<small class="muted">{kind}</small></td>
            <td>{coefficient(found.ac1)}</td>
        </tr>
    }
    .into_any()
}

fn disputes(
    panel: &Panel,
    records: Memo<Vec<Arc<RunRecord>>>,
    href: Callback<Found, String>,
) -> Option<AnyView> {
    if panel.disputes.is_empty() {
        return None;
    }
    let items = panel
        .disputes
        .iter()
        .take(FIRST)
        .filter_map(|dispute| one(dispute, records, href));
    let title = format!(
        "Not seen alike: {} of {} requirements",
        panel.disputes.len(),
        panel.judged
    );
    let more = panel.disputes.len().saturating_sub(FIRST);
    Some(view! {
        <h3>{title}</h3>
        <ul class="result-list">{items.collect_view()}</ul>
        {(more > 0).then(|| view! { <p class="muted">{format!("and {more} more that are agreed upon better")}</p> })}
    }.into_any())
}

fn one(
    dispute: &Dispute,
    records: Memo<Vec<Arc<RunRecord>>>,
    href: Callback<Found, String>,
) -> Option<AnyView> {
    let run = records.with(|records| {
        records
            .iter()
            .find(|record| record.id == dispute.run)
            .cloned()
    })?;
    let address = href.run(Found {
        run,
        requirement: Some(dispute.requirement.clone()),
    });
    let said = dispute
        .said
        .iter()
        .map(|(judge, words)| view! { <li class="chip">{format!("{judge}: {words}")}</li> });
    Some(view! {
        <li class="result-row">
            <p>
                <a href=address>{format!("{} · {}", dispute.instance, dispute.requirement)}</a>
                " "
                {dispute.text.clone()}
            </p>
            <div class="verdict-strip">
                <span class="small muted">{format!("{:.0} % of pairs agree", 100.0 * dispute.agreement)}</span>
                <ul>{said.collect_view()}</ul>
            </div>
        </li>
    }.into_any())
}
