//! Figures as files.

use iba_lab::chart::svg::{self, Figure, Series};

fn figure(name: &str) -> Figure {
    Figure {
        id: "radar".to_owned(),
        title: "Scores by domain".to_owned(),
        description: "Work 75".to_owned(),
        axes: ["Writing", "Work", "Daily", "Plan."]
            .map(str::to_owned)
            .to_vec(),
        max: 100.0,
        series: vec![
            Series {
                name: name.to_owned(),
                values: vec![Some(100.0); 4],
                style: 0,
                reference: false,
            },
            Series {
                name: "paper".to_owned(),
                values: vec![Some(50.0), None, Some(50.0), Some(50.0)],
                style: 1,
                reference: true,
            },
        ],
        caption: vec!["n = 3; judge: programmatic".to_owned()],
    }
}

#[test]
fn polygons_lie_where_geometry_puts_them() {
    let text = svg::radar(&figure("ours"));
    // Centre (240, 210), radius 150: up, right, down, left.
    assert!(text.contains("<polygon class=\"chart-line\" points=\"240.00,60.00 390.00,210.00 240.00,360.00 90.00,210.00\""));
    // The second axis is missing: an open line from the third to the first.
    assert!(text.contains(
        "<polyline class=\"chart-line\" points=\"240.00,285.00 165.00,210.00 240.00,135.00\""
    ));
    assert_eq!(text.matches("class=\"chart-marker\"").count(), 4 + 3 + 2);
    assert!(text.contains("n = 3; judge: programmatic"));
}

#[test]
fn names_stay_text_and_nothing_is_fetched() {
    let text = svg::radar(&figure("<script>alert(\"1\")</script>&\u{1}"));
    assert!(text.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp; "));
    assert!(!text.contains("<script") && !text.contains("href") && !text.contains("url("));
    assert!(!text.contains("NaN"));
    let opened = text.matches("<g ").count();
    assert_eq!(opened, text.matches("</g>").count());
}
