//! The HNSW graph over all passages: build it, stop building it, see what it is worth.

use crate::search::params::M;
use crate::ui::data::Open;
use crate::ui::histories::{Graph, Histories, Work};
use crate::ui::parts::{ProblemBox, ProgressLine};
use crate::ui::state::lab;
use crate::words::{grouped, size};
use leptos::prelude::*;

#[component]
pub(super) fn GraphPanel(
    open: StoredValue<Open, LocalStorage>,
    histories: Histories,
) -> impl IntoView {
    let lab = lab();
    let build = move |_| histories.build(lab, open.get_value());
    let shipped = move || {
        let source = histories.shipped_graph(lab, &open.get_value());
        source.map(|bytes| format!("Load the graph ({})", size(bytes)))
    };
    let word = move || shipped().unwrap_or_else(|| "Build the graph".to_owned());
    let body = move || {
        match histories.building.get() {
        Work::Going(progress) => view! {
            <div class="all-progress">
                <ProgressLine what=format!("Graph: {}", progress.what) done=progress.done total=progress.total />
                <button type="button" class="button" on:click=move |_| histories.cancel_building()>"Cancel"</button>
            </div>
        }
        .into_any(),
        Work::Failed(problem) => view! {
            <ProblemBox problem=problem>
                <button type="button" class="button" on:click=build>"Try again"</button>
            </ProblemBox>
        }
        .into_any(),
        Work::Nothing => match histories.graph.get() {
            Some(graph) => figures(&graph, histories.rows.get()).into_any(),
            None => view! {
                <p><button type="button" class="button" on:click=build>{word}</button></p>
            }
            .into_any(),
        },
    }
    };
    view! {
        <section class="block all-graph" aria-labelledby="graph-head">
            <h2 id="graph-head">"HNSW graph"</h2>
            <p class="muted">
                "Exact search compares every passage. A graph of neighbours compares a few thousand, whatever the number of passages, and may miss one. It pays for large datasets; building it takes seconds for thousands of passages and minutes for hundreds of thousands, in a worker of its own. A dataset may bring its graph along."
            </p>
            {body}
        </section>
    }
}

/// Parameters, and what was measured.
fn figures(graph: &Graph, rows: Option<u32>) -> impl IntoView {
    let (exact, walked) = graph.millis;
    let rows = grouped(u64::from(rows.unwrap_or_default()));
    let linked = &graph.linked;
    let came = if linked.shipped {
        "Loaded in"
    } else {
        "Built in"
    };
    let facts = [
        ("Passages", rows),
        (
            "Parameters",
            format!(
                "M {M}, ef_construction {}, ef_search {}",
                linked.params.ef_construction, linked.params.ef_search
            ),
        ),
        (came, format!("{:.1} s", linked.millis / 1000.0)),
        (
            "Recall@10",
            format!("{:.3} on {} tasks", graph.recall, graph.sample),
        ),
        ("A query, exact", format!("{exact:.2} ms")),
        ("A query, graph", format!("{walked:.2} ms")),
    ];
    let facts = facts.map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> });
    let refused = linked.refused.as_ref().map(|why| {
        let text = format!(
            "The graph that came with the dataset is not used: {why}. This one was built here."
        );
        view! { <p class="muted" role="status">{text}</p> }
    });
    view! {
        {refused}
        <dl class="all-facts">{facts.into_iter().collect_view()}</dl>
    }
}
