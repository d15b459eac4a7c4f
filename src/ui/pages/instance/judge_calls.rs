//! What the judges were asked about this output, and what was asked to find where it was lost.

use super::call::Calls;
use super::page::Page;
use crate::agent::trace::CallRecord;
use crate::judge::{Judgement, Order};
use crate::llm::price::PriceTable;
use crate::run::spend;
use leptos::prelude::*;

/// The calls with their prompts and replies; nothing where only rules decided.
#[component]
pub(super) fn JudgeCalls(page: Page) -> impl IntoView {
    move || {
        let record = page.run.record.get().filter(|_| !page.running())?;
        let links = record.links.as_ref().map(|links| links.calls.clone());
        let links = links.filter(|calls| !calls.is_empty());
        let asked: Vec<&Judgement> = record
            .judgements
            .iter()
            .filter(|judgement| !judgement.calls.is_empty())
            .collect();
        if asked.is_empty() && links.is_none() {
            return None;
        }
        let prices = page.given.with_value(|given| given.prices).get();
        let judges = asked.into_iter().map(|asked| {
            let head = format!(
                "{}, asking {}{}",
                asked.judge,
                asked.repeat,
                round(asked.round)
            );
            let order = asked.order.as_ref().map(order);
            group(head, order, asked.calls.clone(), &prices)
        });
        let judges = judges.collect_view();
        let links = links.map(|calls| {
            group(
                "Where requirements were lost".to_owned(),
                None,
                calls,
                &prices,
            )
        });
        Some(view! {
            <details class="inst-fold judge-calls">
                <summary>"What the judges were asked"</summary>
                {judges}
                {links}
            </details>
        })
    }
}

fn group(
    head: String,
    order: Option<String>,
    calls: Vec<CallRecord>,
    prices: &PriceTable,
) -> impl IntoView + use<> {
    let usage = |read: fn(&crate::llm::Usage) -> Option<u64>| -> u64 {
        let usages = calls.iter().filter_map(|call| call.reply.usage.as_ref());
        usages.filter_map(read).sum()
    };
    let (input, output) = (usage(|usage| usage.input), usage(|usage| usage.output));
    let mut facts = vec![format!("{input} + {output} tokens")];
    facts.push(spend::of_calls(&calls, prices).words());
    facts.extend(order);
    view! {
        <div class="judge-call">
            <p>
                <strong>{head}</strong>
                <span class="muted">{format!(" {}", facts.join(" · "))}</span>
            </p>
            <Calls calls />
        </div>
    }
}

/// What was shuffled for this asking.
fn order(order: &Order) -> String {
    let ids: Vec<&str> = order.requirements.iter().map(|id| id.0.as_str()).collect();
    let answers = match order.not_met_first {
        true => "“not met” offered first",
        false => "“met” offered first",
    };
    format!("shown as {}, {answers}", ids.join(", "))
}

fn round(round: u32) -> String {
    match round {
        0 => String::new(),
        n => format!(", judged again ({n})"),
    }
}
