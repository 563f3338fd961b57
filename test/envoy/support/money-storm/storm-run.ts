import { setTimeout as pause } from 'node:timers/promises';
import type { Caller } from '../caller.ts';
import type { Chance } from '../../../support/chance.ts';
import { type StormRecord, sendStorm } from './storm-caller.ts';
import type { StormKey, StormRequest } from './storm-kinds.ts';

/** How far a storm is, for those who break things meanwhile. */
export interface StormProgress {
  /** Resolves when so many requests have ended; also when the storm is over before. */
  readonly until: (count: number) => Promise<void>;
  /** Resolves when a request that was sent from now on to this gateway was served, or when the storm is over. */
  readonly served: (replica: number) => Promise<void>;
}

export interface StormOptions {
  /** Of several storms on the same gateways, which one: no two share marks and addresses. Default: 0. */
  readonly round?: number;
  readonly requests: readonly StormRequest[];
  /** One for each gateway. */
  readonly callers: readonly Caller[];
  readonly keys: Readonly<Record<StormKey, string>>;
  readonly lanes: number;
  readonly chance: Chance;
  readonly disasters: (progress: StormProgress) => Promise<void>;
}

/** A service that is started again on a busy machine, behind a database that is away, is back within this time. */
const longestAwayMs = 60_000;

/** Was turned away for now: a client comes back (docs/reference/api.md §7.5). */
const isAway = ({ status, end }: StormRecord): boolean => status === 503 || (status === 0 && end === 'cut');

/** Makes all requests on so many lanes while disasters happen. Resolves to everything that was sent, those turned away included. */
export async function runStorm(options: StormOptions): Promise<readonly StormRecord[]> {
  const { requests, callers, keys, chance, round = 0 } = options;
  const records: StormRecord[] = [];
  let begun = 0;
  let ended = 0;
  let isOver = false;
  let looks: (() => boolean)[] = [];
  const look = (): void => {
    looks = looks.filter((isDone) => !isDone());
  };
  const when = (holds: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      looks.push(() => {
        if (!holds() && !isOver) return false;
        resolve();
        return true;
      });
      look();
    });

  async function make(request: StormRequest, index: number): Promise<void> {
    const since = performance.now();
    for (let turn = 0; ; turn += 1) {
      const replica = chance.below(callers.length);
      const caller = callers[replica];
      if (caller === undefined) throw new Error('there is no gateway');
      // Whoever has no good key is soon shut out: each of them comes from elsewhere.
      const address = ['none', 'expiring'].includes(request.key)
        ? `10.${round & 255}.${index >> 8}.${index & 255}`
        : '203.0.113.1';
      const record = await sendStorm(request, {
        mark: `storm-${round}-${index}-${turn}`,
        replica,
        caller,
        keys,
        address,
      });
      records.push(record);
      look();
      const timeoutMs = request.statuses.includes(503) ? 0 : longestAwayMs;
      if (!isAway(record) || performance.now() - since > timeoutMs) return;
      await pause(150 + chance.below(200));
    }
  }

  async function lane(): Promise<void> {
    for (let index = begun++; index < requests.length; index = begun++) {
      const request = requests[index];
      if (request !== undefined) await make(request, index);
      ended += 1;
      look();
    }
  }

  const disasters = options.disasters({
    until: (count) => when(() => ended >= count),
    served: (replica) => {
      const from = performance.now();
      return when(() => {
        const last = records.at(-1);
        return last?.replica === replica && last.status === 200 && last.sentMs >= from;
      });
    },
  });
  await Promise.all(Array.from({ length: options.lanes }, lane));
  isOver = true;
  look();
  await disasters;
  return records;
}
