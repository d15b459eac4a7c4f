//! Where sentences begin and end: Unicode's rules (UAX #29), which know the marks of many scripts,
//! corrected for what they cannot know: abbreviations, initials, numbered lists, fenced code.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Byte ranges of the sentences of a text, in order, without blank edges. A line ends a sentence; a
/// fenced block of code is one. What has neither letter nor digit belongs to a neighbour.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for block in blocks(text) {
        match block {
            Block::Code(range) => found.extend(trimmed(text, range)),
            Block::Line(range) => line(text, range, &mut found),
        }
    }
    join_bare(text, found)
}

enum Block {
    Line(Range<usize>),
    /// A fenced block with its fences; without a closing one it goes to the end.
    Code(Range<usize>),
}

fn blocks(text: &str) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let (start, end) = (at, at + whole.len());
        at = end;
        match (open, fence(whole)) {
            (None, Some(mark)) => open = Some((start, mark)),
            (None, None) => out.push(Block::Line(start..end)),
            (Some((begin, opened)), Some(mark)) if mark == opened => {
                out.push(Block::Code(begin..end));
                open = None;
            }
            (Some(_), _) => {}
        }
    }
    out.extend(open.map(|(begin, _)| Block::Code(begin..text.len())));
    out
}

/// The mark of a line that opens or closes a block of code.
fn fence(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    ["```", "~~~"]
        .into_iter()
        .find(|mark| line.starts_with(mark))
}

/// The sentences of one line.
fn line(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let own = found.len();
    for (at, piece) in text[range.clone()].split_sentence_bound_indices() {
        let start = range.start + at;
        let Some(piece) = trimmed(text, start..start + piece.len()) else {
            continue;
        };
        match found.get_mut(own..).and_then(<[_]>::last_mut) {
            Some(last) if goes_on(&text[last.clone()], &text[piece.clone()]) => {
                last.end = piece.end;
            }
            _ => found.push(piece),
        }
    }
}

/// Whether a mark at the end of `before` ends no sentence, so that `after` belongs to it.
fn goes_on(before: &str, after: &str) -> bool {
    let first = after.chars().next();
    let lower = first.is_some_and(char::is_lowercase);
    // “Is it far?” she asked.
    if before.ends_with(CLOSING_QUOTES) {
        return lower;
    }
    let Some(head) = before.strip_suffix('.') else {
        return false;
    };
    let word = last_word(head);
    if word.is_empty() {
        return false;
    }
    // “1. Boil water” and “b. Wait”: the whole sentence so far is the number of an item.
    let is_marker = head.trim_start_matches(['-', '*', '•', '(', ' ']) == word;
    let digits = word.chars().all(|c| c.is_ascii_digit());
    if digits {
        // A German date: “am 3. März”.
        return is_marker || (word.len() <= 2 && starts_with_month(after));
    }
    let mut letters = word.chars();
    let initial = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
    if initial {
        return word.chars().all(char::is_uppercase) || is_marker;
    }
    let word = word.to_lowercase();
    match first.is_some_and(|c| c.is_ascii_digit()) {
        true if BEFORE_NUMBERS.contains(&word.as_str()) => true,
        _ => ABBREVIATIONS.contains(&word.as_str()),
    }
}

/// Marks that close a quotation.
const CLOSING_QUOTES: [char; 7] = ['"', '”', '“', '»', '«', '’', '」'];

/// Written with a dot, and hardly ever the last word of a sentence. Inner dots are kept.
const ABBREVIATIONS: [&str; 64] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "rev", "gen", "col", "capt", "lt", "hon",
    "vs", "e.g", "i.e", "cf", "viz", "approx", "dept", "est", "ca", "resp", "incl", "excl", "ext",
    "z.b", "d.h", "u.a", "s.o", "s.u", "bzw", "evtl", "ggf", "inkl", "zzgl", "vgl", "hr", "fr",
    "str", "nr", "tel", "abs", "art", "bd", "hrsg", "mme", "mlle", "mgr", "p.ex", "sra", "srta",
    "dra", "ud", "uds", "p.ej", "sig", "dott", "ing", "avv", "exmo", "m.in", "tzw",
];

/// Abbreviations only where a number follows.
const BEFORE_NUMBERS: [&str; 24] = [
    "no", "nos", "vol", "fig", "figs", "eq", "sec", "ch", "chap", "p", "pp", "pg", "ed", "jan",
    "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "num",
];

const GERMAN_MONTHS: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

fn starts_with_month(text: &str) -> bool {
    GERMAN_MONTHS.iter().any(|month| text.starts_with(month))
}

/// The last word, inner dots included, without opening brackets and quotes.
fn last_word(text: &str) -> &str {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let end = start + piece.trim().len();
    (start < end).then_some(start..end)
}

/// A dash, an emoji, an ellipsis: to the sentence before it, or to the one after it where there is
/// none.
fn join_bare(text: &str, found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let bare = |range: &Range<usize>| !text[range.clone()].chars().any(char::is_alphanumeric);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match out.last_mut() {
            Some(last) if bare(&range) || bare(last) => last.end = range.end,
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences are given with a bar between them; the bars are where the text has blanks or, in
    /// scripts without, nothing.
    fn check(marked: &str) {
        let text = marked.replace(" | ", " ").replace('|', "");
        let wanted: Vec<&str> = marked.split('|').map(str::trim).collect();
        let found: Vec<&str> = sentences(&text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, wanted, "{text:?}");
    }

    #[test]
    fn marks_of_many_languages_end_a_sentence() {
        check("I like tea. | Do you? | Yes!");
        check("我不吃辣。|昨天拔了智齿！|可以送粥吗？");
        check("मुझे चाय पसंद है। | आपको?");
        check("هل تحب الشاي؟ | نعم.");
        check("Ես թեյ եմ սիրում։ | Դո՞ւ։");
        check("¿Vienes mañana? | ¡Claro que sí!");
        check("Wait… what? | I see.");
    }

    #[test]
    fn abbreviations_initials_and_numbers_end_none() {
        check("Dr. Smith and Mrs. Lee came. | They left.");
        check("Use fruit, e.g. Bananas or figs. | Not nuts.");
        check("Ask J. R. R. Tolkien. | He knows.");
        check("It costs 3.50 at most. | Version 1.2.3 is out.");
        check("See No. 5 and Fig. 3 there. | No. | I said so.");
        check("Das geht z.B. Montag. | Wir kommen am 3. März. | Gut.");
        check("Il a vu Mme. Durand hier. | Elle va bien.");
        check("Open example.com now. | Then wait.");
    }

    #[test]
    fn quotes_stay_with_who_said_them() {
        check("“Is it far?” she asked. | It was.");
        check("He said \"No more!\" and left. | Good.");
        check("(It rained. | It poured.) | Then sun.");
    }

    #[test]
    fn each_item_of_a_list_is_a_sentence_with_its_number() {
        let text = "Plan:\n1. Boil water.\n2) Wait. Stir.\n- tea\n• Milk, cold\n\nDone";
        let found: Vec<&str> = sentences(text).into_iter().map(|r| &text[r]).collect();
        let wanted = [
            "Plan:",
            "1. Boil water.",
            "2) Wait.",
            "Stir.",
            "- tea",
            "• Milk, cold",
            "Done",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_block_of_code_is_one_and_an_open_one_reaches_the_end() {
        let text = "Look:\n```py\nx = 1. \n# No. Yes.\n```\nFine. Bye\n~~~\na. B\n```\n";
        let found: Vec<&str> = sentences(text).into_iter().map(|r| &text[r]).collect();
        let wanted = [
            "Look:",
            "```py\nx = 1. \n# No. Yes.\n```",
            "Fine.",
            "Bye",
            "~~~\na. B\n```",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn what_has_no_letters_joins_a_neighbour_and_nothing_is_lost() {
        check("Great! | 🎉 Next. 🎉");
        check("— So. | Then.");
        assert!(sentences(" \n\t").is_empty());
        assert_eq!(sentences("?!"), [0..2]);
        for text in ["a. B\n\n```\nc", "Dr.", "1.", "\"Hm.\" x", "…\n—\nok"] {
            let kept: String = sentences(text).into_iter().map(|r| &text[r]).collect();
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(dense(&kept), dense(text), "{text:?}");
        }
    }
}
