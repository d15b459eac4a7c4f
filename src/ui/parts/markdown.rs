//! Shows text of a model or a data set as inert elements; see [`crate::markdown`].

use crate::markdown::{Kind, Leaf, Node, cut, parse};
use leptos::prelude::*;
use std::ops::Range;

/// Markdown as elements, with ranges of the source marked.
#[component]
pub fn Markdown(
    /// The source.
    text: String,
    /// Byte ranges of the source to mark.
    #[prop(optional)]
    marks: Vec<Range<usize>>,
) -> impl IntoView {
    view! { <div class="markdown">{all(&parse(&text), &marks)}</div> }
}

fn all(nodes: &[Node], marks: &[Range<usize>]) -> Vec<AnyView> {
    nodes.iter().map(|node| one(node, marks)).collect()
}

fn one(node: &Node, marks: &[Range<usize>]) -> AnyView {
    let inner = all(&node.children, marks);
    match &node.kind {
        Kind::Text(text) => leaf(text, marks).into_any(),
        Kind::Code(text) => view! { <code>{leaf(text, marks)}</code> }.into_any(),
        Kind::Paragraph => view! { <p>{inner}</p> }.into_any(),
        Kind::Heading(level) => heading(*level, inner),
        Kind::List(None) => view! { <ul>{inner}</ul> }.into_any(),
        Kind::List(Some(start)) => view! { <ol start=start.to_string()>{inner}</ol> }.into_any(),
        Kind::Item => view! { <li>{inner}</li> }.into_any(),
        Kind::Quote => view! { <blockquote>{inner}</blockquote> }.into_any(),
        Kind::CodeBlock => view! { <pre tabindex="0"><code>{inner}</code></pre> }.into_any(),
        Kind::Table => table(&node.children, marks),
        Kind::TableRow => view! { <tr>{inner}</tr> }.into_any(),
        Kind::TableCell => view! { <td>{inner}</td> }.into_any(),
        Kind::Emphasis => view! { <em>{inner}</em> }.into_any(),
        Kind::Strong => view! { <strong>{inner}</strong> }.into_any(),
        Kind::Struck => view! { <s>{inner}</s> }.into_any(),
        Kind::Link(address) => link(address.clone(), inner),
        Kind::Image => view! { <span class="md-image">"[image: "{inner}"]"</span> }.into_any(),
        Kind::Break => view! { <br /> }.into_any(),
        Kind::Rule => view! { <hr /> }.into_any(),
        Kind::Task(done) => {
            let label = if *done { "done" } else { "open" };
            let sign = if *done { "☑ " } else { "☐ " };
            view! { <span role="img" aria-label=label>{sign}</span> }.into_any()
        }
        Kind::TableHead | Kind::Plain => inner.into_any(),
    }
}

/// The page has its own first headings, so those of a text start at the third level.
fn heading(level: u8, inner: Vec<AnyView>) -> AnyView {
    match level {
        1 => view! { <h3 class="md-h1">{inner}</h3> }.into_any(),
        2 => view! { <h4 class="md-h2">{inner}</h4> }.into_any(),
        _ => view! { <h5 class="md-h3">{inner}</h5> }.into_any(),
    }
}

fn table(children: &[Node], marks: &[Range<usize>]) -> AnyView {
    let is_head = |node: &&Node| node.kind == Kind::TableHead;
    let head = children.iter().find(is_head).map(|head| {
        let cells: Vec<AnyView> = head
            .children
            .iter()
            .map(|cell| view! { <th scope="col">{all(&cell.children, marks)}</th> }.into_any())
            .collect();
        view! { <thead><tr>{cells}</tr></thead> }
    });
    let rows: Vec<AnyView> = children
        .iter()
        .filter(|node| !is_head(node))
        .map(|row| one(row, marks))
        .collect();
    view! {
        <div class="table-scroll" tabindex="0">
            <table>{head}<tbody>{rows}</tbody></table>
        </div>
    }
    .into_any()
}

/// Links of foreign text leave the site, so they say so and carry nothing along.
fn link(address: Option<String>, inner: Vec<AnyView>) -> AnyView {
    match address {
        Some(address) => view! {
            <a
                class="md-link"
                href=address.clone()
                title=format!("Opens {address} in a new tab")
                target="_blank"
                rel="noopener noreferrer nofollow"
            >
                {inner}
            </a>
        }
        .into_any(),
        None => view! { <span class="md-dead" title="Address removed">{inner}</span> }.into_any(),
    }
}

fn leaf(leaf: &Leaf, marks: &[Range<usize>]) -> Vec<AnyView> {
    cut(leaf, marks)
        .into_iter()
        .map(|(text, marked)| match marked {
            true => view! { <mark class="quote">{text.to_owned()}</mark> }.into_any(),
            false => text.to_owned().into_any(),
        })
        .collect()
}
