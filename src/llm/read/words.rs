//! Yes and no in words, English and Chinese.

use super::scores::narrow;

/// The verdict of a text, if it gives one and nothing in it says the opposite.
pub fn in_text(text: &str) -> Option<bool> {
    if let Some(met) = word(text) {
        return Some(met);
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let labelled: Vec<&str> = lines.iter().filter_map(|line| after_label(line)).collect();
    if !labelled.is_empty() {
        return agreed(
            labelled
                .into_iter()
                .map(|said| word(said).or_else(|| word(head(said)))),
        );
    }
    if let Some(met) = agreed(lines.iter().map(|line| word(line))) {
        return Some(met);
    }
    if lines.len() == 1
        && let Some(met) = in_sentence(text)
    {
        return Some(met);
    }
    let first = lines.first().and_then(|line| word(head(line)));
    let last = lines
        .last()
        .filter(|_| lines.len() > 1)
        .and_then(|line| word(line));
    let met = match (first, last) {
        (Some(first), Some(last)) => (first == last).then_some(first),
        (first, last) => first.or(last),
    }?;
    (!met || !denies(text)).then_some(met)
}

/// "The requirement is not met.", "我认为不正确": a verdict among words that say nothing else.
fn in_sentence(text: &str) -> Option<bool> {
    const NEUTRAL: [&str; 41] = [
        "the",
        "this",
        "that",
        "it",
        "its",
        "output",
        "response",
        "answer",
        "reply",
        "text",
        "requirement",
        "criterion",
        "is",
        "was",
        "are",
        "has",
        "been",
        "i",
        "i'd",
        "think",
        "believe",
        "would",
        "say",
        "my",
        "so",
        "therefore",
        "thus",
        "hence",
        "overall",
        "clearly",
        "does",
        "do",
        "did",
        "a",
        "to",
        "with",
        "user's",
        "verdict",
        "final",
        "given",
        "as",
    ];
    if text.contains(['?', '？']) {
        return None;
    }
    let lower = text.to_lowercase().replace('’', "'");
    let words = lower.split(|c: char| c.is_whitespace() || ".,!;:*_`\"()".contains(c));
    let words = words.filter(|word| !word.is_empty() && !NEUTRAL.contains(word));
    let rest: Vec<&str> = words.collect();
    if rest.len() < 4
        && let Some(met) = word(&rest.join(" "))
    {
        return Some(met);
    }
    let mut chinese = lower.replace("是否", "？");
    for filler in [
        "我认为",
        "我觉得",
        "因此",
        "所以",
        "该",
        "此",
        "输出",
        "回答",
        "回复",
        "要求",
        "需求",
        "并",
    ] {
        chinese = chinese.replace(filler, "");
    }
    let bare = chinese
        .trim()
        .trim_end_matches(['。', '.', '的', '了', '！']);
    word(bare).or_else(|| word(bare.strip_prefix('是')?))
}

/// All the same, none unreadable.
fn agreed(verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Option<Vec<bool>> = verdicts.collect();
    let all = all?;
    let first = *all.first()?;
    all.iter().all(|met| *met == first).then_some(first)
}

/// A text that begins with "yes" and then says the opposite.
fn denies(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "incorrect",
        "not correct",
        "not met",
        "unmet",
        "not satisfied",
        "not fulfilled",
        "不正确",
        "不符合",
        "不满足",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// What follows `Verdict:` and the like, or `Met:` when a verdict follows.
fn after_label(line: &str) -> Option<&str> {
    const LABELS: [&str; 20] = [
        "final verdict",
        "final answer",
        "final score",
        "verdict",
        "score",
        "answer",
        "result",
        "judgement",
        "judgment",
        "label",
        "decision",
        "rating",
        "conclusion",
        "overall",
        "判定",
        "结论",
        "结果",
        "答案",
        "判断",
        "评分",
    ];
    const QUESTIONS: [&str; 12] = [
        "met",
        "is met",
        "requirement met",
        "passed",
        "pass",
        "satisfied",
        "fulfilled",
        "correct",
        "yes/no",
        "是否满足",
        "是否符合",
        "满足",
    ];
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*_#>-`".contains(c));
    let lower = line.to_ascii_lowercase();
    let skipped = ["the ", "my "]
        .iter()
        .find(|word| lower.starts_with(**word));
    let start = skipped.map_or(0, |word| word.len());
    let after = |label: &str| {
        let rest = lower[start..]
            .starts_with(label)
            .then(|| &line[start + label.len()..])?;
        let rest = rest.trim_start_matches(['*', '_', ' ', '`']);
        let joints = [":", "：", "=", "is ", "是", "为"];
        let said = joints.iter().find_map(|joint| rest.strip_prefix(joint))?;
        Some(said.trim_start_matches([':', '：', ' ']).trim())
    };
    let said = LABELS.iter().find_map(|label| after(label));
    said.or_else(|| {
        let said = QUESTIONS.iter().find_map(|label| after(label))?;
        word(said).or_else(|| word(head(said))).map(|_| said)
    })
}

/// Up to the first mark that ends a clause. A point after a number may be a list's, or a decimal's.
pub fn head(text: &str) -> &str {
    let mut before = None;
    for (at, c) in text.char_indices() {
        let digit = before.is_some_and(|c: char| c.is_ascii_digit());
        let ends = match c {
            '.' | ',' | ')' => !digit,
            ';' | ':' | '!' | '(' | '\n' | '—' | '–' | '，' | '。' | '；' | '：' | '！' | '（' => {
                true
            }
            '-' => before == Some(' '),
            _ => false,
        };
        if ends {
            return &text[..at];
        }
        before = Some(c);
    }
    text
}

/// A text that is a verdict and nothing else.
fn word(text: &str) -> Option<bool> {
    const YES: [&str; 45] = [
        "1",
        "1.0",
        "1/1",
        "yes",
        "y",
        "true",
        "met",
        "is met",
        "fully met",
        "correct",
        "is correct",
        "pass",
        "passed",
        "passes",
        "satisfied",
        "is satisfied",
        "fulfilled",
        "right",
        "是",
        "是的",
        "对",
        "正确",
        "符合",
        "满足",
        "已满足",
        "通过",
        "成立",
        "真",
        "完全正确",
        "完全符合",
        "没错",
        "√",
        "👍",
        "yep",
        "yeah",
        "affirmative",
        "accurate",
        "meets",
        "satisfies",
        "fulfills",
        "fulfils",
        "complies",
        "✓",
        "✔",
        "✅",
    ];
    const NO: [&str; 64] = [
        "0",
        "0.0",
        "0/1",
        "no",
        "n",
        "false",
        "not met",
        "is not met",
        "isn't met",
        "unmet",
        "incorrect",
        "is incorrect",
        "not correct",
        "is not correct",
        "isn't correct",
        "wrong",
        "fail",
        "failed",
        "fails",
        "not satisfied",
        "is not satisfied",
        "unsatisfied",
        "not fulfilled",
        "unfulfilled",
        "not passed",
        "did not pass",
        "not true",
        "否",
        "不",
        "不是",
        "不对",
        "错",
        "错误",
        "不正确",
        "不符合",
        "不满足",
        "未满足",
        "没有满足",
        "不通过",
        "未通过",
        "不成立",
        "假",
        "没有",
        "✗",
        "✘",
        "❌",
        "×",
        "不达标",
        "👎",
        "nope",
        "negative",
        "inaccurate",
        "not accurate",
        "not meet",
        "not satisfy",
        "not fulfill",
        "not fulfil",
        "not comply",
        "doesn't meet",
        "doesn't satisfy",
        "not",
        "wasn't met",
        "violates",
        "violated",
    ];
    let text = narrow(text)
        .to_lowercase()
        .replace('’', "'")
        .replace('\u{fe0f}', "");
    let around = |c: char| c.is_whitespace() || "*_`\"'“”#[]().,!。！，:：".contains(c);
    let text = text.trim_matches(around).replace(['_', '-'], " ");
    let text = text.as_str();
    match (YES.contains(&text), NO.contains(&text)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}
