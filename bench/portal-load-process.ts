// A hundred open pages of the portal and somebody who reads reports over a year, as one process: `fork`ed by portal.ts with the address
// that signs in, the number of pages and the pause between two reports in milliseconds. Says `open` once all pages are, tells what was done when it is asked, ends with its parent.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const [address = '', pages = '100', pauseMs = '0'] = process.argv.slice(2);
const { origin, hash } = new URL(address);
const token = new URLSearchParams(hash.slice(1)).get('token') ?? '';
const api = `${origin}/api/v1`;
const dayMs = 24 * 3_600_000;
/** As portal/src does it: sums are read anew at most so often, and everything once so long after something was missed. */
const refreshMs = 5_000;
const missedMs = 10_000;

/** What the process did so far, told when it is asked. */
const done = { pages: 0, events: 0, reports: 0, reportMs: 0, answers: 0, failures: 0 };

// Browsers are on other machines: what they compute is no part of what is measured. Linux weighs sessions before it looks at priorities.
setPriority(19);
try {
  writeFileSync('/proc/self/autogroup', '19');
} catch {
  // There are no such groups here.
}

const hourOf = (ms: number): string => new Date(Math.floor(ms / 3_600_000) * 3_600_000).toISOString();

async function get(path: string, headers: Record<string, string>): Promise<void> {
  const reply = await fetch(`${api}${path}`, { headers });
  await reply.arrayBuffer();
  if (reply.ok) done.answers += 1;
  else done.failures += 1;
}

/** Does something at once, and again after the time if it was wanted meanwhile. */
function throttled(everyMs: number, run: () => Promise<void>): () => void {
  let isWanted = false;
  let isWaiting = false;
  const begin = (): void => {
    isWanted = false;
    isWaiting = true;
    run().catch(() => (done.failures += 1));
    setTimeout(() => {
      isWaiting = false;
      if (isWanted) begin();
    }, everyMs);
  };
  return () => {
    if (isWaiting) isWanted = true;
    else begin();
  };
}

/** The page Overview in a browser of its own: a session, a stream of events, and what is read when they come. */
async function openPage(): Promise<void> {
  const signedIn = await fetch(`${api}/session`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ token }),
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const headers = { cookie };
  const today = (): Promise<void> => get(`/usage?from=${hourOf(Date.now() - (Date.now() % dayMs))}`, headers);
  const month = (): Promise<void> => get(`/usage?from=${hourOf(Date.now() - 20 * dayMs)}`, headers);
  const refresh = throttled(refreshMs, async () => void (await Promise.all([today(), month()])));
  const from = (): string => hourOf(Date.now() - dayMs);
  const everything = throttled(missedMs, async () => {
    await Promise.all([
      ...[today(), month(), get('/workspaces?limit=500', headers)],
      ...[get(`/usage?from=${from()}&by=hour`, headers), get(`/usage?from=${from()}&by=hour,model&top=7`, headers)],
    ]);
  });
  const [events] = (await once(httpGet(`${api}/events`, { headers, agent: false }), 'response')) as [IncomingMessage];
  done.pages += 1;
  if (done.pages === Number(pages)) process.send?.('open');
  // A piece is whole events. They are counted by their bytes: to read a hundred streams would take as long as to write them.
  for await (const piece of events as AsyncIterable<Buffer>) {
    for (let at = piece.indexOf('event: '); at >= 0; at = piece.indexOf('event: ', at + 1)) done.events += 1;
    if (piece.includes('event: request')) refresh();
    if (piece.includes('event: missed')) everything();
  }
}

/** One report over a year after the other, each from another hour on: the same one is remembered for a second. */
async function readReports(): Promise<void> {
  for (;;) {
    const begun = performance.now();
    const from = hourOf(Date.now() - 365 * dayMs - done.reports * 3_600_000);
    await get(`/usage?from=${from}&by=day,model`, { authorization: `Bearer ${token}` });
    done.reports += 1;
    done.reportMs += performance.now() - begun;
    await sleep(Number(pauseMs));
  }
}

for (let page = 0; page < Number(pages); page += 1) {
  openPage().catch(() => (done.failures += 1));
}
readReports().catch(() => (done.failures += 1));
process.on('message', () => process.send?.(done));
process.on('disconnect', () => process.exit(0));
