//! Output head A without a language model: the task's own sentences in the form of the last draft
//! the user accepted, cut to the length the user asked for. It rewords nothing.

use super::dialogue::sentences;
use super::shape::{Body, Shape};
use crate::bench::visible::Task;

/// What is known about the wanted text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Form of the last accepted draft.
    pub shape: Option<Shape>,
    /// A limit of words that the user or the task named.
    pub max_words: Option<usize>,
}

/// Writes the text.
pub fn write(task: &Task, wanted: &Wanted) -> String {
    let mut points = points(task);
    if let Some(max) = wanted.max_words {
        cut(&mut points, max);
    }
    let Some(shape) = &wanted.shape else {
        return points.join(" ");
    };
    let mut text = lay_out(&points, &shape.body);
    if shape.headings {
        let title = task.instruction.trim_end_matches(['.', '!', '?']);
        text = format!("# {title}\n\n{text}");
    }
    if shape.ends_asking && !text.ends_with('?') {
        text.push_str("\n\nWhat comes next?");
    }
    text
}

/// The sentences of the task's material, or of the instruction where there is none.
fn points(task: &Task) -> Vec<String> {
    let source = if task.content.trim().is_empty() {
        &task.instruction
    } else {
        &task.content
    };
    sentences(source)
        .into_iter()
        .map(|s| s.trim_start_matches(list_mark).to_owned())
        .collect()
}

fn list_mark(c: char) -> bool {
    matches!(c, '-' | '*' | '•' | ' ')
}

/// Leaves out sentences from the end until the limit holds; one always stays.
fn cut(points: &mut Vec<String>, max: usize) {
    let words = |points: &[String]| points.iter().flat_map(|p| p.split_whitespace()).count();
    while points.len() > 1 && words(points) > max {
        points.pop();
    }
}

fn lay_out(points: &[String], body: &Body) -> String {
    let lines = |line: &dyn Fn(usize, &String) -> String| {
        let lines: Vec<String> = points.iter().enumerate().map(|(i, p)| line(i, p)).collect();
        lines.join("\n")
    };
    match body {
        Body::Block => points.join(" "),
        Body::Paragraphs => points
            .chunks(3)
            .map(|p| p.join(" "))
            .collect::<Vec<_>>()
            .join("\n\n"),
        Body::Bullets => lines(&|_, point| format!("- {point}")),
        Body::Boxes => lines(&|_, point| format!("- [ ] {point}")),
        Body::Numbered => lines(&|i, point| format!("{}. {point}", i + 1)),
        Body::Questions => lines(&|_, point| format!("{}\n{point}\n", question(point))),
        Body::Table(columns) => table(points, columns),
        Body::Code(language) => format!("```{language}\n{}\n```", points.join("\n")),
    }
}

/// Asks after the first words of a point.
fn question(point: &str) -> String {
    let words: Vec<&str> = point.split_whitespace().take(4).collect();
    format!(
        "What about {}?",
        words.join(" ").trim_end_matches(['.', ',', ':', ';'])
    )
}

/// The draft's columns; the first takes a running number when there are several, the second the
/// point, the rest stays open.
fn table(points: &[String], columns: &[String]) -> String {
    let columns = if columns.is_empty() {
        &["Point".to_owned()]
    } else {
        columns
    };
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut rows = vec![
        row(columns.to_vec()),
        row(vec!["---".to_owned(); columns.len()]),
    ];
    for (i, point) in points.iter().enumerate() {
        let point = point.replace('|', "/");
        let cells = match columns.len() {
            1 => vec![point],
            n => {
                let mut cells = vec![(i + 1).to_string(), point];
                cells.resize(n, "–".to_owned());
                cells
            }
        };
        rows.push(row(cells));
    }
    rows.join("\n")
}

/// A limit of words named in a text: `80 words at most`, `a hundred and thirty words`.
pub fn word_limit(text: &str) -> Option<usize> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    let at = words
        .iter()
        .position(|word| word == "words" || word == "word")?;
    let before = &words[at.saturating_sub(6)..at];
    number(before)
}

/// The number that these words end with, in digits or spelt out.
pub fn number(words: &[String]) -> Option<usize> {
    let (mut total, mut spelt): (Option<usize>, bool) = (None, false);
    for word in words {
        (total, spelt) = match (small(word), word.as_str()) {
            (Some(n), _) => {
                let before = total.filter(|total| spelt && continues(*total, n));
                (Some(n + before.unwrap_or(0)), true)
            }
            (None, "hundred") => (Some(total.unwrap_or(1) * 100), true),
            (None, "and" | "a") => (total, spelt),
            _ => (word.parse().ok(), false),
        };
    }
    total
}

/// Whether a spelt-out number goes on with `n`, as "a hundred" with "thirty" and "sixty" with
/// "five".
fn continues(total: usize, n: usize) -> bool {
    (total > 0 && total.is_multiple_of(100))
        || (total.is_multiple_of(10) && total % 100 >= 20 && n < 10)
}

fn small(word: &str) -> Option<usize> {
    const ONES: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let ones = ONES.iter().position(|w| *w == word);
    ones.or_else(|| TENS.iter().position(|w| *w == word).map(|i| (i + 2) * 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::embedded::shape;

    fn written(content: &str, draft: &str, max_words: Option<usize>) -> String {
        let task = Task {
            instruction: "Write it.".to_owned(),
            content: content.to_owned(),
        };
        write(
            &task,
            &Wanted {
                shape: Some(shape::of(draft)),
                max_words,
            },
        )
    }

    #[test]
    fn gives_the_task_the_form_of_the_draft() {
        let content = "The hall is shut. Keys are with Dai.";
        let cases = [
            ("- a\n- b", "- The hall is shut.\n- Keys are with Dai."),
            ("1. a\n2. b", "1. The hall is shut.\n2. Keys are with Dai."),
            ("One block.", "The hall is shut. Keys are with Dai."),
            (
                "| No | What |\n|---|---|\n| 1 | a |",
                "| No | What |\n| --- | --- |\n| 1 | The hall is shut. |\n| 2 | Keys are with Dai. |",
            ),
        ];
        for (draft, wanted) in cases {
            assert_eq!(written(content, draft, None), wanted, "{draft}");
        }
        assert_eq!(written(content, "a", Some(5)), "The hall is shut.");
    }

    #[test]
    fn reads_limits_in_digits_and_words() {
        let cases = [
            ("takes 130 words and not one over", Some(130)),
            ("a hundred and thirty words", Some(130)),
            ("two hundred words, no more", Some(200)),
            ("eighty words", Some(80)),
            ("in your own words", None),
            ("no words for it", None),
            ("sixty-five words", Some(65)),
            ("of the 3 texts, each 90 words", Some(90)),
        ];
        for (text, wanted) in cases {
            assert_eq!(word_limit(text), wanted, "{text}");
        }
    }
}
