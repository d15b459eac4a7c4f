// Long tasks of a page, by the phase of the visit in which they began.

/** Watches from before the page's first script; call it before `goto`. */
export async function watchFreezes(page) {
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) window.longTasks.push({ startTime, duration });
    }).observe({ type: "longtask", buffered: true });
  });
  const phases = [];
  const now = () => page.evaluate(() => performance.now());
  return {
    /** Runs one phase of the visit and gives what it gives. */
    async phase(name, body) {
      const from = phases.length ? await now() : 0;
      const given = await body();
      // The observer hears of a task a moment after its end.
      await page.waitForTimeout(250);
      phases.push({ name, from, to: await now() });
      return given;
    },
    /** Milliseconds of each task over 50 ms, by phase. */
    async found() {
      const tasks = await page.evaluate(() => window.longTasks);
      return Object.fromEntries(phases.map(({ name, from, to }) => [
        name, tasks.filter(({ startTime }) => startTime >= from && startTime < to).map(({ duration }) => Math.round(duration)),
      ]));
    },
  };
}
