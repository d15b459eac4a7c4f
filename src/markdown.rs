//! Markdown as an inert tree: what a model or a data set wrote, without its power to do anything.
//!
//! HTML stays text, images become their alternative text, links keep only `http`, `https` and
//! `mailto` addresses. Leaves remember where they stand in the source, so that a quote can be
//! marked in what is shown.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use std::ops::Range;

/// Nesting beyond this is flattened, so that hostile text cannot exhaust the stack.
const MAX_DEPTH: usize = 24;

/// An element with its children.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: Kind,
    pub children: Vec<Node>,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Paragraph,
    /// 1 to 6.
    Heading(u8),
    /// The first number, where the list is ordered.
    List(Option<u64>),
    Item,
    Quote,
    CodeBlock,
    Table,
    TableHead,
    TableRow,
    TableCell,
    Emphasis,
    Strong,
    Struck,
    /// `None` where the address was refused.
    Link(Option<String>),
    /// Never loaded; the children are its alternative text.
    Image,
    Text(Leaf),
    Code(Leaf),
    /// A line break the author asked for.
    Break,
    Rule,
    /// A ticked or open box.
    Task(bool),
    /// Anything else: the children as they are.
    Plain,
}

/// Text and where it stands in the source, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub text: String,
    pub source: Range<usize>,
}

/// Reads Markdown with tables, strikethrough and task lists. Every text is Markdown, so there is
/// nothing to fail.
pub fn parse(source: &str) -> Vec<Node> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder::default();
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        builder.event(event, range);
    }
    builder.finish()
}

#[derive(Default)]
struct Builder {
    done: Vec<Node>,
    open: Vec<Node>,
    /// Open elements beyond [`MAX_DEPTH`].
    flattened: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let leaf = |text: &str| Leaf {
            text: text.to_owned(),
            source: range.clone(),
        };
        match event {
            Event::Start(_) if self.open.len() >= MAX_DEPTH => self.flattened += 1,
            Event::Start(tag) => self.open.push(Node {
                kind: kind(tag),
                children: Vec::new(),
            }),
            Event::End(_) if self.flattened > 0 => self.flattened -= 1,
            Event::End(_) => self.close(),
            Event::Code(text) => self.push(Kind::Code(leaf(&text))),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.push(Kind::Text(leaf(&text))),
            Event::SoftBreak => self.push(Kind::Text(leaf("\n"))),
            Event::HardBreak => self.push(Kind::Break),
            Event::Rule => self.push(Kind::Rule),
            Event::TaskListMarker(done) => self.push(Kind::Task(done)),
        }
    }

    fn push(&mut self, kind: Kind) {
        self.add(Node {
            kind,
            children: Vec::new(),
        });
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => self.done.push(node),
        }
    }

    fn close(&mut self) {
        if let Some(node) = self.open.pop() {
            self.add(node);
        }
    }

    fn finish(mut self) -> Vec<Node> {
        while !self.open.is_empty() {
            self.close();
        }
        self.done
    }
}

fn kind(tag: Tag<'_>) -> Kind {
    match tag {
        Tag::Paragraph => Kind::Paragraph,
        Tag::Heading { level, .. } => Kind::Heading(level as u8),
        Tag::BlockQuote(_) => Kind::Quote,
        Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => Kind::CodeBlock,
        Tag::List(start) => Kind::List(start),
        Tag::Item => Kind::Item,
        Tag::Table(_) => Kind::Table,
        Tag::TableHead => Kind::TableHead,
        Tag::TableRow => Kind::TableRow,
        Tag::TableCell => Kind::TableCell,
        Tag::Emphasis => Kind::Emphasis,
        Tag::Strong => Kind::Strong,
        Tag::Strikethrough => Kind::Struck,
        Tag::Link { dest_url, .. } => Kind::Link(safe_address(&dest_url)),
        Tag::Image { .. } => Kind::Image,
        Tag::HtmlBlock => Kind::Paragraph,
        _ => Kind::Plain,
    }
}

/// The address, if following it can do no more than open another page or a mail.
fn safe_address(address: &str) -> Option<String> {
    let lower = address.trim().to_ascii_lowercase();
    let safe = ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme));
    safe.then(|| address.trim().to_owned())
}

/// Cuts a leaf where marks (ranges of the source) begin and end. A leaf whose text differs from
/// its source, such as code in backticks, is marked as a whole.
pub fn cut<'a>(leaf: &'a Leaf, marks: &[Range<usize>]) -> Vec<(&'a str, bool)> {
    let touches =
        |mark: &&Range<usize>| mark.start < leaf.source.end && leaf.source.start < mark.end;
    let marks: Vec<&Range<usize>> = marks.iter().filter(touches).collect();
    if marks.is_empty() || leaf.text.len() != leaf.source.len() {
        return vec![(leaf.text.as_str(), !marks.is_empty())];
    }
    let inside = |at: usize| at.clamp(leaf.source.start, leaf.source.end) - leaf.source.start;
    let mut cuts = vec![0, leaf.text.len()];
    cuts.extend(
        marks
            .iter()
            .flat_map(|mark| [inside(mark.start), inside(mark.end)]),
    );
    cuts.retain(|at| leaf.text.is_char_boundary(*at));
    cuts.sort_unstable();
    cuts.dedup();
    let marked = |at: usize| marks.iter().any(|m| m.contains(&(at + leaf.source.start)));
    cuts.windows(2)
        .map(|pair| (&leaf.text[pair[0]..pair[1]], marked(pair[0])))
        .collect()
}

/// Where a judge's quote stands in a source: ranges in bytes, one for each part between
/// ellipses. Case, white space, typographic quotes and Markdown's own signs are passed over,
/// because judges quote what they read, not what is written.
pub fn find_quote(source: &str, quote: &str) -> Vec<Range<usize>> {
    let plain = plain(source);
    let quote = quote.replace("...", "…");
    quote
        .split('…')
        .filter_map(|part| {
            let wanted: Vec<char> = self::plain(part).into_iter().map(|(c, _)| c).collect();
            find(&plain, trim(&wanted))
        })
        .collect()
}

/// A comparable character and the bytes it stands for.
type Place = (char, Range<usize>);

fn plain(text: &str) -> Vec<Place> {
    let mut out: Vec<Place> = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let bytes = at..at + c.len_utf8();
        match c {
            '*' | '_' | '`' | '#' | '>' | '|' | '~' => {}
            c if c.is_whitespace() => {
                if out.last().is_some_and(|(last, _)| *last != ' ') {
                    out.push((' ', bytes));
                }
            }
            '“' | '”' | '„' | '«' | '»' => out.push(('"', bytes)),
            '‘' | '’' | '‚' => out.push(('\'', bytes)),
            '–' | '—' => out.push(('-', bytes)),
            c => out.extend(c.to_lowercase().map(|lower| (lower, bytes.clone()))),
        }
    }
    out
}

/// Without the quotation marks and spaces round it.
fn trim(wanted: &[char]) -> &[char] {
    let edge = |c: &char| matches!(c, ' ' | '"' | '\'');
    let start = wanted.iter().position(|c| !edge(c)).unwrap_or(wanted.len());
    let end = wanted
        .iter()
        .rposition(|c| !edge(c))
        .map_or(start, |at| at + 1);
    &wanted[start..end]
}

fn find(plain: &[Place], wanted: &[char]) -> Option<Range<usize>> {
    if wanted.is_empty() {
        return None;
    }
    let matches = |window: &&[Place]| window.iter().map(|(c, _)| c).eq(wanted.iter());
    let window = plain.windows(wanted.len()).find(matches)?;
    Some(window.first()?.1.start..window.last()?.1.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as text: elements in brackets, leaves quoted.
    fn show(nodes: &[Node]) -> String {
        nodes.iter().map(show_one).collect::<Vec<_>>().join(" ")
    }

    fn show_one(node: &Node) -> String {
        match &node.kind {
            Kind::Text(leaf) => format!("{:?}", leaf.text),
            Kind::Code(leaf) => format!("`{}`", leaf.text),
            kind => format!("({kind:?} {})", show(&node.children)),
        }
    }

    #[test]
    fn hostile_markdown_is_inert() {
        let cases = [
            (
                "<script>alert(1)</script>",
                r#"(Paragraph "<script>alert(1)</script>")"#,
            ),
            (
                "a <b onclick=x>b",
                r#"(Paragraph "a " "<b onclick=x>" "b")"#,
            ),
            (
                "[x](javascript:alert(1))",
                r#"(Paragraph (Link(None) "x"))"#,
            ),
            ("[x](JaVaScRiPt:alert)", r#"(Paragraph (Link(None) "x"))"#),
            ("[x](data:text/html,y)", r#"(Paragraph (Link(None) "x"))"#),
            ("[x](#/settings)", r#"(Paragraph (Link(None) "x"))"#),
            (
                "![alt](https://evil.example/x.png)",
                r#"(Paragraph (Image  "alt"))"#,
            ),
            (
                "[x](https://a.example)",
                r#"(Paragraph (Link(Some("https://a.example")) "x"))"#,
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(
                show(&parse(source)).replace("(Image ", "(Image  "),
                expected,
                "{source}"
            );
        }
    }

    #[test]
    fn structure_survives() {
        let tree = parse("## A\n\n1. x\n2. **y**\n\n| a | b |\n|---|---|\n| c | `d` |\n");
        assert_eq!(
            show(&tree),
            r#"(Heading(2) "A") (List(Some(1)) (Item "x") (Item (Strong "y"))) "#.to_owned()
                + r#"(Table (TableHead (TableCell "a") (TableCell "b")) "#
                + r#"(TableRow (TableCell "c") (TableCell `d`)))"#
        );
    }

    #[test]
    fn deep_nesting_is_flattened() {
        fn depth(nodes: &[Node]) -> usize {
            nodes
                .iter()
                .map(|node| 1 + depth(&node.children))
                .max()
                .unwrap_or(0)
        }
        let tree = parse(&format!("{} end", "> ".repeat(5_000)));
        assert!(depth(&tree) <= MAX_DEPTH + 1);
    }

    #[test]
    fn a_quote_is_found_as_judges_quote() {
        let source = "Dear Ana,\n\nplease **send** the\nreport — “soon”.";
        let found = |quote: &str| {
            let ranges = find_quote(source, quote);
            ranges
                .into_iter()
                .map(|range| source[range].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("\"Please send the report\""),
            ["please **send** the\nreport"]
        );
        assert_eq!(found("dear ana … \"soon\""), ["Dear Ana", "soon"]);
        assert_eq!(found("report - "), ["report —"]);
        assert!(found("never written").is_empty());
        assert!(found("…").is_empty());
    }

    #[test]
    fn a_mark_cuts_leaves() {
        let source = "one **two** three";
        let marks = find_quote(source, "two th");
        let tree = parse(source);
        let leaf = |node: &Node| match &node.kind {
            Kind::Text(leaf) => leaf.clone(),
            other => panic!("not text: {other:?}"),
        };
        let children = &tree[0].children;
        assert_eq!(cut(&leaf(&children[0]), &marks), [("one ", false)]);
        assert_eq!(
            cut(&leaf(&children[1].children[0]), &marks),
            [("two", true)]
        );
        assert_eq!(
            cut(&leaf(&children[2]), &marks),
            [(" th", true), ("ree", false)]
        );
    }
}
