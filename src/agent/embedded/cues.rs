//! English cues of the four signals. General words only: nothing here knows a scenario, a user
//! or a benchmark.

/// A kind of signal the cues stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    Revision,
    Complaint,
    Statement,
    Pattern,
}

#[cfg(test)]
impl Cue {
    /// In the order of the salience table.
    pub const ALL: [Cue; 4] = [Cue::Revision, Cue::Complaint, Cue::Statement, Cue::Pattern];
}

/// Words that begin an order to change something.
const ORDERS: &[&str] = &[
    "add", "begin", "break", "bring", "call", "change", "choose", "close", "cut", "delete", "drop",
    "end", "exchange", "fold", "give", "group", "join", "keep", "leave", "let", "list", "lose",
    "make", "merge", "move", "name", "no", "not", "number", "only", "open", "order", "out", "pack",
    "pull", "push", "put", "raise", "remove", "replace", "rewrite", "round", "say", "send", "set",
    "shorten", "show", "skip", "sort", "spell", "split", "start", "strike", "strip", "swap",
    "switch", "take", "throw", "trim", "turn", "use", "write",
];

/// Words that may stand before an order.
const LEADS: &[&str] = &[
    "and", "then", "now", "please", "also", "but", "so", "good", "yes", "just",
];

/// Phrases that set one thing against another.
const CONTRASTS: &[&str] = &[
    "instead",
    "rather than",
    "not the",
    "without",
    "no more",
    "fewer",
    "shorter",
    "longer",
    "the other way",
    "from now on",
    "at the top",
    "at the end",
];

/// Phrases of annoyance and refusal.
const ANNOYED: &[&str] = &[
    "too long",
    "too short",
    "too much",
    "too many",
    "too late",
    "too early",
    "too far",
    "too loud",
    "too stiff",
    "far too",
    "hate",
    "nobody",
    "who reads",
    "why ",
    "awful",
    "ugly",
    "useless",
    "ridiculous",
    "wrong",
    "annoy",
    "tired of",
    "sick of",
    "can't stand",
    "waste of",
    "never again",
    "enough of",
    "what am i",
    "am i a",
    "last time you",
    "nonsense",
];

/// Phrases in which somebody says what they want.
const STATEMENTS: &[&str] = &[
    "i like",
    "i prefer",
    "i want",
    "i'd rather",
    "i would rather",
    "i always",
    "i never",
    "i don't like",
    "i don't want",
    "i do not want",
    "i can't have",
    "i only",
    "i love",
    "i need",
    "i won't",
    "my rule",
    "i insist",
    "i refuse",
    "i go by",
    "what i look at",
    "i don't do",
    "for me it",
];

/// Phrases of habit, and of a change that makes old habits unfit.
const PATTERNS: &[&str] = &[
    "as usual",
    "the usual",
    "as always",
    "as ever",
    "as before",
    "same as",
    "the same",
    "again",
    "like last",
    "as last",
    "last time",
    "every time",
    "each time",
    "every ",
    "once more",
    "still ",
    "these days",
    "since ",
    "at the moment",
    "for now",
    "until ",
    "doctor",
    "surgery",
    "hospital",
    "sprained",
    "pregnant",
    "newborn",
    "moved in",
    "lost my job",
    "pay cut",
];

/// How many cues of a signal a turn has.
pub fn strength(signal: Cue, text: &str) -> usize {
    let text = text.to_lowercase().replace('’', "'");
    match signal {
        Cue::Revision => {
            let orders = super::dialogue::sentences(&text)
                .into_iter()
                .filter(|s| is_order(s))
                .count();
            if orders == 0 {
                0
            } else {
                orders + contained(&text, CONTRASTS)
            }
        }
        Cue::Complaint => contained(&text, ANNOYED) + usize::from(text.contains('!')),
        Cue::Statement => contained(&text, STATEMENTS),
        Cue::Pattern => contained(&text, PATTERNS),
    }
}

fn contained(text: &str, phrases: &[&str]) -> usize {
    phrases
        .iter()
        .filter(|phrase| has_phrase(text, phrase))
        .count()
}

/// Whether the text has the phrase from the start of a word on.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let starts_word = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| starts_word(at))
}

/// Whether a sentence, in lower case, begins with an order.
pub fn is_order(sentence: &str) -> bool {
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let first = words
        .filter(|w| !w.is_empty())
        .find(|word| !LEADS.contains(word));
    first.is_some_and(|word| ORDERS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_orders_from_remarks() {
        let cases = [
            ("take the greeting out.", true),
            ("and then, please, number them.", true),
            ("the cat takes it out.", false),
            ("outside it rains.", false),
            ("", false),
        ];
        for (sentence, wanted) in cases {
            assert_eq!(is_order(sentence), wanted, "{sentence}");
        }
    }

    #[test]
    fn counts_phrases_from_the_start_of_a_word() {
        assert_eq!(strength(Cue::Pattern, "As usual."), 1);
        assert_eq!(
            strength(Cue::Statement, "I’d rather walk; I never drive."),
            2
        );
        assert_eq!(strength(Cue::Complaint, "Chateau."), 0);
    }
}
