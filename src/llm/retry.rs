//! What to do after a failed call: a pure decision; the transport that obeys it is a loop.
//!
//! Waiting is bounded by attempts. Changes of parameters are not counted, since each one takes
//! something away for good and so they end by themselves.

use super::quirks::{JsonSupport, OutputLimitField, Quirks, ReasoningReplay, ToolChoiceSupport};
use super::{LlmError, Said};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Calls in all, the first included.
    pub max_attempts: u32,
    /// First wait when the server names none; doubles with each attempt.
    pub base_seconds: f64,
    /// No wait is longer, whatever the server asks for.
    pub max_wait_seconds: f64,
    /// Calls in all when nothing is known about why the server was not reached.
    pub max_unreachable_attempts: u32,
    /// 0 to 1, from the caller's random numbers: spreads waits that are ours.
    pub jitter: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            base_seconds: 1.0,
            max_wait_seconds: 600.0,
            max_unreachable_attempts: 2,
            jitter: 0.5,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The same request again after a wait.
    RetryAfter {
        seconds: f64,
        /// For the visitor, for example that a longer wait was asked for.
        note: Option<String>,
    },
    /// Again at once, encoded with these quirks, which are to be remembered for the endpoint.
    RetryWith { quirks: Quirks, note: String },
    /// Again at once with this output limit in tokens.
    RetryLimit { max_tokens: u32, note: String },
    /// Again at once with less: the oldest turns or the least passages left out.
    RetryShorter { note: String },
    /// Give the error to the caller.
    Stop,
}

/// Output limits are not raised beyond this many tokens.
const LARGEST_LIMIT: u32 = 32_768;

/// `attempt` counts from 1; `max_tokens` is the limit the failed request carried.
pub fn decide(
    error: &LlmError,
    attempt: u32,
    quirks: &Quirks,
    max_tokens: Option<u32>,
    policy: &Policy,
) -> Decision {
    match error {
        LlmError::RefusedParameter { name, said } => learn(name, said, quirks, max_tokens),
        LlmError::OutputLimit { .. } => longer(attempt, max_tokens),
        LlmError::ContextOverflow(_) | LlmError::TooLarge(_) if attempt == 1 => {
            Decision::RetryShorter {
                note: "the prompt does not fit the model; asking again without its oldest turns"
                    .to_owned(),
            }
        }
        LlmError::Unreachable { .. } if attempt >= policy.max_unreachable_attempts => {
            Decision::Stop
        }
        error if error.is_retryable() && attempt < policy.max_attempts => {
            after_wait(error.wait_seconds(), attempt, policy)
        }
        _ => Decision::Stop,
    }
}

fn after_wait(asked: Option<f64>, attempt: u32, policy: &Policy) -> Decision {
    let most = policy.max_wait_seconds;
    let Some(asked) = asked else {
        let doubled = policy.base_seconds * f64::from(2_u32.saturating_pow(attempt - 1));
        let seconds = (doubled * (0.5 + policy.jitter)).min(most);
        return Decision::RetryAfter {
            seconds,
            note: None,
        };
    };
    let note = (asked > most).then(|| {
        format!("the server asks to wait {asked:.0} s; trying again after {most:.0} s already")
    });
    Decision::RetryAfter {
        seconds: asked.min(most),
        note,
    }
}

/// Asked for when an answer ran into a limit that was never sent.
const ROOM_WHERE_NONE_WAS_NAMED: u32 = 8192;

/// Once, with twice the room.
fn longer(attempt: u32, max_tokens: Option<u32>) -> Decision {
    match max_tokens {
        None if attempt == 1 => Decision::RetryLimit {
            max_tokens: ROOM_WHERE_NONE_WAS_NAMED,
            note: format!(
                "the provider's own limit was not enough for an answer; asking again with \
                 {ROOM_WHERE_NONE_WAS_NAMED} tokens"
            ),
        },
        Some(limit) if attempt == 1 && limit < LARGEST_LIMIT => Decision::RetryLimit {
            max_tokens: limit.saturating_mul(2).min(LARGEST_LIMIT),
            note: format!("{limit} tokens were not enough for an answer; asking again with more"),
        },
        _ => Decision::Stop,
    }
}

/// Takes exactly the refused parameter away, or swaps it for the one that was asked for.
fn learn(name: &str, said: &Said, quirks: &Quirks, max_tokens: Option<u32>) -> Decision {
    if quirks.omit.contains(name) {
        return Decision::Stop;
    }
    let mut learned = quirks.clone();
    let note = match name {
        "max_tokens" | "max_completion_tokens" => {
            if let Some(limit) = stated_limit(&said.message, max_tokens) {
                return Decision::RetryLimit {
                    max_tokens: limit,
                    note: format!("the provider allows {limit} tokens of output; asking for those"),
                };
            }
            other_limit(&mut learned, name, said)
        }
        "response_format" => match weaker_json(&mut learned) {
            Some(note) => note,
            None => return Decision::Stop,
        },
        "tool_choice" if quirks.tool_choice != ToolChoiceSupport::Omit => {
            learned.tool_choice = ToolChoiceSupport::Omit;
            without(name)
        }
        "reasoning_content" if !quirks.reasoning_flipped => flip_reasoning(&mut learned),
        "temperature" | "stream_options" | "seed" | "top_p" | "parallel_tool_calls" => {
            learned.omit.insert(name.to_owned());
            without(name)
        }
        "stream" => {
            learned
                .omit
                .extend(["stream", "stream_options"].map(str::to_owned));
            "this server does not stream, so the answer comes in one piece".to_owned()
        }
        _ => return Decision::Stop,
    };
    Decision::RetryWith {
        quirks: learned,
        note,
    }
}

fn without(name: &str) -> String {
    format!("the provider refuses {name}; sent without it")
}

/// "max_tokens must be <= 8192", "[1, 8192]", "at most 16384": the bound that is stated, if what was
/// sent lies beyond it.
fn stated_limit(message: &str, sent: Option<u32>) -> Option<u32> {
    const LEADS: [&str; 22] = [
        "<=",
        "≤",
        "< ",
        "> ",
        "at most",
        "up to",
        "less than or equal to",
        "less than",
        "not exceed",
        "maximum of",
        "maximum is",
        "maximum value of",
        "maximum allowed value is",
        "max is",
        "limit of",
        "limit is",
        "lower than",
        "[1, ",
        "[1,",
        "(inclusive) to",
        "between 1 and",
        "from 1 to",
    ];
    let text = message.to_lowercase();
    let bound = |lead: &str| {
        let at = text.find(lead)? + lead.len();
        let rest = text[at..].trim_start_matches([' ', ':', '`', '\'', '=']);
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number = rest[..end].parse::<u32>().ok()?;
        let open = lead == "< " || lead == "less than" || rest[end..].starts_with(" (exclusive)");
        Some(number - u32::from(open))
    };
    let stated = LEADS.iter().filter_map(|lead| bound(lead)).max();
    let bound = stated.or_else(|| sent.and_then(|sent| largest_below(message, sent)));
    bound.filter(|bound| *bound >= 16 && sent.is_none_or(|sent| *bound < sent))
}

fn largest_below(message: &str, sent: u32) -> Option<u32> {
    let numbers = message.split(|c: char| !c.is_ascii_digit());
    let numbers = numbers.filter_map(|digits| digits.parse::<u32>().ok());
    numbers.filter(|number| *number < sent).max()
}

/// Leaves the refused name of the limit out, and takes the other one when the refusal asks for it.
fn other_limit(quirks: &mut Quirks, refused: &str, said: &Said) -> String {
    let (other, other_field) = match refused {
        "max_tokens" => (
            "max_completion_tokens",
            OutputLimitField::MaxCompletionTokens,
        ),
        _ => ("max_tokens", OutputLimitField::MaxTokens),
    };
    quirks.omit.insert(refused.to_owned());
    if names(&said.message, other) && !quirks.omit.contains(other) {
        quirks.output_limit = other_field;
        return format!("the provider wants {other} instead of {refused}");
    }
    // What was really sent may go by its other name.
    let sent = match quirks.output_limit {
        OutputLimitField::MaxTokens => "max_tokens",
        OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    quirks.omit.insert(sent.to_owned());
    without(refused)
}

/// `max_tokens` is not named by `max_tokens_x`, nor by a longer word.
fn names(message: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    message.match_indices(word).any(|(at, _)| {
        let before = message[..at].chars().next_back().is_some_and(part);
        let after = message[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}

fn weaker_json(quirks: &mut Quirks) -> Option<String> {
    let (weaker, note) = match quirks.json {
        JsonSupport::Schema => (
            JsonSupport::Object,
            "the provider refuses a JSON schema; asking for a JSON object",
        ),
        JsonSupport::Object => (
            JsonSupport::None,
            "the provider refuses JSON mode; asking in words only",
        ),
        JsonSupport::None => return None,
    };
    quirks.json = weaker;
    Some(note.to_owned())
}

fn flip_reasoning(quirks: &mut Quirks) -> String {
    quirks.reasoning_flipped = true;
    let (rule, note) = match quirks.reasoning {
        ReasoningReplay::Never => (
            ReasoningReplay::ToolLoop,
            "the provider wants its reasoning back within a tool loop",
        ),
        ReasoningReplay::ToolLoop => (
            ReasoningReplay::Never,
            "the provider does not take its reasoning back",
        ),
    };
    quirks.reasoning = rule;
    note.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, message: &str) -> LlmError {
        LlmError::RefusedParameter {
            name: name.to_owned(),
            said: Said::new(Some(400), None, message),
        }
    }

    fn learned(error: &LlmError, quirks: &Quirks) -> Quirks {
        match decide(error, 1, quirks, Some(3000), &Policy::default()) {
            Decision::RetryWith { quirks, .. } => quirks,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn limits_are_swapped_once_and_then_dropped() {
        let wants_new = refused(
            "max_tokens",
            "Use 'max_completion_tokens' instead of 'max_tokens'",
        );
        let first = learned(&wants_new, &Quirks::default());
        assert_eq!(first.output_limit, OutputLimitField::MaxCompletionTokens);
        let wants_old = refused("max_completion_tokens", "unknown, use max_tokens");
        let second = learned(&wants_old, &first);
        assert!(
            second.omit.contains("max_tokens") && second.omit.contains("max_completion_tokens")
        );
        let again = decide(&wants_old, 1, &second, Some(3000), &Policy::default());
        assert_eq!(again, Decision::Stop);
    }

    #[test]
    fn a_stated_limit_is_used() {
        let error = refused("max_tokens", "max_tokens must be <= 2048");
        let decision = decide(
            &error,
            1,
            &Quirks::default(),
            Some(3000),
            &Policy::default(),
        );
        assert!(
            matches!(
                decision,
                Decision::RetryLimit {
                    max_tokens: 2048,
                    ..
                }
            ),
            "{decision:?}"
        );
    }

    #[test]
    fn json_modes_weaken_step_by_step() {
        let error = refused("response_format", "json_schema is not supported");
        let first = learned(&error, &Quirks::default());
        assert_eq!(first.json, JsonSupport::Object);
        let second = learned(&error, &first);
        assert_eq!(second.json, JsonSupport::None);
        let third = decide(&error, 1, &second, None, &Policy::default());
        assert_eq!(third, Decision::Stop);
    }

    #[test]
    fn every_kind_of_refusal_ends() {
        for name in [
            "temperature",
            "seed",
            "stream_options",
            "tool_choice",
            "reasoning_content",
            "response_format",
            "max_tokens",
            "tools",
            "something_new",
        ] {
            let error = refused(name, "Unsupported parameter");
            let mut quirks = Quirks::default();
            let steps = (0..10).take_while(|_| {
                match decide(&error, 1, &quirks, Some(3000), &Policy::default()) {
                    Decision::RetryWith { quirks: next, .. } => {
                        assert_ne!(next, quirks, "{name}");
                        quirks = next;
                        true
                    }
                    _ => false,
                }
            });
            assert!(steps.count() < 10, "{name}");
        }
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        let error = LlmError::Server {
            said: Said::new(Some(500), None, "oops"),
            wait_seconds: None,
        };
        let policy = Policy {
            max_attempts: 10,
            max_wait_seconds: 60.0,
            ..Policy::default()
        };
        let waits: Vec<f64> = (1..=8)
            .map(
                |attempt| match decide(&error, attempt, &Quirks::default(), None, &policy) {
                    Decision::RetryAfter { seconds, .. } => seconds,
                    other => panic!("{other:?}"),
                },
            )
            .collect();
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        assert_eq!(
            decide(&error, 10, &Quirks::default(), None, &policy),
            Decision::Stop
        );
    }

    #[test]
    fn an_answer_without_room_gets_twice_the_room_once() {
        let error = LlmError::OutputLimit {
            what: String::new(),
            partial: String::new(),
        };
        let policy = Policy::default();
        let first = decide(&error, 1, &Quirks::default(), Some(256), &policy);
        assert!(matches!(
            first,
            Decision::RetryLimit {
                max_tokens: 512,
                ..
            }
        ));
        assert_eq!(
            decide(&error, 2, &Quirks::default(), Some(512), &policy),
            Decision::Stop
        );
        let unnamed = decide(&error, 1, &Quirks::default(), None, &policy);
        assert!(matches!(
            unnamed,
            Decision::RetryLimit {
                max_tokens: 8192,
                ..
            }
        ));
    }

    #[test]
    fn stated_bounds_are_read_in_the_words_of_providers() {
        let cases = [
            ("max_tokens must be <= 8192", None, Some(8192)),
            ("max_tokens must be <= 8192", Some(4096), None),
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
                None,
                Some(16384),
            ),
            ("Range of max_tokens should be [1, 8192]", None, Some(8192)),
            (
                "supported range is from 1 (inclusive) to 8193 (exclusive)",
                None,
                Some(8192),
            ),
            (
                "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
                None,
                Some(8192),
            ),
            ("max_tokens must be at least 1", None, None),
            ("max_tokens 参数非法", None, None),
        ];
        for (message, sent, bound) in cases {
            assert_eq!(stated_limit(message, sent), bound, "{message}");
        }
    }

    #[test]
    fn the_name_that_is_asked_for_is_taken_whatever_was_sent_before() {
        let error = refused(
            "max_tokens",
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
        );
        let sends_new = Quirks {
            output_limit: OutputLimitField::MaxCompletionTokens,
            ..Quirks::default()
        };
        let learned = learned(&error, &sends_new);
        assert_eq!(learned.output_limit, OutputLimitField::MaxCompletionTokens);
        assert!(!learned.omit.contains("max_completion_tokens"));
    }
}
