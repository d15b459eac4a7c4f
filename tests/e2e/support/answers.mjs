// What the fake model says: an answer of the right shape for each prompt of the site, recognised
// by the JSON the prompt asks for. Its verdicts alternate, so that met and not met both occur.

const ids = (text, letter) => [...new Set(text.match(new RegExp(`\\b${letter}\\d+\\b`, "g")) ?? [])];

/** A value for every slot a prompt lists: its first option, else one of its type. */
function filled(prompt) {
  const slots = {};
  for (const [, name, type, rest] of prompt.matchAll(/^- (\w+) \((\w+), (?:required|optional)\):(.*)$/gm)) {
    const option = rest.match(/one of ("[^"]*"|[\w.]+)/)?.[1];
    slots[name] = option ? JSON.parse(option) : { integer: 1, number: 1, boolean: true }[type] ?? "x";
  }
  return slots;
}

export function answer(body) {
  const prompt = body.messages.map((message) => message.content).join("\n");
  const shape = prompt.match(/\{"(queries|scores|items|preferences|plan|slots|verdicts)":/g)?.at(-1)?.slice(2, -2);
  const passages = ids(prompt, "P").filter((id) => prompt.includes(`"${id}"`) || prompt.includes(id));
  switch (shape) {
    case "queries":
      return JSON.stringify({ queries: ["style", "structure", "decision", "correction", "habit"].map((facet) => ({ facet, query: `the user corrected the ${facet} of an earlier answer` })) });
    case "scores":
      return JSON.stringify({ scores: passages.map((id, n) => ({ id, signals: ["explicit_revision", "complaint"], score: 5 + (n % 5) })) });
    case "items":
      if (prompt.includes("The questions:")) {
        return JSON.stringify({ items: ids(prompt, "Q").map((id) => ({ id, text: `Answer ${id} from an old conversation.` })) });
      }
      return "```json\n" + JSON.stringify({ items: passages.map((id) => ({ id, text: `In ${id} the user shortened the draft.` })) }) + "\n```";
    case "preferences":
      return JSON.stringify({ preferences: [{ text: "The user wants it short.", kind: "corrected", passages: passages.slice(0, 2) }] });
    case "plan":
      return JSON.stringify({ plan: [{ aspect: "structure", text: "Keep it short." }] });
    case "slots":
      return JSON.stringify({ slots: filled(prompt), description: "Does what was asked." });
    case "verdicts":
      return JSON.stringify({ verdicts: ids(prompt, "R").map((id, n) => ({ id, quote: "", rationale: `Criterion ${id} was looked at.`, verdict: (n + 1) % 2 })) });
    default:
      return "# A short answer\n\nThis is the finished text of the fake model.\n\n- one point\n- another point";
  }
}

/** A model that picks its tools: one entry of the script a turn, each a list of [tool, arguments]. */
export function controlled(script) {
  let turn = 0;
  return (body) => {
    if (!body.tools?.length) return answer(body);
    const next = script[Math.min(turn, script.length - 1)];
    turn += 1;
    return typeof next === "function" ? next(turn) : { text: "", tools: next.map(([name, given]) => ({ name, arguments: given ?? {} })) };
  };
}
