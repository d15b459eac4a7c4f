//! The form of a draft: what the text head takes over from the last one a user accepted. Somebody
//! who had an answer turned into a table will want a table again.

/// What holds a text's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// One block without line breaks.
    Block,
    Paragraphs,
    Bullets,
    /// Bullets with boxes to tick.
    Boxes,
    Numbered,
    /// Questions, each with its answer below.
    Questions,
    /// A table; the names of its columns.
    Table(Vec<String>),
    /// A code block; its language, which may be empty.
    Code(String),
}

/// Form of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub body: Body,
    pub headings: bool,
    pub words: usize,
    /// Ends with a question.
    pub ends_asking: bool,
}

/// Fewest lines of a kind that make it the body.
const SOME: usize = 2;

/// Reads the form of a draft.
pub fn of(draft: &str) -> Shape {
    let lines: Vec<&str> = draft
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    Shape {
        body: body(&lines),
        headings: lines.iter().any(|line| line.starts_with('#')),
        words: draft.split_whitespace().count(),
        ends_asking: lines.last().is_some_and(|line| line.ends_with('?')),
    }
}

fn body(lines: &[&str]) -> Body {
    let count = |is: fn(&str) -> bool| lines.iter().filter(|line| is(line)).count();
    if let Some(rule) = lines.iter().position(|line| is_table_rule(line)) {
        return Body::Table(columns(
            lines.get(rule.wrapping_sub(1)).copied().unwrap_or_default(),
        ));
    }
    if let Some(fence) = lines.iter().find(|line| line.starts_with("```")) {
        return Body::Code(fence.trim_start_matches('`').to_owned());
    }
    let (bullets, numbered) = (count(is_bullet), count(is_numbered));
    if count(is_box) >= SOME {
        Body::Boxes
    } else if numbered >= SOME && numbered >= bullets {
        Body::Numbered
    } else if bullets >= SOME {
        Body::Bullets
    } else if count(is_question) >= SOME {
        Body::Questions
    } else if lines.len() > 1 {
        Body::Paragraphs
    } else {
        Body::Block
    }
}

fn is_table_rule(line: &str) -> bool {
    line.contains("---") && line.contains('|') && line.chars().all(|c| "|-: ".contains(c))
}

fn columns(head: &str) -> Vec<String> {
    let cells = head
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().to_owned());
    cells.collect()
}

fn is_bullet(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("* ") || line.starts_with("• ")
}

fn is_box(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    line.starts_with("[ ]") || line.starts_with('☐')
}

fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
}

fn is_question(line: &str) -> bool {
    line.ends_with('?') && line.split_whitespace().count() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_forms_apart() {
        let table = || Body::Table(vec!["Task".to_owned(), "Hours".to_owned()]);
        let cases = [
            ("One block. Of two sentences.", Body::Block),
            ("First.\n\nSecond.", Body::Paragraphs),
            ("Here:\n- a\n- b", Body::Bullets),
            ("- [ ] a\n- [ ] b", Body::Boxes),
            ("1. a\n2) b", Body::Numbered),
            ("When?\nAt six.\nWhere?\nHere.", Body::Questions),
            ("| Task | Hours |\n|---|---|\n| a | 2 |", table()),
            ("Run:\n```r\nx <- 1\n```", Body::Code("r".to_owned())),
        ];
        for (draft, wanted) in cases {
            assert_eq!(of(draft).body, wanted, "{draft}");
        }
        assert!(of("# Title\ntext").headings);
        assert!(of("So be it?").ends_asking);
    }
}
