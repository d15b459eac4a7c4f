// All cores: passages embedded by one worker and by several, and a query beside a background job.

/** Runs in the page: a history's passages embedded by one worker, then by all, as the page shares them out; and the ratio that the machine allows. */
export async function passagesTogether({ passages, rounds, cores }) {
  const { startWorker, load, words } = window.bench;
  const workers = await Promise.all(Array.from({ length: cores }, startWorker));
  await Promise.all(workers.map((worker) => load(worker)));
  const text = () => Array.from({ length: 60 + Math.floor(Math.random() * 140) }, () => words[Math.floor(Math.random() * words.length)][0]).join(" ");
  const run = async (team) => {
    const left = Array.from({ length: passages }, text).sort((a, b) => a.length - b.length);
    const from = performance.now();
    // Two groups on their way to each worker, of the size that is embedded together.
    await Promise.all([...team, ...team].map(async (worker) => {
      while (left.length > 0) {
        const group = [];
        for (let bytes = 0; left.length > 0 && bytes < 1200; bytes += group.at(-1).length) group.push(left.pop());
        await worker.ask({ type: "embed_passages", texts: group });
      }
    }));
    return performance.now() - from;
  };
  // The same work for each of some workers at once, nothing shared out: what the machine allows.
  const same = Array.from({ length: 24 }, text);
  const apart = async (team) => {
    const from = performance.now();
    await Promise.all(team.map((worker) => worker.ask({ type: "embed_passages", texts: same })));
    return performance.now() - from;
  };
  await run(workers); // compiled to the end before anything counts
  const times = { one: [], all: [], bounds: [] };
  for (let round = 0; round < rounds; round += 1) {
    times.one.push(await run(workers.slice(0, 1)));
    times.all.push(await run(workers));
    const alone = await apart(workers.slice(0, 1));
    times.bounds.push((cores * alone) / await apart(workers));
  }
  workers.forEach((worker) => worker.end());
  return times;
}

/** Runs in the page: how long queries take alone, and while the same worker embeds passages. */
export async function queriesBesideWork({ queries }) {
  const { worker } = window.bench;
  const timed = async (n) => {
    const from = performance.now();
    await worker.ask({ type: "embed", texts: [`query number ${n} about noodles`] });
    return performance.now() - from;
  };
  const times = { alone: [], beside: [] };
  for (let n = 0; n < queries; n += 1) times.alone.push(await timed(n));
  const passage = "a few words about the weather and the garden ".repeat(25);
  let going = true;
  const work = (async () => {
    for (let n = 0; going; n += 1) {
      await worker.ask({ type: "embed_passages", texts: Array.from({ length: 4 }, (_, m) => `Turn ${n}.${m}: ${passage}`) });
    }
  })();
  for (let n = 0; n < queries; n += 1) {
    await new Promise((done) => setTimeout(done, 20 + Math.random() * 60));
    times.beside.push(await timed(queries + n));
  }
  going = false;
  await work;
  return times;
}
