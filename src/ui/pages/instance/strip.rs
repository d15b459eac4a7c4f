//! The year at a glance: sessions by week, and where evidence and retrieved sessions lie.

use super::page::Page;
use crate::bench::ids::SessionId;
use crate::run::timeline::Date;
use leptos::prelude::*;
use std::collections::BTreeSet;

const WEEK: f64 = 6.0;
const WIDTH: f64 = 53.0 * WEEK;
const BARS: f64 = 26.0;
const INITIALS: [&str; 12] = ["J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"];

/// The strip; its marks lead to their sessions. Everything in it stands in the list as well.
#[component]
pub(super) fn Strip(page: Page) -> impl IntoView {
    let weeks = page.timeline.with_value(|timeline| timeline.weeks());
    let most = f64::from(weeks.iter().copied().max().unwrap_or(1).max(1));
    let bars = weeks.into_iter().enumerate().map(|(week, n)| {
        let height = BARS * f64::from(n) / most;
        let (x, y) = (week as f64 * WEEK + 0.75, BARS - height);
        view! { <rect class="strip-bar" x=x y=y width=WEEK - 1.5 height=height rx="1" /> }
    });
    let months = INITIALS.into_iter().enumerate().map(|(month, initial)| {
        let x = (month as f64 + 0.5) * WIDTH / 12.0;
        view! { <text class="strip-month" x=x y="58" text-anchor="middle">{initial}</text> }
    });
    let label = move || {
        let (found, evidence) = (retrieved(page).len(), page.evidence.with(|e| e.len()));
        format!("Sessions by week of the year; {found} retrieved, {evidence} with evidence")
    };
    view! {
        <svg class="strip" viewBox=format!("0 0 {WIDTH} 60") role="img" aria-label=label>
            {bars.collect_view()} <line class="strip-axis" x1="0" x2=WIDTH y1=BARS y2=BARS />
            {move || retrieved(page).iter().map(|id| dot(page, id)).collect_view()}
            {move || page.evidence.get().keys().map(|id| diamond(page, id)).collect_view()}
            {months.collect_view()}
        </svg>
    }
}

fn retrieved(page: Page) -> BTreeSet<SessionId> {
    page.trails
        .with(|trails| trails.iter().map(|t| t.passage.session.clone()).collect())
}

fn x_of(date: &Date) -> f64 {
    (f64::from(date.day_of_year()) + 0.5) / 7.0 * WEEK
}

fn place(page: Page, session: &SessionId) -> Option<(f64, String)> {
    page.timeline.with_value(|timeline| {
        let row = &timeline.rows[timeline.position(session)?];
        Some((x_of(&row.date), row.date.long_label()))
    })
}

fn dot(page: Page, session: &SessionId) -> Option<impl IntoView + use<>> {
    let (x, date) = place(page, session)?;
    let id = session.clone();
    Some(view! {
        <circle class="strip-dot" cx=x cy="33" r="3.5" on:click=move |_| page.show_session(&id)>
            <title>{format!("retrieved: {date}")}</title>
        </circle>
    })
}

fn diamond(page: Page, session: &SessionId) -> Option<impl IntoView + use<>> {
    let (x, date) = place(page, session)?;
    let id = session.clone();
    let path = format!("M{x} 38 l4.5 4.5 -4.5 4.5 -4.5 -4.5z");
    Some(view! {
        <path class="strip-diamond" d=path on:click=move |_| page.show_session(&id)>
            <title>{format!("evidence: {date}")}</title>
        </path>
    })
}
