//! Line icons, drawn inline so that nothing has to be fetched. Decoration only: words stand beside.

use leptos::prelude::*;

/// The icons there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Start,
    List,
    Chart,
    Sliders,
    Info,
    Play,
    Open,
    Search,
    Close,
    Sun,
    Moon,
    Check,
    Cross,
    Dash,
    Arrow,
    Database,
    Lock,
    Film,
    Warning,
    Keyboard,
}

impl Shape {
    /// Path data in a box of 24 units.
    fn path(self) -> &'static str {
        match self {
            Self::Start => "M4 11.5 12 4l8 7.5M6.5 9.5V20h11V9.5M10 20v-5.5h4V20",
            Self::List => "M8.5 6H20M8.5 12H20M8.5 18H20M4 6h.01M4 12h.01M4 18h.01",
            Self::Chart => "M4 20h16M6.5 20v-7M12 20V5M17.5 20v-10",
            Self::Sliders => "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5",
            Self::Info => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5.5M12 7.5h.01",
            Self::Play => "M7.5 5v14l11-7z",
            Self::Open => "M4 19V6a1 1 0 0 1 1-1h4l2 2.5h7a1 1 0 0 1 1 1V11M4 19l2.6-8H21l-2.5 8z",
            Self::Search => "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20 20",
            Self::Close => "M6 6l12 12M18 6 6 18",
            Self::Sun => {
                "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M18.4 5.6l-1.1 1.1M6.7 17.3l-1.1 1.1"
            }
            Self::Moon => "M20 14.2A8 8 0 0 1 9.8 4a8 8 0 1 0 10.2 10.2Z",
            Self::Check => "m5 12.5 4.5 4.5L19 7.5",
            Self::Cross => "M7 7l10 10M17 7 7 17",
            Self::Dash => "M6.5 12h11",
            Self::Arrow => "M5 12h14M13 6l6 6-6 6",
            Self::Database => {
                "M12 10c4.4 0 8-1.3 8-3s-3.6-3-8-3-8 1.3-8 3 3.6 3 8 3ZM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3"
            }
            Self::Lock => "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
            Self::Film => "M4 5h16v14H4zM4 9.5h16M8 5v4.5M12.5 5v4.5M17 5v4.5M10.5 12v4.5l4-2.25z",
            Self::Warning => "M12 4 2.8 20h18.4zM12 10v4.5M12 17.3h.01",
            Self::Keyboard => "M3 7h18v10H3zM7 10.5h.01M11 10.5h.01M15 10.5h.01M18 10.5h.01M8 14h8",
        }
    }
}

/// One icon, as large as the text beside it.
#[component]
pub fn Icon(shape: Shape) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
            <path d=shape.path()></path>
        </svg>
    }
}
