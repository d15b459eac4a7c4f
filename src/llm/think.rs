//! Reasoning that a model wrote into its answer, between tags: never the answer itself.

/// A text taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub answer: String,
    /// What stood in blocks, joined by blank lines; empty when there were none.
    pub reasoning: String,
    /// A block was opened and never closed: what follows its tag is no answer.
    pub unclosed: bool,
}

/// Tags of a block, as (opening, closing), in lower case.
const TAGS: [(&str, &str); 15] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("<reasoning_scratchpad>", "</reasoning_scratchpad>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|think|>", "<|/think|>"),
    ("＜think＞", "＜/think＞"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
];

/// The mark before the answer in the raw format of gpt-oss.
const FINAL_CHANNEL: &str = "<|channel|>final<|message|>";

/// Splits off reasoning that leads the text, however often, and reasoning whose opening tag the
/// chat template already wrote. `protected(text)` gives byte ranges in which tags are text, for
/// example values of JSON.
pub fn split(text: &str, protected: impl Fn(&str) -> Vec<(usize, usize)>) -> Split {
    let mut out = Split::default();
    if !text.contains(['<', '◁', '＜']) && !text.contains("HINK]") && !text.contains("hink]") {
        out.answer = text.to_owned();
        return out;
    }
    let mut rest = text;
    if let Some(at) = text.rfind(FINAL_CHANNEL) {
        out.add_reasoning(&text[..at]);
        rest = &text[at + FINAL_CHANNEL.len()..];
    }
    rest = strip_leading(rest, &mut out);
    if !out.unclosed {
        rest = strip_before_closing(rest, &mut out, &protected(rest));
        rest = strip_leading(rest, &mut out);
    }
    let (answer, block) = cut_open_block(rest, &mut out, &protected(rest));
    out.answer = match block {
        Some(after) => format!("{}{}", answer.trim_end(), after),
        None => answer.to_owned(),
    };
    out
}

/// For free text: code and quoted tags are common there, so only what leads counts.
pub fn split_leading(text: &str) -> Split {
    let mut out = Split::default();
    let mut rest = strip_leading(text, &mut out);
    if !out.unclosed && out.reasoning.is_empty() {
        let closing = rest.find("</think>");
        let alone = closing.filter(|at| !rest[..*at].contains("<think>") && !in_code(rest, *at));
        if let Some(at) = alone {
            out.add_reasoning(&rest[..at]);
            rest = rest[at + "</think>".len()..].trim_start();
        }
    }
    out.answer = rest.to_owned();
    out
}

impl Split {
    fn add_reasoning(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.reasoning.is_empty() {
            self.reasoning.push_str("\n\n");
        }
        self.reasoning.push_str(text);
    }
}

/// Behind an odd number of backticks.
fn in_code(text: &str, at: usize) -> bool {
    text[..at].matches('`').count() % 2 == 1
}

fn strip_leading<'a>(text: &'a str, out: &mut Split) -> &'a str {
    let mut rest = text;
    loop {
        let start = rest.trim_start();
        let Some((open, close)) = opening_at(start) else {
            return rest;
        };
        let inner = &start[open..];
        let Some(end) = find_ignoring_case(inner, close, 0) else {
            out.add_reasoning(inner);
            out.unclosed = true;
            return "";
        };
        out.add_reasoning(&inner[..end]);
        rest = inner[end + close.len()..].trim_start();
        // Of a block within the block.
        while let Some(after) = rest.strip_prefix(close) {
            rest = after.trim_start();
        }
    }
}

/// Everything before the last closing tag that is not inside a protected range.
fn strip_before_closing<'a>(text: &'a str, out: &mut Split, safe: &[(usize, usize)]) -> &'a str {
    let mut last: Option<(usize, usize)> = None;
    for (open, close) in TAGS {
        let mut from = 0;
        while let Some(at) = find_ignoring_case(text, close, from) {
            from = at + close.len();
            let first_open = find_ignoring_case(text, open, 0).is_some_and(|o| o < at);
            let lone = !first_open && !is_inside(safe, at);
            if lone && last.is_none_or(|(_, end)| from > end) {
                last = Some((at, from));
            }
        }
    }
    let Some((at, end)) = last else { return text };
    out.add_reasoning(&text[..at]);
    &text[end..]
}

/// A block in the middle: closed ones are cut out; an open one counts only at the start of a line.
fn cut_open_block<'a>(
    text: &'a str,
    out: &mut Split,
    safe: &[(usize, usize)],
) -> (&'a str, Option<String>) {
    for (open, close) in TAGS {
        let Some(at) = find_ignoring_case(text, open, 0).filter(|at| !is_inside(safe, *at)) else {
            continue;
        };
        let inner = &text[at + open.len()..];
        if let Some(end) = find_ignoring_case(inner, close, 0) {
            out.add_reasoning(&inner[..end]);
            return (&text[..at], Some(inner[end + close.len()..].to_owned()));
        }
        if text[..at].trim_end_matches([' ', '\t']).ends_with('\n') {
            out.add_reasoning(inner);
            out.unclosed = true;
            return (&text[..at], None);
        }
    }
    (text, None)
}

fn is_inside(ranges: &[(usize, usize)], at: usize) -> bool {
    ranges.iter().any(|(from, to)| (*from..*to).contains(&at))
}

/// Length of the opening tag at the start, and its closing tag.
fn opening_at(text: &str) -> Option<(usize, &'static str)> {
    let starts = |open: &str| {
        let head = text.get(..open.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(open))
    };
    let found = TAGS.iter().find(|(open, _)| starts(open));
    found.map(|(open, close)| (open.len(), *close))
}

fn find_ignoring_case(text: &str, needle: &str, from: usize) -> Option<usize> {
    let haystack = text.as_bytes();
    let needle = needle.as_bytes();
    let last = haystack.len().checked_sub(needle.len())?;
    (from..=last).find(|at| haystack[*at..*at + needle.len()].eq_ignore_ascii_case(needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, answer: &str, reasoning: &str, unclosed: bool) {
        let split = split_leading(text);
        let expected = Split {
            answer: answer.to_owned(),
            reasoning: reasoning.to_owned(),
            unclosed,
        };
        assert_eq!(split, expected, "{text:?}");
    }

    #[test]
    fn leading_blocks_are_reasoning() {
        check("<think>a</think>\nb", "b", "a", false);
        check("\n<THINK>a</Think>b", "b", "a", false);
        check("<think></think>\n\n b", "b", "", false);
        check("<think>a</think><think>b</think>c", "c", "a\n\nb", false);
        check("[THINK]a[/THINK]b", "b", "a", false);
        check("a</think>b", "b", "a", false);
        check("<think>a<think>b</think></think>c", "c", "a<think>b", false);
        check("<think>a", "", "a", true);
    }

    #[test]
    fn tags_in_the_text_are_text() {
        let text = "Close it with `</think>` please";
        check(text, text, "", false);
        let text = "Use <think> and </think>.";
        check(text, text, "", false);
        check("plain", "plain", "", false);
        check("", "", "", false);
        check("思考</think>好", "好", "思考", false);
    }
}
