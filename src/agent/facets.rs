//! The five facets a task is searched by (paper, appendix on query expansion).

/// One facet of a user's preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facet {
    pub id: &'static str,
    pub asks_about: &'static [&'static str],
}

/// In the paper's order.
pub const FACETS: [Facet; 5] = [
    Facet {
        id: "style",
        asks_about: &[
            "tone",
            "wording",
            "ways of expressing things",
            "liked writing style",
        ],
    },
    Facet {
        id: "structure",
        asks_about: &[
            "format",
            "headings",
            "templates",
            "bullets or paragraphs",
            "length",
            "level of detail",
        ],
    },
    Facet {
        id: "decision",
        asks_about: &[
            "cost against quality",
            "time against thoroughness",
            "convenience against preference",
        ],
    },
    Facet {
        id: "correction",
        asks_about: &[
            "complaints",
            "corrections",
            "outright rejections",
            "suggestions the user disliked",
        ],
    },
    Facet {
        id: "habit",
        asks_about: &[
            "repeated choices",
            "defaults",
            "recurring preferences in the scenario",
        ],
    },
];

/// The facet of the first query, the task itself.
pub const TASK: &str = "task";

/// The facet of the first queries in QA mode: the questions about the user.
pub const QUESTION: &str = "question";
