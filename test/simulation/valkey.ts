import type { Subscription, ValkeyClient } from '../../src/gateway/rate-limits/valkey-client.ts';
import {
  admitScript,
  reportScript,
  reserveScript,
  takeTokensScript,
} from '../../src/gateway/rate-limits/limit-scripts.ts';
import type { Script } from '../../src/gateway/rate-limits/valkey-script.ts';
import {
  blockedScript,
  failureScript,
  heartbeatScript,
  leaveScript,
} from '../../src/gateway/rate-limits/valkey-scripts.ts';
import { hasToken, maxFillMs, minuteBucket, takeTokens } from '../../src/core/token-bucket.ts';
import type { Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';

export type ValkeyTrouble = 'none' | 'slow' | 'away';

/** A model of a Valkey server: it runs the product's scripts with the semantics that they have in Lua. */
export interface SimulatedValkey {
  readonly setTrouble: (trouble: ValkeyTrouble) => void;
  /** Loses its memory, as a restart without a snapshot does. */
  readonly forget: () => void;
  readonly connect: (program: Program) => ValkeyClient;
  /** Runs a script at once, as the server does when a command arrives. */
  readonly run: (script: Script, keys: readonly string[], args: readonly string[]) => unknown;
  /** The server's time when the world begins, by the clock of its scripts. */
  readonly firstMs: number;
  /** The number of replicas that it counts. */
  readonly replicas: () => number;
  /** Requests and amounts that it counts, by hash. */
  readonly underWay: () => ReadonlyMap<string, { readonly places: number; readonly reserved: number }>;
}

interface Expiring<Value> {
  readonly value: Value;
  until: number;
}

type Fields = Map<string, string>;

const keepMs = 86_400_000;
const freshMs = 1_000;
const sumEveryMs = 500;
const firstMs = 80_000_000_000;

export function createValkey(scheduler: Scheduler): SimulatedValkey {
  let trouble: ValkeyTrouble = 'none';
  let strings = new Map<string, Expiring<number>>();
  let hashes = new Map<string, Expiring<Fields>>();
  let sets = new Map<string, Expiring<Map<string, number>>>();
  let lists = new Map<string, Expiring<number[]>>();
  const clients = new Set<{ readonly closed: () => void; readonly ready: () => void; readonly program: Program }>();
  const subscribers = new Set<{ readonly program: Program; readonly subscription: Subscription }>();
  const now = (): number => scheduler.now() + firstMs;

  function live<Value>(from: Map<string, Expiring<Value>>, key: string): Value | undefined {
    const known = from.get(key);
    if (known === undefined) return undefined;
    if (known.until > now()) return known.value;
    from.delete(key);
    return undefined;
  }

  function fieldsOf(key: string): Fields {
    const known = live(hashes, key);
    if (known !== undefined) return known;
    const made: Fields = new Map();
    hashes.set(key, { value: made, until: Infinity });
    return made;
  }

  const keep = (key: string): void => {
    const known = hashes.get(key);
    if (known !== undefined) known.until = now() + keepMs;
  };
  const setOf = (key: string): Map<string, number> => {
    const known = live(sets, key);
    if (known !== undefined) return known;
    const made = new Map<string, number>();
    sets.set(key, { value: made, until: Infinity });
    return made;
  };
  const add = (fields: Fields, name: string, more: number): void =>
    void fields.set(name, String(Number(fields.get(name) ?? 0) + more));

  function change(hash: string, replica: string, more: number, reserved: number): void {
    const fields = fieldsOf(hash);
    const placesName = `n:${replica}`;
    const places = Number(fields.get(placesName) ?? 0);
    const after = Math.max(0, places + more);
    if (after === 0) fields.delete(placesName);
    else fields.set(placesName, String(after));
    const sum = fields.get('+n');
    if (sum !== undefined) fields.set('+n', String(Math.max(0, Number(sum) + after - places)));
    const amountName = `a:${replica}`;
    const before = Number(fields.get(amountName) ?? 0);
    if (reserved === 0) fields.delete(amountName);
    else fields.set(amountName, String(reserved));
    const amounts = fields.get('+a');
    if (amounts !== undefined) fields.set('+a', String(Math.max(0, Number(amounts) - before + reserved)));
  }

  function underWay(hash: string, replica: string, replicas: string) {
    const fields = fieldsOf(hash);
    const at = Number(fields.get('+at') ?? 0);
    const reportedAt = fields.get('at');
    const isFresh = reportedAt !== undefined && Number(reportedAt) > now() - freshMs;
    const left = isFresh ? Number(fields.get('left')) : Infinity;
    const [places, reserved] = [fields.get('+n'), fields.get('+a')];
    if (places !== undefined && reserved !== undefined && at <= now() && at > now() - sumEveryMs) {
      return { places: Number(places), reserved: Number(reserved), left };
    }
    const alive = setOf(replicas);
    const sums = { places: 0, reserved: 0 };
    for (const [name, value] of fields) {
      const kind = name.slice(0, 2);
      if (kind !== 'n:' && kind !== 'a:') continue;
      const owner = name.slice(2);
      if (owner !== replica && !((alive.get(owner) ?? 0) > now())) fields.delete(name);
      else if (kind === 'n:') sums.places += Number(value);
      else sums.reserved += Number(value);
    }
    if (sums.places === 0 && sums.reserved === 0) for (const name of ['+n', '+a', '+at']) fields.delete(name);
    else {
      fields.set('+n', String(sums.places));
      fields.set('+a', String(sums.reserved));
      fields.set('+at', String(now()));
    }
    return { ...sums, left };
  }

  function admit(keys: readonly string[], args: readonly string[]): unknown {
    const [replica = '', rateText, burstText, most, balance, , limits = '', notEnforced = '', ...rests] = args;
    const lastBudget = keys.length - Number(limits);
    const [bucket = '', workspace = '', replicas = '', ...budgets] = keys.slice(0, lastBudget);
    const tokens = tokenBuckets(keys.slice(lastBudget), rests.splice(budgets.length));
    const [rate, burst] = [Number(rateText), Number(burstText)];
    let fullIn = Math.max(0, (live(strings, bucket) ?? 0) - now());
    const keepBucket = (): void =>
      void strings.set(bucket, { value: now() + fullIn, until: now() + Math.ceil(fullIn) + 1 });
    if (fullIn > (burst * 1000) / rate) {
      fullIn = (burst * 1000) / rate;
      keepBucket();
    }
    const { would, refuses } = enforcement(notEnforced);
    const answer = (result: string) => [result, would.join(','), String(fullIn), ...tokens.times()];
    const hasOne = burst - (fullIn * rate) / 1000 + 1e-4 >= 1;
    if (!hasOne && refuses('rate')) return answer('rate');
    const { places, reserved, left } = underWay(workspace, replica, replicas);
    if (places >= Number(most) && refuses('concurrency')) return answer('concurrency');
    const shortOfTokens = tokens.short(refuses);
    if (shortOfTokens !== undefined) return answer(shortOfTokens);
    if (balance !== '' && Math.min(Number(balance), left) <= reserved) return answer('balance');
    for (const [index, budget] of budgets.entries()) {
      if (rests[index] === '') continue;
      const others = underWay(budget, replica, replicas);
      const limit = index === 0 ? 'budget' : 'tag-budget';
      if (Math.min(Number(rests[index]), others.left) <= others.reserved && refuses(limit)) return answer(limit);
    }
    if (hasOne) {
      fullIn += 1000 / rate;
      keepBucket();
    }
    const fields = fieldsOf(workspace);
    add(fields, `n:${replica}`, 1);
    if (fields.has('+n')) add(fields, '+n', 1);
    keep(workspace);
    return answer('admitted');
  }

  function reserve(keys: readonly string[], args: readonly string[]): unknown {
    const [replica = '', limits = '', asked = '', notEnforced = '', ...amounts] = args;
    const { would, refuses } = enforcement(notEnforced);
    const lastFund = keys.length - Number(limits);
    const [replicas = '', ...hashes] = keys.slice(0, lastFund);
    const tokens = tokenBuckets(keys.slice(lastFund), amounts.splice(3 * hashes.length));
    const answer = (result: string) => [result, would.join(','), ...tokens.counted()];
    const shortOfTokens = tokens.short(refuses);
    if (shortOfTokens !== undefined) return answer(shortOfTokens);
    const isShort = (hash: string, reservedByOthers: number, funds: number): boolean => {
      change(hash, replica, 0, reservedByOthers);
      keep(hash);
      const { reserved, left } = underWay(hash, replica, replicas);
      return Math.min(funds, left) <= reserved;
    };
    const funds = hashes
      .map((hash, index) => ({ hash, index, given: amounts.slice(3 * index, 3 * index + 3) }))
      .filter(({ given: [left] }) => left !== '');
    for (const {
      hash,
      index,
      given: [left, others],
    } of funds) {
      const limit = ['balance', 'budget'][index] ?? 'tag-budget';
      if (isShort(hash, Number(others), Number(left)) && refuses(limit)) return answer(limit);
    }
    for (const { hash, given } of funds) change(hash, replica, 0, Number(given[2]));
    tokens.take(Number(asked), tokens.counting);
    return answer('reserved');
  }

  function enforcement(notEnforced: string) {
    const would: string[] = [];
    const refuses = (limit: string): boolean => {
      if (!notEnforced.includes(`,${limit},`)) return true;
      would.push(limit);
      return false;
    };
    return { would, refuses };
  }

  /** The buckets of limits in tokens a minute. */
  function tokenBuckets(keys: readonly string[], perMinutes: readonly string[]) {
    const buckets = keys.map((key, at) => ({ key, size: minuteBucket(Number(perMinutes[at])) }));
    const fullIn = ({ key, size }: (typeof buckets)[number]): number =>
      Math.min(maxFillMs(size), Math.max(0, (live(strings, key) ?? 0) - now()));
    const counting = new Set<(typeof buckets)[number]>();
    return {
      counting,
      times: () => buckets.map((bucket) => String(fullIn(bucket))),
      counted: () => buckets.flatMap((bucket) => [counting.has(bucket) ? '1' : '0', String(fullIn(bucket))]),
      short: (refuses: (limit: string) => boolean) => {
        for (const bucket of buckets) {
          const kind = /tok:([a-z]+):/.exec(bucket.key)?.[1];
          const limit = kind === 'key' ? 'tokens' : kind === 'ws' ? 'workspace-tokens' : 'tag-tokens';
          if (hasToken(fullIn(bucket), bucket.size)) counting.add(bucket);
          else if (refuses(limit)) return limit;
        }
        return undefined;
      },
      take: (tokens: number, from: Iterable<(typeof buckets)[number]> = buckets) => {
        for (const bucket of from) {
          const after = takeTokens(fullIn(bucket), bucket.size, tokens);
          strings.set(bucket.key, { value: now() + after, until: now() + Math.ceil(after) + 1 });
        }
      },
    };
  }

  function report([hash = '']: readonly string[], args: readonly string[]): unknown {
    const [replica = '', more, reserved, left = '', isNewName] = args;
    change(hash, replica, Number(more), Number(reserved));
    const fields = fieldsOf(hash);
    if (isNewName === '1' || (fields.get('+n') === '0' && fields.get('+a') === '0')) {
      for (const name of ['+n', '+a', '+at']) fields.delete(name);
    }
    if (left !== '') {
      const isFresh = fields.has('left') && Number(fields.get('at')) > now() - freshMs;
      if (!(isFresh && Number(fields.get('left')) < Number(left))) {
        fields.set('left', left);
        fields.set('at', String(now()));
      }
    }
    keep(hash);
    return 1;
  }

  function heartbeat([replicas = '']: readonly string[], [name = '', lease, before = '']: readonly string[]): unknown {
    const set = setOf(replicas);
    const untilThen = set.get(name) ?? 0;
    if (before !== '') set.delete(before);
    const latest = now() + 2 * Number(lease);
    for (const [each, until] of set) if (until <= now() || until > latest) set.delete(each);
    set.set(name, now() + Number(lease));
    return [untilThen > now() && untilThen <= latest ? 1 : 0, set.size];
  }

  function failure([failures = '', blocked = '']: readonly string[], args: readonly string[]): unknown {
    const [network = '', tolerated, window, block] = args;
    const list = live(lists, failures) ?? [];
    list.push(now());
    const count = list.length;
    if (count > Number(tolerated) + 1) list.shift();
    lists.set(failures, { value: list, until: now() + Number(window) });
    if (count > Number(tolerated) && (list[0] ?? 0) > now() - Number(window)) {
      lists.delete(failures);
      const networks = setOf(blocked);
      const latest = now() + Number(block);
      for (const [each, until] of networks) if (until <= now() || until > latest) networks.delete(each);
      networks.set(network, latest);
      sets.set(blocked, { value: networks, until: now() + Number(block) });
      for (const { program, subscription } of subscribers)
        program.deliver(0.3, () => subscription.take(`${block} ${network}`));
    }
    return count;
  }

  function run(script: Script, keys: readonly string[], args: readonly string[]): unknown {
    switch (script) {
      case admitScript:
        return admit(keys, args);
      case reserveScript:
        return reserve(keys, args);
      case takeTokensScript:
        tokenBuckets(keys, args).take(Number(args[1]));
        return 1;
      case reportScript:
        return report(keys, args);
      case heartbeatScript:
        return heartbeat(keys, args);
      case leaveScript:
        return setOf(keys[0] ?? '').delete(args[0] ?? '') ? 1 : 0;
      case failureScript:
        return failure(keys, args);
      case blockedScript:
        return [...setOf(keys[0] ?? '')]
          .filter(([, until]) => until > now())
          .map(([network, until]) => `${Math.ceil(until - now())} ${network}`);
      default:
        throw new Error('the model of Valkey does not have this script');
    }
  }

  return {
    ...{ run, firstMs },
    setTrouble: (next) => {
      const before = trouble;
      trouble = next;
      for (const { program, closed, ready } of clients) {
        if (next === 'away' && before !== 'away') program.deliver(0.2, closed);
        if (next !== 'away' && before === 'away') program.deliver(50, ready);
      }
    },
    forget: () => {
      strings = new Map();
      hashes = new Map();
      sets = new Map();
      lists = new Map();
    },
    replicas: () => [...setOf('weir:replicas').values()].filter((until) => until > now()).length,
    underWay: () =>
      new Map(
        [...hashes].map(([name, { value }]) => {
          // The counts of a replica that is dead go when the hash is read next.
          const alive = setOf('weir:replicas');
          const counts = [...value].filter(([field]) => (alive.get(field.slice(2)) ?? 0) > now());
          const sum = (kind: string): number =>
            counts.reduce((total, [field, amount]) => total + (field.startsWith(kind) ? Number(amount) : 0), 0);
          return [name, { places: sum('n:'), reserved: sum('a:') }] as const;
        }),
      ),
    connect: (program) => {
      let isOpen = true;
      const client: ValkeyClient = {
        isReady: () => isOpen && trouble !== 'away',
        run: (script, keys, args) =>
          new Promise((resolve, reject) => {
            if (trouble === 'away') {
              program.deliver(0.2, () => reject(new Error('Connection is closed.')));
              return;
            }
            const wayMs = trouble === 'slow' ? 40 : 0.2;
            scheduler.after(wayMs, () => {
              if (trouble === 'away') {
                program.deliver(0.2, () => reject(new Error('Connection is closed.')));
                return;
              }
              const value = run(script, keys, args);
              program.deliver(wayMs, () => resolve(value));
            });
          }),
        listen: ({ ready, closed }) => {
          clients.add({ ready, closed, program });
          if (trouble !== 'away') program.deliver(0.5, ready);
        },
        reconnect: () => {
          program.deliver(1, () => {
            for (const each of clients) {
              if (each.program !== program) continue;
              each.closed();
              if (trouble !== 'away') program.deliver(20, each.ready);
            }
          });
        },
        subscribe: (_, subscription) => {
          subscribers.add({ program, subscription });
          program.deliver(0.5, subscription.listening);
        },
        close: () => {
          isOpen = false;
        },
      };
      return client;
    },
  };
}
