//! Where requirements were lost, over all runs: funnel, table, and the requirements of one cell.

use super::Found;
use crate::browser::error::BrowserError;
use crate::browser::files;
use crate::chart::bars;
use crate::results::lost::{self, Line};
use crate::route::results_view::ResultsView;
use crate::run::lost::funnel::{By, Case, Counts, Funnel, cases};
use crate::run::record::RunRecord;
use crate::ui::charts::Picture;
use leptos::prelude::*;
use std::sync::Arc;

/// Requirements of a cell that are listed at once.
const FIRST: usize = 50;

/// The whole section. Everything chosen in it is part of the address.
#[component]
pub fn FunnelSection(
    records: Memo<Vec<Arc<RunRecord>>>,
    view: Memo<ResultsView>,
    change: Callback<ResultsView>,
    href: Callback<Found, String>,
    on_error: Callback<BrowserError>,
    /// The day on which figures are drawn.
    today: String,
) -> impl IntoView {
    let cases = Memo::new(move |_| {
        records.with(|records| Arc::new(cases(records.iter().map(Arc::as_ref))))
    });
    let by = Memo::new(move |_| view.with(|view| view.by));
    let funnel = Memo::new(move |_| cases.with(|cases| Funnel::new(cases, by.get())));
    let group = Memo::new(move |_| {
        view.with(|view| {
            view.cell
                .as_ref()
                .map(|(_, group)| group.clone())
                .filter(|g| !g.is_empty())
        })
    });
    let figure = Memo::new(move |_| {
        let basis = records
            .with(|records| lost::basis(&records.iter().map(Arc::as_ref).collect::<Vec<_>>()));
        funnel.with(|funnel| {
            match group
                .get()
                .and_then(|name| Some((funnel.groups.get(&name)?, name)))
            {
                Some((counts, name)) => {
                    lost::figure(counts, &lost::group_name(funnel.by, &name), &basis, &today)
                }
                None => lost::figure(&funnel.total, "all scored requirements", &basis, &today),
            }
        })
    });
    let svg = Signal::derive(move || figure.with(bars::funnel));
    let size = Signal::derive(move || {
        figure.with(|figure| (crate::chart::svg::WIDTH, bars::height(figure)))
    });
    let nothing = Memo::new(move |_| funnel.with(|funnel| funnel.total.scored == 0));
    let choose = move |by: By| {
        let before = view.get_untracked();
        change.run(ResultsView {
            by,
            cell: None,
            ..before
        });
    };
    let save = move |_| {
        let text = funnel.with_untracked(lost::table_csv);
        if let Err(error) = files::download("iba-lab-lost.csv", "text/csv", &[text.as_bytes()]) {
            on_error.run(error);
        }
    };
    let picks = By::ALL.into_iter().map(|by_option| {
        let word = match by_option {
            By::Domain => "by domain",
            By::Signal => "by kind of signal",
            By::Change => "static or changing",
        };
        view! {
            <label class="inst-choice">
                <input type="radio" name="lost-by" prop:checked=move || by.get() == by_option on:change=move |_| choose(by_option) />
                <span>{word}</span>
            </label>
        }
    });
    view! {
        <section class="block" aria-labelledby="lost-title">
            <h2 id="lost-title">"Where requirements were lost"</h2>
            <p class="muted">
                "For each requirement the furthest stage its evidence reached. Evidence links decide the first four stages exactly; a judge model, or without one similarity, decides extraction and plan; the verdicts decide the rest."
            </p>
            <p class="empty" hidden=move || !nothing.get()>
                "No judged requirement yet. Run a system on an instance, or open a result file with runs of this site."
            </p>
            <div hidden=move || nothing.get()>
                <fieldset class="inst-systems lost-by">
                    <legend class="sr-only">"Columns of the table"</legend>
                    {picks.collect_view()}
                </fieldset>
                <div class="radar-row">
                    <Picture svg=svg size=size file_stem="iba-lab-lost" on_error=on_error />
                    <div>
                        <div class="table-box" tabindex="0" role="region" aria-labelledby="lost-title">
                            {move || funnel.with(|funnel| table(funnel, view, change))}
                        </div>
                        <p class="actions">
                            <button type="button" class="button" on:click=save>"Save table (.csv)"</button>
                        </p>
                    </div>
                </div>
                {move || opened(cases, records, view, href)}
            </div>
        </section>
    }
    .into_any()
}

fn table(funnel: &Funnel, view: Memo<ResultsView>, change: Callback<ResultsView>) -> AnyView {
    let groups = lost::groups(funnel);
    let heads = groups.iter().map(|(name, _)| {
        view! { <th scope="col">{lost::group_name(funnel.by, name)}</th> }
    });
    let scored = std::iter::once(&funnel.total).chain(groups.iter().map(|(_, counts)| *counts));
    let scored = scored
        .map(|counts| view! { <td>{counts.scored}</td> })
        .collect_view();
    let columns: Vec<(String, Counts)> = std::iter::once((String::new(), funnel.total.clone()))
        .chain(
            groups
                .iter()
                .map(|(name, counts)| ((*name).to_owned(), (*counts).clone())),
        )
        .collect();
    let rows = lost::lines().into_iter().map(|line| {
        let cells = columns
            .iter()
            .map(|(group, counts)| cell(&line, group, counts, view, change));
        view! {
            <tr>
                <th scope="row">
                    {line.label}
                    <small class="muted">{line.means}</small>
                </th>
                {cells.collect_view()}
            </tr>
        }
    });
    view! {
        <table class="numbers lost-table">
            <caption>{format!("{} Choose a number to see its requirements.", lost::found(&funnel.total))}</caption>
            <thead><tr><th scope="col">"Requirements"</th><th scope="col">"All"</th>{heads.collect_view()}</tr></thead>
            <tbody>
                <tr><th scope="row">"scored"</th>{scored}</tr>
                {rows.collect_view()}
            </tbody>
        </table>
    }
    .into_any()
}

fn cell(
    line: &Line,
    group: &str,
    counts: &Counts,
    view: Memo<ResultsView>,
    change: Callback<ResultsView>,
) -> AnyView {
    let n = lost::count(counts, line.end);
    if n == 0 {
        return view! { <td class="muted">"0"</td> }.into_any();
    }
    let own = (line.end.id(), group.to_owned());
    let key = own.clone();
    let pressed = move || view.with(|view| view.cell.as_ref() == Some(&key));
    let choose = move |_| {
        let before = view.get_untracked();
        let cell = (before.cell.as_ref() != Some(&own)).then(|| own.clone());
        change.run(ResultsView { cell, ..before });
    };
    let share = 100.0 * f64::from(n) / f64::from(counts.scored.max(1));
    view! {
        <td>
            <button type="button" class="link" aria-pressed=move || pressed().to_string() on:click=choose>{n}</button>
            <small class="muted">{format!("{share:.0} %")}</small>
        </td>
    }
    .into_any()
}

/// The requirements behind the chosen number, each with a link to its run.
fn opened(
    cases: Memo<Arc<Vec<Case>>>,
    records: Memo<Vec<Arc<RunRecord>>>,
    view: Memo<ResultsView>,
    href: Callback<Found, String>,
) -> Option<AnyView> {
    let ResultsView { cell, by, .. } = view.get();
    let (end, group) = cell?;
    let line = lost::lines()
        .into_iter()
        .find(|line| line.end.id() == end)?;
    let fits = |case: &&Case| {
        case.end.id() == end && (group.is_empty() || by.groups(case).contains(&group))
    };
    let cases = cases.get();
    let found: Vec<&Case> = cases.iter().filter(fits).collect();
    let title = match group.is_empty() {
        true => format!("{}: {}", line.label, found.len()),
        false => format!(
            "{}, {}: {}",
            line.label,
            lost::group_name(by, &group),
            found.len()
        ),
    };
    let items = found.iter().take(FIRST).filter_map(|case| {
        let run =
            records.with(|records| records.iter().find(|record| record.id == case.run).cloned())?;
        let address = href.run(Found {
            run,
            requirement: Some(case.requirement.clone()),
        });
        Some(view! {
            <li class="result-row">
                <a href=address>{format!("{} · {}", case.instance, case.requirement)}</a>
                " "
                {case.text.clone()}
            </li>
        })
    });
    let more = found.len().saturating_sub(FIRST);
    Some(view! {
        <h3 class="lost-cell" id="lost-cell">{title}</h3>
        <ul class="result-list">{items.collect_view()}</ul>
        {(more > 0).then(|| view! { <p class="muted">{format!("and {more} more; the runs themselves stand under Runs.")}</p> })}
    }.into_any())
}
