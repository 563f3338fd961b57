import { z } from 'zod';
import { type Clock, every } from '../../core/clock.ts';
import type { PoolReports } from '../core/pool-report.ts';
import { readPoolReport, writePoolReport } from './pool-report-text.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { poolScript } from './valkey-scripts.ts';

interface SharedPoolsOptions {
  readonly link: Pick<ValkeyLink, 'isUp' | 'key' | 'run'>;
  readonly clock: Clock;
  /** Makes a name that no other process has. */
  readonly newId: () => string;
  readonly pools: PoolReports;
}

export type SharedPools = ReturnType<typeof sharePools>;

const everyMs = 50;
/** After so long without an answer of the server, the reports of the others are out of date. */
const freshMs = 1000;
/** Reports that are read at a time, and how many times in a row: a replica that starts reads many. */
const maxReports = 16;
const maxReads = 8;

const streamSchema = z.tuple([z.string(), z.number(), z.array(z.string())]);
const replySchema = z.tuple([streamSchema, streamSchema]);

/**
 * Carries the reports on pools between the replicas, every 50 ms, in one call that sends this replica's report and reads those of the
 * others. A replica that starts reads what the server has kept. While the server is down, each replica knows only its own attempts.
 */
export function sharePools({ link, clock, newId, pools }: SharedPoolsOptions) {
  const name = newId();
  const keys = [link.key('pool-prompts'), link.key('pool-work')];
  let seen = ['', ''];
  let answeredAt: number | undefined;

  /** Sends a report, or nothing, and reads. True: there is more to read. */
  async function exchange(text: string, hasPrompts: boolean): Promise<boolean> {
    const reply = await link.run(poolScript, keys, [
      ...[name, text, hasPrompts ? '1' : '0', ...seen],
      String(maxReports),
    ]);
    const streams = replySchema.parse(reply);
    seen = streams.map(([last]) => last);
    answeredAt = clock.elapsed();
    for (const [, , others] of streams) await take(others);
    return streams.some(([, isAll]) => isAll === 0);
  }

  /** Reads one report in a turn, because a long one takes most of a millisecond. */
  async function take(others: readonly string[]): Promise<void> {
    for (let at = 0; at + 1 < others.length; at += 2) {
      if (at > 0) await new Promise<void>((resolve) => clock.after(0, resolve));
      const report = readPoolReport(others[at + 1] ?? '');
      if (report !== undefined) pools.heard(clock.elapsed(), others[at] ?? '', report);
    }
  }

  function nextReport(): { readonly text: string; readonly hasPrompts: boolean } {
    if (!pools.hasReport(clock.elapsed())) return { text: '', hasPrompts: false };
    const report = pools.takeReport(clock.elapsed());
    return { text: writePoolReport(report), hasPrompts: report.sent.length > 0 };
  }

  async function step(): Promise<void> {
    pools.forgetSilent(clock.elapsed());
    if (!link.isUp()) {
      // Another server may answer next, with a clock of its own: what it has is read from the beginning, which changes nothing twice.
      seen = ['', ''];
      return;
    }
    const { text, hasPrompts } = nextReport();
    try {
      let hasMore = await exchange(text, hasPrompts);
      for (let reads = 1; hasMore && reads < maxReads; reads += 1) hasMore = await exchange('', false);
    } catch {
      // The link finds out by itself whether the server is down.
    }
  }

  const stop = every(clock, everyMs, step);
  return {
    /** Whether this replica knows what the others send to the endpoints. */
    isShared: (): boolean => link.isUp() && answeredAt !== undefined && clock.elapsed() - answeredAt < freshMs,
    close: stop,
  };
}
